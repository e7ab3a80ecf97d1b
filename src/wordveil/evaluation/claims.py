"""What the paper claims about N_w and S_w, each with a verdict on a sweep.

Tests go by the means of blocks, which are independent: the words of a block share directions, and to treat
them as independent would understate the variance of a mean many times.
"""

import json
import math
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

from wordveil.evaluation.sweep import Sweep

__all__ = ["Interval", "Verdict", "claims", "mean_interval", "paper"]

_LEVEL: Final = 0.01
_MIDDLE: Final = (5.0, 10.0, 20.0)
_PERCENTILES: Final = (5, 50, 95)


@cache
def paper() -> dict[str, Any]:
    """Return the numbers of the paper that ours are compared with."""
    found: dict[str, Any] = json.loads((files("wordveil.evaluation") / "paper.json").read_text("utf-8"))
    return found


@dataclass(frozen=True, slots=True)
class Verdict:
    """A claim, whether it holds here, and the numbers that say so."""

    claim: str
    holds: bool
    found: str


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over words: with its interval by blocks, and the one by the paper's own rule."""

    mean: float
    deviation: float
    low: float
    high: float
    paper_low: float
    paper_high: float


def mean_interval(sweep: Sweep, values: NDArray[np.float64]) -> Interval:
    """Return the mean of one value a word, its standard deviation, and 95% intervals.

    By the means of blocks (Student's t), and by the paper's rule, mean ± 1.96·std/√100.
    """
    blocks = sweep.block_means(values)
    mean, deviation = float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else 0.0
    half = _half_width(blocks)
    rule = 1.96 * deviation / 10.0
    return Interval(mean, deviation, mean - half, mean + half, mean - rule, mean + rule)


def _half_width(blocks: NDArray[np.float64]) -> float:
    if len(blocks) < 2:
        return math.inf
    return float(stdtrit(len(blocks) - 1, 0.975) * blocks.std(ddof=1) / math.sqrt(len(blocks)))


def _p_positive(blocks: NDArray[np.float64]) -> float:
    """Return the one-sided p-value of "the mean is not positive", by Student's t over blocks."""
    count, spread = len(blocks), float(blocks.std(ddof=1)) if len(blocks) > 1 else 0.0
    if spread == 0.0:
        return 0.0 if blocks.mean() > 0.0 else 1.0
    return float(1.0 - stdtr(count - 1, blocks.mean() / (spread / math.sqrt(count))))


def claims(sweep: Sweep, sparseness: NDArray[np.float64], traces: list[float]) -> list[Verdict]:
    """Return the verdict on each claim of the paper.

    Parameters
    ----------
    sweep : Sweep
        Over at least two λ.
    sparseness : array
        Of each of its words, the distance to its nearest neighbour.
    traces : list of float
        Of each λ, the trace of A.
    """
    middle = [i for i, epsilon in enumerate(sweep.grid.epsilons) if epsilon in _MIDDLE]
    found = [_changes(sweep, middle), _monotone(sweep), _ends(sweep), _percentiles(sweep, middle)]
    if middle:
        found.append(_sparse_gain(sweep, middle[len(middle) // 2], sparseness))
    return [*found, _scale(traces)]


def _changes(sweep: Sweep, middle: list[int]) -> Verdict:
    holds, told = bool(middle), []
    for index in middle:
        fall = sweep.block_means(sweep.n_w[0, index] - sweep.n_w[-1, index])
        rise = sweep.block_means(sweep.s_w[-1, index] - sweep.s_w[0, index])
        p = max(_p_positive(fall), _p_positive(rise))
        holds &= p < _LEVEL / max(1, len(middle))
        told.append(
            f"ε = {sweep.grid.epsilons[index]:g}: N_w {-fall.mean():+.1f}, S_w {rise.mean():+.1f} (p {_p(p)})"
        )
    low, high = sweep.grid.lams[0], sweep.grid.lams[-1]
    claim = f"at ε = 5, 10 and 20, N_w falls and S_w rises from λ = {low:g} to λ = {high:g}, significantly"
    return Verdict(claim, holds, "; ".join(told) or "none of these ε was asked for")


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"= {value:.3f}"


def _monotone(sweep: Sweep) -> Verdict:
    """Look for a step of λ that goes the other way, significantly."""
    wrong = []
    for index, epsilon in enumerate(sweep.grid.epsilons):
        for step in range(len(sweep.grid.lams) - 1):
            back = sweep.block_means(sweep.n_w[step + 1, index] - sweep.n_w[step, index])
            if _p_positive(back) < _LEVEL:
                wrong.append(
                    f"ε = {epsilon:g}, λ = {sweep.grid.lams[step]:g} to {sweep.grid.lams[step + 1]:g}"
                )
    told = f"N_w rises at {'; '.join(wrong)}" if wrong else "at no ε does N_w rise with λ, beyond noise"
    return Verdict("N_w falls monotonically in λ", not wrong, told)


def _ends(sweep: Sweep) -> Verdict:
    first, last = sweep.n_w[:, 0].mean(axis=1), sweep.n_w[:, -1].mean(axis=1)
    told = (
        f"at ε = {sweep.grid.epsilons[0]:g} N_w is at most {first.max():.2f}, "
        f"at ε = {sweep.grid.epsilons[-1]:g} at least {last.min():.1f}"
    )
    return Verdict(
        "N_w goes to 0 at small ε and to 100 at large ε", bool(first.max() < 5 and last.min() > 90), told
    )


def _percentiles(sweep: Sweep, middle: list[int]) -> Verdict:
    wrong = []
    for index in middle:
        for percentile in _PERCENTILES:
            stays = np.percentile(sweep.n_w[:, index], percentile, axis=1)
            answers = np.percentile(sweep.s_w[:, index], percentile, axis=1)
            if stays[-1] > stays[0] or answers[-1] < answers[0]:
                wrong.append(f"{percentile}th at ε = {sweep.grid.epsilons[index]:g}")
    told = f"not the {', '.join(wrong)}" if wrong else "all of them, at every ε of 5, 10 and 20"
    claim = "the 5th, 50th and 95th percentiles over words move the same way as the means"
    return Verdict(claim, bool(middle) and not wrong, told)


def _sparse_gain(sweep: Sweep, index: int, sparseness: NDArray[np.float64]) -> Verdict:
    gain = sweep.n_w[0, index] - sweep.n_w[-1, index]
    low, high = np.percentile(sparseness, [25, 75])
    sparse, dense = gain[sparseness >= high], gain[sparseness <= low]
    # Within a block the words share directions; over blocks, differences of means are independent.
    both = []
    for number in range(int(sweep.block.max()) + 1):
        mine = sweep.block == number
        a, b = gain[mine & (sparseness >= high)], gain[mine & (sparseness <= low)]
        if len(a) and len(b):
            both.append(a.mean() - b.mean())
    p = _p_positive(np.array(both)) if len(both) > 1 else 1.0
    told = (
        f"at ε = {sweep.grid.epsilons[index]:g} N_w falls by {sparse.mean():.1f} in the sparsest quarter of "
        f"the words and by {dense.mean():.1f} in the densest (p {_p(p)})"
    )
    return Verdict(
        "words in sparse regions gain most", bool(sparse.mean() > dense.mean() and p < _LEVEL), told
    )


def _scale(traces: list[float]) -> Verdict:
    spread = max(traces) / min(traces) - 1.0
    told = f"E‖Z‖₂² = (m + 1)·trace(A)/ε², and trace(A) differs by {spread:.1e} between the λ"
    return Verdict("the scale of the noise is the same at every λ", spread < 1e-9, told)
