"""Places words on a public map: answers as close in meaning as limits on an attacker's guesses allow.

Laplace noise with ε = 1 is added on the map. Each step draws words, adds noise, and takes the posterior
q(u|v) over all words u given the noisy point v. It raises the mean cosine Σ q(u|v)·cos(u, w) with the true
word w, and limits two things: S = E[max q(u|v)] for three groups of words (running text, content words, and
all words with equal shares), to a target each, and the chance that a single word is recognised, to a cap for
every word. The multipliers of these limits grow while a limit is exceeded and shrink otherwise.

Only NumPy and PyTorch are needed (extra `maps`).
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["MapFit", "MapOptions", "fit_map"]

_SHARPNESS: Final = (
    3.0  # the posterior to this power: near 1 where the word would be guessed, near 0 elsewhere
)
_CAPPED_SHARE: Final = 0.25  # of a batch: words drawn by their multipliers, the most exposed most often
_RATE: Final = 0.05  # of the multipliers of the groups, per step
_WORD_RATE: Final = 0.1  # of the multipliers of single words, per time that a word is drawn
_EVERY: Final = 100  # steps between reports
_CPU_BLOCK: Final = 64  # words at a time on a CPU, so that their tables stay in its cache


@dataclass(frozen=True, slots=True)
class MapOptions:
    """How a map is fitted.

    Attributes
    ----------
    steps, batch : int
        Steps of gradient descent, and words per step.
    targets : tuple of three float
        The limits of S for running text, for content words and for all words with equal shares.
    cap : float or None
        The limit of the sharpened posterior of each single word; None for no such limit.
    rate : float
        The step size of Adam at the start; it falls to zero along a cosine.
    seed : int
        Public: it makes a fit repeatable on one machine.
    function_words, rare_words : float
        After the fit, how much further from their neighbours these words are put; see `map_settling`.
    """

    steps: int = 8000
    batch: int = 1536
    targets: tuple[float, float, float] = (0.29, 0.26, 0.17)
    cap: float | None = 0.5
    rate: float = 0.1
    seed: int = 0
    function_words: float = 0.7
    rare_words: float = 1.1


class MapFit(NamedTuple):
    """The fitted positions, and how the fit went: cosine and the three S, every 100 steps."""

    positions: NDArray[np.float32]
    history: list[dict[str, float]]


def fit_map(
    vectors: NDArray[np.float32],
    start: NDArray[np.float32],
    shares: NDArray[np.float64],
    content: NDArray[np.float64],
    options: MapOptions,
    *,
    device: str = "cpu",
    watch: Callable[[int, int], None] = lambda *_: None,
    state: dict[str, Any] | None = None,
    save: Callable[[dict[str, Any]], None] | None = None,
) -> MapFit:
    """Return positions of all words, fitted from a start.

    `vectors` are those whose cosines count; `shares` and `content` are priors of V + 1 entries, the last for
    words outside of the vocabulary, which stand at the mean of the map. `save` is called now and then with a
    state, from which the fit can be continued.
    """
    import torch

    fit = _Fit(torch, vectors, start, shares, content, options, device)
    if state is not None:
        fit.restore(state)
    while fit.step < options.steps:
        fit.advance()
        if fit.step % _EVERY == 0 or fit.step == options.steps:
            fit.report()
            watch(fit.step, options.steps)
            if save is not None and fit.step % (10 * _EVERY) == 0:
                save(fit.state())
    return MapFit(fit.result(), fit.history)


class _Fit:
    """The state of a fit."""

    def __init__(
        self,
        torch: Any,
        vectors: NDArray[np.float32],
        start: NDArray[np.float32],
        shares: NDArray[np.float64],
        content: NDArray[np.float64],
        options: MapOptions,
        device: str,
    ) -> None:
        self.torch, self.options = torch, options
        self.generator = torch.Generator(device=device).manual_seed(options.seed)
        lengths = np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        kind = torch.bfloat16 if device != "cpu" else torch.float32
        self.units = torch.tensor(vectors / lengths, device=device).to(kind)
        uniform = np.append(np.full(len(vectors), 1.0 / len(vectors)), 0.0)
        self.shares = [
            torch.tensor(prior, device=device, dtype=torch.float32) for prior in (shares, content, uniform)
        ]
        self.logs = [prior.clamp_min(1e-30).log() for prior in self.shares]
        self.positions = torch.tensor(start, device=device, dtype=torch.float32)
        self.multipliers = torch.zeros(3, device=device)
        self.word_multipliers = torch.zeros(len(vectors), device=device)
        self.step = 0
        self.history: list[dict[str, float]] = []
        self.recent: list[Any] = []
        self.targets = torch.tensor(options.targets, device=device)
        self.block = _CPU_BLOCK if device == "cpu" else options.batch
        self._rescale()
        self.optimizer = torch.optim.Adam([self.positions], lr=options.rate, betas=(0.9, 0.99))

    def _rescale(self) -> None:
        """Scale the start so that S of running text is at its target."""
        low, high = -6.0, 6.0
        start = self.positions / self.positions.std()
        for _ in range(20):
            middle = (low + high) / 2.0
            self.positions = start * math.exp(middle)
            points = self._noisy(self._draw(0, 512))
            posterior, _ = self._posterior(points, self._places(), self.logs[0])
            success = posterior.amax(dim=1).mean()
            low, high = (middle, high) if float(success) < self.options.targets[0] else (low, middle)

    def _draw(self, group: int, count: int) -> Any:
        return self.torch.multinomial(
            self.shares[group][:-1], count, replacement=True, generator=self.generator
        )

    def _noisy(self, ids: Any) -> Any:
        """Return a noisy point of each word: its position and Laplace noise with ε = 1."""
        torch, dims = self.torch, self.positions.shape[1]
        directions = torch.randn(len(ids), dims, device=ids.device, generator=self.generator)
        uniforms = torch.rand(len(ids), dims, device=ids.device, generator=self.generator)
        radii = -uniforms.clamp_min(1e-30).log().sum(1)
        return self.positions[ids] + directions / directions.norm(dim=1, keepdim=True) * radii[:, None]

    def _places(self) -> Any:
        """Return the positions of all words, and the mean of the map for words outside of the vocabulary."""
        return self.torch.cat((self.positions, self.positions.mean(0, keepdim=True)))

    def _posterior(self, points: Any, places: Any, log_prior: Any) -> tuple[Any, Any]:
        """Return q(u|v) over all places, for each noisy point v, and the distances."""
        squares = points.square().sum(1)[:, None] + places.square().sum(1)
        distances = self.torch.addmm(squares, points, places.T, alpha=-2.0).clamp_min_(1e-6).sqrt_()
        return self.torch.softmax(log_prior - distances, dim=1), distances

    def advance(self) -> None:
        """Take one step."""
        torch, options = self.torch, self.options
        size = options.batch // 3
        rate = options.rate * 0.5 * (1.0 + math.cos(math.pi * self.step / options.steps))
        self.optimizer.param_groups[0]["lr"] = rate
        gradient = torch.zeros_like(self.positions)
        cosines, successes = [], []
        for group in range(3):
            cosine, success = self._add_group(group, size, gradient)
            cosines.append(cosine)
            successes.append(success)
        self.positions.grad = gradient
        self.optimizer.step()
        reached = torch.stack(successes)
        self.multipliers = (self.multipliers + _RATE * (reached - self.targets)).clamp_min(0.0)
        self.recent.append(torch.cat((torch.stack(cosines).mean()[None], reached)))
        self.step += 1

    def _add_group(self, group: int, size: int, gradient: Any) -> tuple[Any, Any]:
        """Add the gradient of a group's loss, a block of words at a time; return its mean cosine and its S.

        The loss of a group is -E[Σ q(u|v)·cos(u, w)] + γ·S, and the penalty for single words. Its derivatives
        are written out, since automatic ones would keep a dozen tables of all points by all words.
        """
        torch, plain = self.torch, self._plain(size)
        ids = self._group(group, size)
        points, places = self._noisy(ids), self._places()
        by_place = torch.zeros_like(places)
        cosine, success = torch.zeros((), device=ids.device), torch.zeros((), device=ids.device)
        sharp = torch.empty(size, device=ids.device)
        for start in range(0, size, self.block):
            block = slice(start, min(start + self.block, size))
            words, rows = ids[block], torch.arange(block.stop - start, device=ids.device)
            posterior, distances = self._posterior(points[block], places, self.logs[group])
            cosines = self.units[words] @ self.units.T
            means = torch.einsum("iu,iu->i", posterior[:, :-1], cosines.float())
            top, likeliest = posterior.max(dim=1)
            counted = (start + rows < plain).float()
            cosine += means.sum() / size
            success += (top * counted).sum() / plain
            # By the chain rule, down to the distances: first of the posterior, then of its logarithms.
            weight = self.multipliers[group] * counted / plain
            slopes = torch.nn.functional.pad(cosines.float() / -size, (0, 1))
            slopes[rows, likeliest] += weight
            slopes -= (weight * top - means / size)[:, None]
            slopes *= posterior
            if self.options.cap is not None:
                powers = posterior.pow_(_SHARPNESS)
                powers /= powers.sum(dim=1, keepdim=True)
                sharp[block] = powers[rows, words]
                penalty = self.word_multipliers[words] * _SHARPNESS / size * sharp[block]
                slopes.addcmul_(powers, penalty[:, None], value=-1.0)
                slopes[rows, words] += penalty
            slopes /= distances.neg_()
            sums = slopes.sum(dim=1, keepdim=True)
            by_place += slopes.sum(dim=0)[:, None] * places - slopes.T @ points[block]
            gradient.index_add_(0, words, sums * points[block] - slopes @ places)
        gradient += by_place[:-1] + by_place[-1] / len(gradient)
        if self.options.cap is not None:
            self.word_multipliers.index_add_(0, ids, _WORD_RATE * (sharp - self.options.cap))
            self.word_multipliers.clamp_min_(0.0)
        return cosine, success

    def _plain(self, size: int) -> int:
        """Return how many words of a group are drawn by their shares."""
        return size if self.options.cap is None else size - int(_CAPPED_SHARE * size)

    def _group(self, group: int, size: int) -> Any:
        """Return the words of a group: most by their shares, some by their multipliers."""
        torch, plain = self.torch, self._plain(size)
        ids = self._draw(group, plain)
        if plain == size:
            return ids
        weights = self.word_multipliers + 1e-3
        exposed = torch.multinomial(weights, size - plain, replacement=True, generator=self.generator)
        return torch.cat((ids, exposed))

    def report(self) -> None:
        """Add the means of the last steps to the history."""
        means = self.torch.stack(self.recent).mean(dim=0)
        self.recent = []
        names = ("cosine", "tokens", "content", "uniform")
        self.history.append({"step": self.step} | dict(zip(names, means.tolist(), strict=True)))

    def state(self) -> dict[str, Any]:
        """Return everything that is needed to continue."""
        return {
            "step": self.step,
            "positions": self.positions,
            "optimizer": self.optimizer.state_dict(),
            "multipliers": self.multipliers,
            "word_multipliers": self.word_multipliers,
            "generator": self.generator.get_state(),
            "history": self.history,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state."""
        self.positions.copy_(state["positions"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.multipliers, self.word_multipliers = state["multipliers"], state["word_multipliers"]
        self.generator.set_state(state["generator"].cpu())
        self.step, self.history = state["step"], state["history"]

    def result(self) -> NDArray[np.float32]:
        """Return the positions, with their mean at the origin."""
        positions = self.positions.cpu().numpy()
        return np.asarray(positions - positions.mean(axis=0), dtype=np.float32)
