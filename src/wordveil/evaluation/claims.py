"""What the paper claims about N_w and S_w, each with a verdict on a sweep.

Tests go by the means of blocks, which are independent: the words of a block share directions, and to treat
them as independent would understate the variance of a mean many times.
"""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wordveil.evaluation.student import half_width, p_positive
from wordveil.evaluation.sweep import Sweep

__all__ = ["Interval", "Verdict", "claims", "mean_interval", "paper"]

_LEVEL: Final = 0.01
_LEAST_BLOCKS: Final = 30
_MIDDLE: Final = (5.0, 10.0, 20.0)
_PERCENTILES: Final = (5, 50, 95)


@cache
def paper() -> dict[str, Any]:
    """Return the numbers of the paper that ours are compared with."""
    found: dict[str, Any] = json.loads((files("wordveil.evaluation") / "paper.json").read_text("utf-8"))
    return found


@dataclass(frozen=True, slots=True)
class Verdict:
    """A claim, whether it holds here (None: it could not be tested), and the numbers that say so."""

    claim: str
    holds: bool | None
    found: str

    def __str__(self) -> str:
        """Return it as a line for a terminal."""
        word = {True: "holds", False: "FAILS", None: "not tested"}[self.holds]
        return f"{word}: {self.claim}\n       {self.found}"


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
    half = half_width(blocks)
    rule = 1.96 * deviation / 10.0
    return Interval(mean, deviation, mean - half, mean + half, mean - rule, mean + rule)


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
    return [
        _changes(sweep, middle),
        _monotone(sweep, middle),
        _ends(sweep),
        _percentiles(sweep, middle),
        _sparse_gain(sweep, sparseness),
        _scale(traces),
    ]


def _named(sweep: Sweep, middle: list[int]) -> str:
    return ", ".join(f"{sweep.grid.epsilons[index]:g}" for index in middle)


def _enough(sweep: Sweep, middle: list[int]) -> str:
    """Return why nothing can be said, if so."""
    if not middle:
        return "none of ε = 5, 10, 20 was asked for"
    if int(sweep.block.max()) + 1 < _LEAST_BLOCKS:
        return f"fewer than {_LEAST_BLOCKS} blocks of words"
    return ""


def _changes(sweep: Sweep, middle: list[int]) -> Verdict:
    low, high = sweep.grid.lams[0], sweep.grid.lams[-1]
    claim = (
        f"at ε = {_named(sweep, middle) or '5, 10, 20'}, N_w falls and S_w rises from λ = {low:g} to "
        f"λ = {high:g}, significantly"
    )
    if why := _enough(sweep, middle):
        return Verdict(claim, None, why)
    holds, told = True, []
    for index in middle:
        fall = sweep.block_means(sweep.n_w[0, index] - sweep.n_w[-1, index])
        rise = sweep.block_means(sweep.s_w[-1, index] - sweep.s_w[0, index])
        p = max(p_positive(fall), p_positive(rise))
        holds &= p < _LEVEL / len(middle)
        told.append(
            f"ε = {sweep.grid.epsilons[index]:g}: N_w {-fall.mean():+.1f}, S_w {rise.mean():+.1f} (p {_p(p)})"
        )
    return Verdict(claim, holds, "; ".join(told))


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"= {value:.3f}"


def _monotone(sweep: Sweep, middle: list[int]) -> Verdict:
    """Look for a step of λ that goes the other way, significantly."""
    claim = f"at ε = {_named(sweep, middle) or '5, 10, 20'}, N_w falls and S_w rises with every step of λ"
    if why := _enough(sweep, middle):
        return Verdict(claim, None, why)
    lams, wrong = sweep.grid.lams, []
    tests = 2 * len(middle) * (len(lams) - 1)
    for index in middle:
        for step in range(len(lams) - 1):
            back = {
                "N_w": sweep.n_w[step + 1, index] - sweep.n_w[step, index],
                "S_w": sweep.s_w[step, index] - sweep.s_w[step + 1, index],
            }
            for name, values in back.items():
                if p_positive(sweep.block_means(values)) < _LEVEL / tests:
                    epsilon, by = sweep.grid.epsilons[index], abs(values.mean())
                    wrong.append(
                        f"{name} at ε = {epsilon:g}, λ = {lams[step]:g} to {lams[step + 1]:g} ({by:.2f})"
                    )
    told = f"the other way go {'; '.join(wrong)}" if wrong else "no step goes the other way, beyond noise"
    return Verdict(claim, not wrong, told)


