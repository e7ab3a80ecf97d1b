"""What the paper claims about N_w and S_w, each with a verdict on a sweep.

Tests go by the means of blocks, which are independent: the words of a block share directions, and to treat
them as independent would understate the variance of a mean many times.
"""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wordveil.evaluation.student import deviation_of, half_width, p_positive
from wordveil.evaluation.sweep import Sweep
from wordveil.rounding import at_least, at_most

__all__ = ["PERCENTILES", "Interval", "Verdict", "claims", "mean_interval", "paper"]

_LEVEL: Final = 0.01
_LEAST_BLOCKS: Final = 30
_MIDDLE: Final = (5.0, 10.0, 20.0)
_TOLD: Final = 3
_NONE: Final = 5.0
_ALL: Final = 90.0
_RESAMPLES: Final = 200
PERCENTILES: Final = (5, 50, 95)
"""Over words, as in the paper's figures."""


@cache
def paper() -> dict[str, Any]:
    """Return the numbers of the paper that ours are compared with."""
    found: dict[str, Any] = json.loads((files("wordveil.evaluation") / "paper.json").read_text("utf-8"))
    return found


@dataclass(frozen=True, slots=True)
class Verdict:
    """A claim, whether it holds here (None: it can't be told), and the numbers that say so."""

    claim: str
    holds: bool | None
    found: str

    def __str__(self) -> str:
        """Return it as a line for a terminal."""
        word = {True: "holds", False: "FAILS", None: "can't be told"}[self.holds]
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
    mean, deviation = float(values.mean()), deviation_of(values)
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
    """Look at every step of λ: it holds if all go the right way significantly, and fails if one does not."""
    claim = f"at ε = {_named(sweep, middle) or '5, 10, 20'}, N_w falls and S_w rises with every step of λ"
    if why := _enough(sweep, middle):
        return Verdict(claim, None, why)
    lams = sweep.grid.lams
    wrong: list[str] = []
    unclear: list[str] = []
    tests = 2 * len(middle) * (len(lams) - 1)
    for index, step in product(middle, range(len(lams) - 1)):
        forth = {
            "N_w": sweep.n_w[step, index] - sweep.n_w[step + 1, index],
            "S_w": sweep.s_w[step + 1, index] - sweep.s_w[step, index],
        }
        for name, values in forth.items():
            means = sweep.block_means(values)
            where = (
                f"{name} at ε = {sweep.grid.epsilons[index]:g}, λ = {lams[step]:g} to {lams[step + 1]:g} "
                f"({abs(values.mean()):.2f})"
            )
            if p_positive(-means) < _LEVEL / tests:
                wrong.append(where)
            elif p_positive(means) >= _LEVEL / tests:
                unclear.append(where)
    if wrong:
        return Verdict(claim, False, f"the other way go {'; '.join(wrong)}")
    if unclear:
        some = "; ".join(unclear[:_TOLD]) + ("; …" if len(unclear) > _TOLD else "")
        return Verdict(claim, None, f"{len(unclear)} of {tests} steps are within noise: {some}")
    return Verdict(claim, True, f"all {tests} steps do, significantly")


def _ends(sweep: Sweep) -> Verdict:
    first, last = sweep.n_w[:, 0].mean(axis=1), sweep.n_w[:, -1].mean(axis=1)
    told = (
        f"at ε = {sweep.grid.epsilons[0]:g} N_w is at most {at_most(float(first.max()), 2)}, "
        f"at ε = {sweep.grid.epsilons[-1]:g} at least {at_least(float(last.min()))}"
    )
    claim = f"N_w goes to 0 at small ε (below {_NONE:g} on the mean) and to 100 at large ε (above {_ALL:g})"
    if len(sweep.grid.epsilons) < 2:
        return Verdict(claim, None, "a single ε was asked for")
    low, high = sweep.grid.epsilons[0], sweep.grid.epsilons[-1]
    if first.max() < _NONE and last.min() > _ALL:
        return Verdict(claim, True, told)
    theirs = paper()["epsilons"]
    reached = low <= theirs[0] and high >= theirs[-1]
    return Verdict(claim, False if reached else None, told)


def _percentiles(sweep: Sweep, middle: list[int]) -> Verdict:
    """Compare the moves of percentiles with those of means, beyond what a bootstrap over blocks allows."""
    claim = "the 5th, 50th and 95th percentiles over words move the same way as the means"
    if why := _enough(sweep, middle):
        return Verdict(claim, None, why)
    wrong, moved, still = [], 0, 0
    for index, (name, values) in product(middle, {"N_w": sweep.n_w, "S_w": sweep.s_w}.items()):
        direction = np.sign((values[-1, index] - values[0, index]).mean())
        spread = _bootstrap(sweep, values[[0, -1], index])
        for percentile, low, high in zip(PERCENTILES, *spread, strict=True):
            if max(direction * low, direction * high) < 0.0:
                wrong.append(f"the {percentile}th of {name} at ε = {sweep.grid.epsilons[index]:g}")
            elif min(direction * low, direction * high) > 0.0:
                moved += 1
            else:
                still += 1
    told = f"{moved} do beyond noise, {still} do not move beyond it"
    if wrong:
        return Verdict(claim, False, f"not {', '.join(wrong)}; {told}")
    return Verdict(claim, True if moved else None, told)


def _bootstrap(sweep: Sweep, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the 99% intervals, (low and high, percentile), of how far percentiles move between two rows.

    Whole blocks are drawn again, since the words of a block are not independent.
    """
    random = np.random.default_rng(0)
    order = np.argsort(sweep.block, kind="stable")
    sizes = np.bincount(sweep.block)
    begins = np.cumsum(sizes) - sizes
    moves = np.empty((_RESAMPLES, len(PERCENTILES)))
    for number in range(_RESAMPLES):
        blocks = random.integers(0, len(sizes), len(sizes))
        words = np.concatenate([order[begins[block] : begins[block] + sizes[block]] for block in blocks])
        levels = np.percentile(values[:, words], PERCENTILES, axis=1)
        moves[number] = levels[:, 1] - levels[:, 0]
    return np.asarray(np.percentile(moves, [0.5, 99.5], axis=0))


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
