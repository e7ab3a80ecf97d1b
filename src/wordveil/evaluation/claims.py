"""The paper's claims about N_w and S_w, each with a verdict from a sweep.

Tests use the means of blocks, which are independent. The words of a block share directions; treating them as
independent would understate the variance of a mean many times over.
"""

import math
from dataclasses import dataclass
from itertools import product
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wordveil.evaluation.claim_words import EQUAL_TRACES, kept_p, worded
from wordveil.evaluation.student import deviation_of, half_width, p_positive
from wordveil.evaluation.sweep import Sweep
from wordveil.evaluation.verdicts import DOES_NOT_HOLD, HOLDS, UNDECIDED, Outcome, Verdict, decided, paper

__all__ = ["PERCENTILES", "Interval", "claims", "mean_interval"]

_LEVEL: Final = 0.01  # of each claim; divided by the number of its tests
_MIN_BLOCKS: Final = 30  # fewer block means are too few for Student's t, whose tails assume normal means
_MIDDLE: Final = (5.0, 20.0)  # the paper's ε without its ends, where all words change or none does
_MAX_SHOWN: Final = 3  # steps within noise that are listed; a grid of the paper's size has up to 24
_NEAR_ZERO: Final = 5.0  # percent; the paper's N_w at ε = 1 is below 0.2
_NEAR_ALL: Final = 90.0  # percent; the paper's N_w at ε = 40 is 90.6 or more
_RESAMPLES: Final = 200  # puts the 99% limits at the second most extreme resample; more cost time
_PAPER_DRAWS: Final = 100  # in the paper's rule for intervals
PERCENTILES: Final = (5, 50, 95)
"""Percentiles over words, as in the paper's figures."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over words, with its 95% interval by blocks and the one by the paper's own rule."""

    mean: float
    deviation: float
    low: float
    high: float
    paper_low: float
    paper_high: float


def mean_interval(sweep: Sweep, values: NDArray[np.float64]) -> Interval:
    """Return the mean of one value per word, its standard deviation, and two 95% intervals.

    One uses the means of blocks (Student's t); the other follows the paper's rule, mean ± 1.96·std/√100.
    """
    mean, deviation = float(values.mean()), deviation_of(values)
    half = half_width(sweep.block_means(values))
    paper_half = 1.96 * deviation / math.sqrt(_PAPER_DRAWS)
    return Interval(mean, deviation, mean - half, mean + half, mean - paper_half, mean + paper_half)


def claims(sweep: Sweep, sparseness: NDArray[np.float64], traces: list[float]) -> list[Verdict]:
    """Return the verdict on each claim of the paper, except those about an ε that was not measured.

    Parameters
    ----------
    sweep : Sweep
        A sweep over at least two λ.
    sparseness : array
        The distance of each of its words to the nearest neighbour.
    traces : list of float
        The trace of A for each λ; empty if the mechanism adds other noise.
    """
    low, high = _MIDDLE
    middle = [i for i, epsilon in enumerate(sweep.grid.epsilons) if low <= epsilon <= high]
    verdicts = [_changes(sweep, middle), _monotone(sweep, middle)] if middle else []
    verdicts += [verdict for verdict in (_ends(sweep),) if verdict is not None]
    verdicts += [_percentiles(sweep, middle)] if middle else []
    verdicts.append(_sparse_gain(sweep, sparseness))
    return [*verdicts, _scale(traces)] if traces else verdicts


def _too_few(sweep: Sweep) -> dict[str, int]:
    """Return why the sweep can't decide a claim: how many blocks that takes. Empty if it can."""
    return {"min_blocks": _MIN_BLOCKS} if int(sweep.block.max()) + 1 < _MIN_BLOCKS else {}


def _changes(sweep: Sweep, middle: list[int]) -> Verdict:
    numbers: dict[str, Any] = {
        "epsilons": [sweep.grid.epsilons[index] for index in middle],
        "lams": [sweep.grid.lams[0], sweep.grid.lams[-1]],
        "draws": sweep.grid.draws,
    }
    if reason := _too_few(sweep):
        return worded("privacy_moves", UNDECIDED, numbers | reason)
    holds, is_opposite, moves = True, False, []
    for index in middle:
        fall = sweep.block_means(sweep.n_w[0, index] - sweep.n_w[-1, index])
        rise = sweep.block_means(sweep.s_w[-1, index] - sweep.s_w[0, index])
        p = max(p_positive(fall), p_positive(rise))
        holds &= p < _LEVEL / len(middle)
        is_opposite |= min(p_positive(-fall), p_positive(-rise)) < _LEVEL / (2 * len(middle))
        means = {"n_w": -float(fall.mean()), "s_w": float(rise.mean())}
        moves.append({"epsilon": sweep.grid.epsilons[index], **means, "p": kept_p(p)})
    return worded("privacy_moves", _outcome(holds, is_opposite), numbers | {"moves": moves})


def _outcome(holds: bool, is_opposite: bool) -> Outcome:
    """Return the outcome of a test: only significant evidence of the opposite contradicts a claim."""
    return HOLDS if holds else DOES_NOT_HOLD if is_opposite else UNDECIDED


