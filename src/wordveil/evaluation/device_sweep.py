"""The sweep on a GPU: the same draws as on a CPU, and every search is exact."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from wordveil.embedding import Embedding
from wordveil.evaluation.draws import AdditiveDraws, Counts, Ints
from wordveil.evaluation.grid import Grid
from wordveil.nearest.cuda import TorchSearch, torch_library

__all__ = ["DeviceDraws"]


class DeviceDraws(AdditiveDraws):
    """The draws of a sweep whose points are searched for on a PyTorch device."""

    def __init__(self, embedding: Embedding, grid: Grid, device: str) -> None:
        super().__init__(embedding, grid)
        torch = self._torch = torch_library()
        self._device = torch.device(device)
        self._search = TorchSearch(self._exact, device)
        self._rows_there = torch.tensor(self._exact, device=self._device)
        name = torch.cuda.get_device_name(self._device) if self._device.type == "cuda" else "CPU"
        self.kind = f"torch {torch.__version__}, {name}"

    @staticmethod
    def threads(workers: int) -> int:  # noqa: ARG004  # the device has its own
        """Return how many threads draw blocks: one is enough to feed the device."""
        return 1

    def block(self, ids: Ints, number: int) -> tuple[Counts, Counts]:
        """Return how often each word of a block stayed, and how many answers it had, at every setting."""
        if self._grid.eta > 0.0:
            return super().block(ids, number)
        torch, grid = self._torch, self._grid
        shape = len(grid.lams), len(grid.epsilons), len(ids)
        stays, distinct = np.empty(shape, np.uint16), np.empty(shape, np.uint16)
        own = torch.tensor(self._place[ids], device=self._device)[:, None]
        is_first = self._first[self._place[ids]] == ids  # another word is never its own answer
        for lam, epsilon, answers in self._answers_there(ids, number, grid.draws):
            ordered = answers.sort(dim=1).values
            kinds = 1 + (ordered[:, 1:] != ordered[:, :-1]).sum(dim=1)
            counts = torch.stack(((answers == own).sum(dim=1), kinds)).cpu().numpy()
            stays[lam, epsilon], distinct[lam, epsilon] = counts[0] * is_first, counts[1]
        return stays, distinct

    def _answers(self, ids: Ints, number: int, draws: int) -> Iterator[tuple[int, int, Ints]]:
        for lam, epsilon, answers in self._answers_there(ids, number, draws):
            yield lam, epsilon, self._first[answers.cpu().numpy()]

    def _answers_there(self, ids: Ints, number: int, draws: int) -> Iterator[tuple[int, int, Any]]:
        """Yield the places of the answers, (words, draws), on the device."""
        torch = self._torch
        directions, radii = (
            torch.from_numpy(array).to(self._device) for array in self._draws(ids, number, draws)
        )
        centres = self._rows_there[torch.from_numpy(self._place[ids]).to(self._device)][:, None]
        for lam, root in enumerate(self._roots):
            shaped = directions * torch.from_numpy(root).to(self._device)
            for epsilon, value in enumerate(self._grid.epsilons):
                points = centres + (radii / value)[..., None] * shaped
                yield lam, epsilon, self._nearest(points.flatten(end_dim=1)).view(len(ids), draws)

    def _nearest(self, points: Any) -> Any:
        """Return the answers to points, in batches that fit into the device's memory."""
        torch = self._torch
        answers = [
            self._search.nearest_on_device(batch, float(torch.linalg.vector_norm(batch, dim=1).max()))
            for batch in points.split(self._search.batch(threads=1))
        ]
        return torch.cat(answers)