def _ends(sweep: Sweep) -> Verdict:
    first, last = sweep.n_w[:, 0].mean(axis=1), sweep.n_w[:, -1].mean(axis=1)
    told = (
        f"at ε = {sweep.grid.epsilons[0]:g} N_w is at most {first.max():.2f}, "
        f"at ε = {sweep.grid.epsilons[-1]:g} at least {last.min():.1f}"
    )
    claim = "N_w goes to 0 at small ε and to 100 at large ε"
    if len(sweep.grid.epsilons) < 2:
        return Verdict(claim, None, "a single ε was asked for")
    return Verdict(claim, bool(first.max() < 5 and last.min() > 90), told)


def _percentiles(sweep: Sweep, middle: list[int]) -> Verdict:
    claim = "the 5th, 50th and 95th percentiles over words move the same way as the means"
    if not middle:
        return Verdict(claim, None, "none of ε = 5, 10, 20 was asked for")
    wrong, moved, ties = [], 0, 0
    for index in middle:
        for percentile in _PERCENTILES:
            stays = np.percentile(sweep.n_w[:, index], percentile, axis=1)
            answers = np.percentile(sweep.s_w[:, index], percentile, axis=1)
            if stays[-1] > stays[0] or answers[-1] < answers[0]:
                wrong.append(f"{percentile}th at ε = {sweep.grid.epsilons[index]:g}")
            still = stays[-1] == stays[0] and answers[-1] == answers[0]
            ties, moved = ties + still, moved + (not still)
    told = f"not the {', '.join(wrong)}" if wrong else f"{moved} of them do, {ties} stay where they are"
    return Verdict(claim, None if not moved else not wrong, told)


def _sparse_gain(sweep: Sweep, sparseness: NDArray[np.float64]) -> Verdict:
    """Compare at the ε at which about half of the words stay: elsewhere there is little to gain."""
    claim = "words in sparse regions gain most"
    index = int(np.abs(sweep.n_w[0].mean(axis=1) - 50.0).argmin())
    gain = sweep.n_w[0, index] - sweep.n_w[-1, index]
    low, high = np.percentile(sparseness, [25, 75])
    # Within a block the words share directions; over blocks, differences of means are independent.
    both = []
    for number in range(int(sweep.block.max()) + 1):
        mine = sweep.block == number
        a, b = gain[mine & (sparseness >= high)], gain[mine & (sparseness <= low)]
        if len(a) and len(b):
            both.append(a.mean() - b.mean())
    if len(both) < _LEAST_BLOCKS:
        return Verdict(claim, None, f"fewer than {_LEAST_BLOCKS} blocks hold both sparse and dense words")
    sparse, dense = gain[sparseness >= high].mean(), gain[sparseness <= low].mean()
    p = p_positive(np.array(both))
    told = (
        f"at ε = {sweep.grid.epsilons[index]:g} N_w falls by {sparse:.1f} in the sparsest quarter of the "
        f"words and by {dense:.1f} in the densest (p {_p(p)})"
    )
    return Verdict(claim, bool(sparse > dense and p < _LEVEL), told)


def _scale(traces: list[float]) -> Verdict:
    spread = max(traces) / min(traces) - 1.0
    told = f"E‖Z‖₂² = (m + 1)·trace(A)/ε², and trace(A) differs by {spread:.1e} between the λ"
    return Verdict("the scale of the noise is the same at every λ", spread < 1e-9, told)
