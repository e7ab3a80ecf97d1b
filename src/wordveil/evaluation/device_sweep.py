"""The sweep on a GPU: every search is exact. The words are public, so the noise is drawn there too."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from wordveil.embedding import Embedding
from wordveil.evaluation.draws import Counts, Floats, Ints, Table
from wordveil.evaluation.grid import Grid
from wordveil.nearest.cuda import TorchSearch, torch_library

__all__ = ["DeviceDraws", "DeviceTable"]

_SEEDS: Final = 1 << 62  # PyTorch takes 64-bit seeds; 62 bits fit with or without a sign


class DeviceDraws:
    """Draws of words at every setting, on a PyTorch device.

    Parameters
    ----------
    places : array of float64, (words, axes)
        The words in the eigenbasis; equal vectors appear once.
    roots : list of arrays
        The square roots of the scales of the noise, for each λ.
    epsilons : tuple of float
    device : str
        Any PyTorch device.
    """

    def __init__(self, places: Floats, roots: list[Floats], epsilons: tuple[float, ...], device: str) -> None:
        torch = self._torch = torch_library()
        self._search = TorchSearch(places, device)
        self._device = torch.device(device)
        self._places = torch.tensor(places, device=self._device)
        self._roots = [torch.tensor(root, device=self._device) for root in roots]
        self._epsilons = epsilons

    @property
    def kind(self) -> str:
        """What the draws depend on besides the seed."""
        torch = self._torch
        name = torch.cuda.get_device_name(self._device) if self._device.type == "cuda" else "CPU"
        return f"torch {torch.__version__}, {name}"

    def points(self, own: Ints, draws: int, seed: list[int]) -> Iterator[tuple[int, int, Any]]:
        """Yield the noisy points, (words × draws, axes), of some words at each λ and ε."""
        torch = self._torch
        random = np.random.default_rng(seed)
        generator = torch.Generator(self._device).manual_seed(int(random.integers(_SEEDS)))
        axes = self._places.shape[1]
        shape = (len(own) * draws, axes)
        noise = torch.randn(shape, dtype=torch.float64, device=self._device, generator=generator)
        noise /= torch.linalg.vector_norm(noise, dim=1, keepdim=True)
        noise *= torch.from_numpy(random.standard_gamma(axes, (shape[0], 1))).to(self._device)
        centres = self._places[torch.tensor(own, device=self._device)].repeat_interleave(draws, dim=0)
        for lam, root in enumerate(self._roots):
            shaped = noise * root
            for epsilon, value in enumerate(self._epsilons):
                yield lam, epsilon, torch.add(centres, shaped, alpha=1.0 / value)

    def answers(self, own: Ints, draws: int, seed: list[int]) -> Iterator[tuple[int, int, Ints]]:
        """Yield the answers, (words, draws), at each λ and ε."""
        for lam, epsilon, points in self.points(own, draws, seed):
            yield lam, epsilon, self.nearest(points).view(len(own), draws).cpu().numpy()

    def nearest(self, points: Any) -> Any:
        """Return the answers to points, in batches that fit into the device's memory."""
        torch = self._torch
        answers = [
            self._search.nearest_on_device(batch, float(torch.linalg.vector_norm(batch, dim=1).max()))
            for batch in points.split(self._search.batch(threads=1))
        ]
        return torch.cat(answers)

    def counts(self, own: Ints, draws: int, seed: list[int]) -> Iterator[tuple[int, int, Ints, Ints]]:
        """Yield how often each word stayed, and how many answers it had, at each λ and ε."""
        torch = self._torch
        words = torch.tensor(own, device=self._device)[:, None]
        for lam, epsilon, points in self.points(own, draws, seed):
            answers = self.nearest(points).view(len(own), draws)
            stays = (answers == words).sum(dim=1)
            ordered = answers.sort(dim=1).values
            distinct = 1 + (ordered[:, 1:] != ordered[:, :-1]).sum(dim=1)
            counts = torch.stack((stays, distinct)).cpu().numpy()
            yield lam, epsilon, counts[0], counts[1]


class DeviceTable(Table):
    """The table of a sweep on a PyTorch device. Every draw has its own direction."""

    # Directions are not shared, so a large block costs no independence; 512 words × 100 draws fill a GPU.
    largest_block = 512

    def __init__(self, embedding: Embedding, grid: Grid, device: str) -> None:
        super().__init__(embedding, grid)
        self._device = DeviceDraws(self._exact, self._roots, grid.epsilons, device)
        self.kind = self._device.kind

    @staticmethod
    def threads(workers: int) -> int:  # noqa: ARG004  # the device has its own
        """Return how many threads draw blocks: one is enough to feed the device."""
        return 1

    def _seed(self, number: int) -> list[int]:
        return [self._grid.seed, 5, number]

    def block(self, ids: Ints, number: int) -> tuple[Counts, Counts]:
        """Return how often each word of a block stayed, and how many answers it had, at every setting."""
        if self._grid.eta > 0.0:
            return super().block(ids, number)
        grid = self._grid
        shape = len(grid.lams), len(grid.epsilons), len(ids)
        stays, distinct = np.empty(shape, np.uint16), np.empty(shape, np.uint16)
        # A word with the same vector as an earlier one is never its own answer.
        first = self._first[self._place[ids]] == ids
        for lam, epsilon, stayed, answers in self._device.counts(
            self._place[ids], grid.draws, self._seed(number)
        ):
            stays[lam, epsilon], distinct[lam, epsilon] = stayed * first, answers
        return stays, distinct

    def _answers(self, ids: Ints, number: int, draws: int) -> Iterator[tuple[int, int, Ints]]:
        for lam, epsilon, answers in self._device.answers(self._place[ids], draws, self._seed(number)):
            yield lam, epsilon, self._first[answers]

    def _sample(self, ids: Ints, number: int, draws: int) -> Iterator[tuple[Floats, Ints]]:
        for _, _, points in self._device.points(self._place[ids], draws, self._seed(number)):
            yield points.cpu().numpy(), self._first[self._device.nearest(points).cpu().numpy()]