def _monotone(sweep: Sweep, middle: list[int]) -> Verdict:
    """Test every step of λ: the claim holds if all are significant, and fails if one goes the other way."""
    numbers: dict[str, Any] = {"epsilons": [sweep.grid.epsilons[index] for index in middle]}
    if reason := _too_few(sweep):
        return worded("every_step", UNDECIDED, numbers | reason)
    lams = sweep.grid.lams
    wrong: list[dict[str, Any]] = []
    unclear: list[dict[str, Any]] = []
    tests = 2 * len(middle) * (len(lams) - 1)
    for index, number in product(middle, range(len(lams) - 1)):
        differences = {
            "N_w": sweep.n_w[number, index] - sweep.n_w[number + 1, index],
            "S_w": sweep.s_w[number + 1, index] - sweep.s_w[number, index],
        }
        for name, values in differences.items():
            means = sweep.block_means(values)
            step = {
                "statistic": name,
                "epsilon": sweep.grid.epsilons[index],
                "lams": [lams[number], lams[number + 1]],
                "size": abs(float(values.mean())),
            }
            if p_positive(-means) < _LEVEL / tests:
                wrong.append(step)
            elif p_positive(means) >= _LEVEL / tests:
                unclear.append(step)
    outcome: Outcome = DOES_NOT_HOLD if wrong else UNDECIDED if unclear else HOLDS
    counts = {"tests": tests, "opposite": len(wrong), "unclear": len(unclear)}
    return worded("every_step", outcome, numbers | counts | {"steps": wrong or unclear[:_MAX_SHOWN]})


def _ends(sweep: Sweep) -> Verdict | None:
    """Judge the ends; None if they are neither decisive nor as far out as the paper's."""
    low, high = sweep.grid.epsilons[0], sweep.grid.epsilons[-1]
    most = float(sweep.n_w[:, 0].mean(axis=1).max())
    least = float(sweep.n_w[:, -1].mean(axis=1).min())
    holds = low < high and most < _NEAR_ZERO and least > _NEAR_ALL
    paper_epsilons = paper()["epsilons"]
    if not holds and (low > paper_epsilons[0] or high < paper_epsilons[-1]):
        return None
    numbers = {"epsilons": [low, high], "limits": [_NEAR_ZERO, _NEAR_ALL], "most": most, "least": least}
    return worded("ends", decided(holds), numbers)


def _percentiles(sweep: Sweep, middle: list[int]) -> Verdict:
    """Compare the direction of percentiles with that of means, where a bootstrap over blocks shows one."""
    if reason := _too_few(sweep):
        return worded("percentiles", UNDECIDED, reason)
    opposite, moved, within_noise = [], 0, 0
    for index, (name, values) in product(middle, {"N_w": sweep.n_w, "S_w": sweep.s_w}.items()):
        direction = np.sign((values[-1, index] - values[0, index]).mean())
        spread = _bootstrap(sweep, values[[0, -1], index])
        for percentile, low, high in zip(PERCENTILES, *spread, strict=True):
            if max(direction * low, direction * high) < 0.0:
                epsilon = sweep.grid.epsilons[index]
                opposite.append({"percentile": percentile, "statistic": name, "epsilon": epsilon})
            elif min(direction * low, direction * high) > 0.0:
                moved += 1
            else:
                within_noise += 1
    numbers = {"opposite": opposite, "moved": moved, "within_noise": within_noise}
    outcome: Outcome = DOES_NOT_HOLD if opposite else HOLDS if moved else UNDECIDED
    return worded("percentiles", outcome, numbers)


def _bootstrap(sweep: Sweep, values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 99% intervals, of shape (2, percentiles), of how far percentiles move between two rows.

    Entire blocks are resampled, since the words of a block are not independent.
    """
    random = np.random.default_rng(0)
    order = np.argsort(sweep.block, kind="stable")
    sizes = np.bincount(sweep.block)
    starts = np.cumsum(sizes) - sizes
    moves = np.empty((_RESAMPLES, len(PERCENTILES)))
    for number in range(_RESAMPLES):
        blocks = random.integers(0, len(sizes), len(sizes))
        words = np.concatenate([order[starts[block] : starts[block] + sizes[block]] for block in blocks])
        levels = np.percentile(values[:, words], PERCENTILES, axis=1)
        moves[number] = levels[:, 1] - levels[:, 0]
    return np.asarray(np.percentile(moves, [0.5, 99.5], axis=0))


def _sparse_gain(sweep: Sweep, sparseness: NDArray[np.float64]) -> Verdict:
    """Compare at the ε at which about half of the words stay; elsewhere there is little to gain."""
    index = int(np.abs(sweep.n_w[0].mean(axis=1) - 50.0).argmin())
    gain = sweep.n_w[0, index] - sweep.n_w[-1, index]
    low, high = np.percentile(sparseness, [25, 75])
    is_sparse, is_dense = sparseness >= high, sparseness <= low
    # The words of a block share directions; differences of means are independent between blocks.
    differences = []
    for number in range(int(sweep.block.max()) + 1):
        in_block = sweep.block == number
        sparse_gain, dense_gain = gain[in_block & is_sparse], gain[in_block & is_dense]
        if len(sparse_gain) and len(dense_gain):
            differences.append(sparse_gain.mean() - dense_gain.mean())
    if len(differences) < _MIN_BLOCKS:
        return worded("sparse_gain", UNDECIDED, {"min_blocks": _MIN_BLOCKS})
    sparse, dense = float(gain[is_sparse].mean()), float(gain[is_dense].mean())
    p, p_opposite = (p_positive(sign * np.array(differences)) for sign in (1.0, -1.0))
    numbers = {"epsilon": sweep.grid.epsilons[index], "sparse": sparse, "dense": dense, "p": kept_p(p)}
    return worded("sparse_gain", _outcome(sparse > dense and p < _LEVEL, p_opposite < _LEVEL), numbers)


def _scale(traces: list[float]) -> Verdict:
    spread = max(traces) / min(traces) - 1.0
    return worded("same_scale", decided(spread < EQUAL_TRACES), {"spread": spread})
