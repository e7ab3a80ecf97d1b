"""Fits positions of words on a public map, so that what is guessed is limited and what is answered is close.

Laplace noise with ε = 1 is added on the map. Each step draws words, adds noise, and takes the posterior
q(u|v) over all words u given the noisy point v. It raises the mean cosine Σ q(u|v)·cos(u, w) with the true
word w, and holds two things down: S = E[max q(u|v)] for three groups of words (running text, content words,
and all words with equal shares) at a target each, and the chance that a single word is recognised at a cap
for every word. The multipliers of these limits grow while a limit is exceeded and shrink otherwise.

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
    """

    steps: int = 8000
    batch: int = 1536
    targets: tuple[float, float, float] = (0.29, 0.26, 0.17)
    cap: float | None = 0.5
    rate: float = 0.1
    seed: int = 0


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
        self.kind = torch.bfloat16 if device != "cpu" else torch.float32
        self.units = torch.tensor(vectors / lengths, device=device)
        self.fast_units = self.units.to(self.kind)
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
        self.recent: list[list[float]] = []
        self._rescale()
        self.positions.requires_grad_(True)
        self.optimizer = torch.optim.Adam([self.positions], lr=options.rate, betas=(0.9, 0.99))

    def _rescale(self) -> None:
        """Scale the start so that S of running text is at its target."""
        torch = self.torch
        low, high = -6.0, 6.0
        start = self.positions / self.positions.std()
        for _ in range(20):
            middle = (low + high) / 2.0
            self.positions = start * math.exp(middle)
            with torch.no_grad():
                ids = self._draw(0, 512)
                success = self._posterior(ids, self.logs[0]).exp().amax(dim=1).mean()
            low, high = (middle, high) if float(success) < self.options.targets[0] else (low, middle)

    def _draw(self, group: int, count: int) -> Any:
        return self.torch.multinomial(
            self.shares[group][:-1], count, replacement=True, generator=self.generator
        )

    def _posterior(self, ids: Any, log_prior: Any) -> Any:
        """Return log q(u|v) over all words and the mean of the map, for a noisy point v of each word."""
        torch, dims = self.torch, self.positions.shape[1]
        directions = torch.randn(len(ids), dims, device=ids.device, generator=self.generator)
        radii = (
            -torch.rand(len(ids), dims, device=ids.device, generator=self.generator)
            .clamp_min(1e-30)
            .log()
            .sum(1)
        )
        noise = directions / directions.norm(dim=1, keepdim=True) * radii[:, None]
        points = self.positions[ids] + noise
        places = torch.cat((self.positions, self.positions.mean(0, keepdim=True)))
        squares = points.square().sum(1)[:, None] + places.square().sum(1) - 2.0 * points @ places.T
        return torch.log_softmax(log_prior - squares.clamp_min(1e-6).sqrt(), dim=1)

    def advance(self) -> None:
        """Take one step."""
        torch, options = self.torch, self.options
        size = options.batch // 3
        rate = options.rate * 0.5 * (1.0 + math.cos(math.pi * self.step / options.steps))
        self.optimizer.param_groups[0]["lr"] = rate
        loss: Any = 0.0
        cosines, successes = [], []
        for group in range(3):
            ids = self._group(group, size)
            logs = self._posterior(ids, self.logs[group])
            posterior = logs.exp()
            means = posterior[:, :-1].to(self.kind) @ self.fast_units
            cosine = (means.float() * self.units[ids]).sum(1).mean()
            success = posterior.amax(dim=1)
            loss = loss - cosine + self._word_penalty(ids, logs)
            loss = loss + self.multipliers[group] * success[: self._plain(size)].mean()
            cosines.append(float(cosine.detach()))
            successes.append(success[: self._plain(size)].mean().detach())
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        targets = torch.tensor(options.targets, device=self.multipliers.device)
        self.multipliers = (self.multipliers + _RATE * (torch.stack(successes) - targets)).clamp_min(0.0)
        self.recent.append([sum(cosines) / 3.0, *(float(share) for share in successes)])
        self.step += 1

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

    def _word_penalty(self, ids: Any, logs: Any) -> Any:
        """Return the penalty for single words that are recognised too often, and adapt their multipliers."""
        torch, cap = self.torch, self.options.cap
        if cap is None:
            return 0.0
        sharp = torch.softmax(_SHARPNESS * logs, dim=1)[torch.arange(len(ids), device=ids.device), ids]
        penalty = (self.word_multipliers[ids] * (sharp - cap)).mean()
        with torch.no_grad():
            self.word_multipliers.index_add_(0, ids, _WORD_RATE * (sharp.detach() - cap))
            self.word_multipliers.clamp_min_(0.0)
        return penalty

    def report(self) -> None:
        """Add the means of the last steps to the history."""
        means = np.array(self.recent).mean(axis=0)
        self.recent = []
        names = ("cosine", "tokens", "content", "uniform")
        self.history.append({"step": self.step} | dict(zip(names, means.tolist(), strict=True)))

    def state(self) -> dict[str, Any]:
        """Return everything that is needed to continue."""
        return {
            "step": self.step,
            "positions": self.positions.detach(),
            "optimizer": self.optimizer.state_dict(),
            "multipliers": self.multipliers,
            "word_multipliers": self.word_multipliers,
            "generator": self.generator.get_state(),
            "history": self.history,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Continue from a state."""
        with self.torch.no_grad():
            self.positions.copy_(state["positions"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.multipliers, self.word_multipliers = state["multipliers"], state["word_multipliers"]
        self.generator.set_state(state["generator"].cpu())
        self.step, self.history = state["step"], state["history"]

    def result(self) -> NDArray[np.float32]:
        """Return the positions, with their mean at the origin."""
        positions = self.positions.detach().cpu().numpy()
        return np.asarray(positions - positions.mean(axis=0), dtype=np.float32)
