"""The paper's claims about utility, each with a verdict from scores.

No claim holds for a classifier that is not significantly better than the most frequent label.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.evaluation.scores import best_constant, p_not_better, scores_of
from wordveil.evaluation.student import deviation_of, half_width, p_positive, p_two_sided, sampling_error
from wordveil.evaluation.verdicts import DOES_NOT_HOLD, HOLDS, UNDECIDED, Verdict

__all__ = ["ScoredGrid", "p_in_words", "utility_claims"]

_MIN_RECALL: Final = 0.94  # the paper says "around 0.95 or higher"; a hundredth less still counts
_MAX_HALF_WIDTH: Final = 0.05  # a wider interval could hide a difference of 5 points
_LEVEL: Final = 0.05  # of each claim; divided by the number of its tests
_MIN_REPETITIONS: Final = 3  # two leave one degree of freedom: useless intervals


@dataclass(frozen=True, eq=False)
class ScoredGrid:
    """The confusion matrices of one mechanism over λ and ε.

    Attributes
    ----------
    lams, epsilons : tuples
        In ascending order; `lams` is (None,) for a mechanism without λ.
    matrices : array of shape (λ, ε, repetitions, labels, labels)
    clean : array of shape (repetitions, labels, labels)
        On unperturbed text.
    overlap : float or None
        The size of a test part over that of its training part for random splits; None for a fixed split.
    """

    lams: tuple[float | None, ...]
    epsilons: tuple[float | None, ...]
    matrices: NDArray[np.int64]
    clean: NDArray[np.int64]
    overlap: float | None

    @property
    def accuracy(self) -> NDArray[np.float64]:
        """Accuracies, of shape (λ, ε, repetitions)."""
        return np.asarray(scores_of(self.matrices)[..., 0])

    def recall(self, label: int) -> NDArray[np.float64]:
        """Return the recall of a label, of shape (λ, ε, repetitions)."""
        labels = self.matrices.shape[-1]
        return np.asarray(scores_of(self.matrices)[..., 4 + labels + label])

    def p_not_better(self) -> NDArray[np.float64]:
        """Return the p-values of "not better than the most frequent label", of shape (λ, ε)."""
        shape = self.matrices.shape[:2]
        values = [p_not_better(self.matrices[i, j]) for i, j in np.ndindex(*shape)]
        return np.array(values).reshape(shape)

    @property
    def why_undecided(self) -> str:
        """Why nothing can be decided; empty if something can."""
        if p_not_better(self.clean) >= _LEVEL:
            share = self.clean[:, best_constant(self.clean)].sum() / self.clean.sum()
            return (
                "on unperturbed text the classifier is not significantly better than the most frequent "
                f"label ({share:.3f})"
            )
        if self.overlap is not None and self.matrices.shape[2] < _MIN_REPETITIONS:
            return f"needs {_MIN_REPETITIONS} repetitions"
        return ""


class _Difference(NamedTuple):
    """The mean difference of two accuracies, the half-width of its interval, and two p-values."""

    mean: float
    half: float
    p_greater: float
    p_different: float


def _difference(grid: ScoredGrid, smaller: tuple[int, int], larger: tuple[int, int]) -> _Difference:
    first, second = grid.accuracy[smaller], grid.accuracy[larger]
    return _compared(first, second, grid.overlap, int(grid.matrices[(*smaller, 0)].sum()))


def _compared(
    first: NDArray[np.float64], second: NDArray[np.float64], overlap: float | None, records: int
) -> _Difference:
    """Compare in pairs over random splits; with a fixed split, count the tested records too.

    A difference of k records needs k records whose answers differ, so over random splits the error is at
    least the binomial one of k, even if all splits differ by the same k. With a fixed split, the variance is
    at most that of two independent collections of records, plus that of the noise.
    """
    values = second - first
    if overlap is not None:
        differing = max(abs(float(values.mean())), 1.0 / records)
        floor = sampling_error(differing, records, len(values), overlap)
        p = p_positive(values, overlap, floor), p_two_sided(values, overlap, floor)
        return _Difference(float(values.mean()), half_width(values, overlap, floor), *p)
    from scipy.special import ndtr

    shares = np.array([first.mean(), second.mean()])
    variance = (shares * (1.0 - shares)).sum() / records + deviation_of(values) ** 2 / len(values)
    error, mean = math.sqrt(variance), float(values.mean())
    score = mean / error if error > 0.0 else math.copysign(math.inf, mean) if mean else 0.0
    return _Difference(mean, 1.96 * error, float(ndtr(-score)), float(2.0 * ndtr(-abs(score))))


def utility_claims(grid: ScoredGrid, sms: Sequence[tuple[int, str]] = ()) -> list[Verdict]:
    """Return the verdict on each claim of the paper that the settings say something about.

    One claim is only about the SMS data: for those, `sms` are the places and names of its labels. Both are
    tested, since the paper does not say which is the positive one.
    """
    verdicts = []
    if len(grid.epsilons) > 1 and None not in grid.epsilons:
        verdicts.append(_rises(grid))
    if len(grid.lams) > 1:
        verdicts.append(_no_difference(grid))
    return verdicts + [_recall(grid, place, label) for place, label in sms]


def _rises(grid: ScoredGrid) -> Verdict:
    """Test the ends and every step: only a significant fall contradicts."""
    claim = "accuracy rises with ε towards the benchmark"
    if grid.why_undecided:
        return Verdict(claim, UNDECIDED, grid.why_undecided)
    accuracy = grid.accuracy.mean(axis=0)
    means = accuracy.mean(axis=1)
    benchmark = float(scores_of(grid.clean)[:, 0].mean())
    records = int(grid.matrices[0, 0, 0].sum())
    p = _compared(accuracy[0], accuracy[-1], grid.overlap, records).p_greater
    is_closer = abs(benchmark - means[-1]) < abs(benchmark - means[0])
    pairs = zip(means, grid.epsilons, strict=True)
    values = ", ".join(f"{mean:.3f} at ε = {epsilon:g}" for mean, epsilon in pairs)
    evidence = f"{values}; unperturbed {benchmark:.3f} ({p_in_words(p)})"
    worst = float(grid.p_not_better()[:, -1].max())
    if worst >= _LEVEL / len(grid.lams):
        reason = f"at ε = {grid.epsilons[-1]:g} it is not significantly better than the most frequent label"
        return Verdict(claim, UNDECIDED, f"{reason} ({p_in_words(worst)}); {evidence}")
    steps = [(0, len(means) - 1), *pairwise(range(len(means)))]
    falls = [
        f"ε = {grid.epsilons[i]:g} to {grid.epsilons[j]:g}"
        for i, j in dict.fromkeys(steps)
        if _compared(accuracy[j], accuracy[i], grid.overlap, records).p_greater < _LEVEL / len(steps)
    ]
    if falls:
        return Verdict(claim, DOES_NOT_HOLD, f"it falls significantly from {', '.join(falls)}; {evidence}")
    return Verdict(claim, HOLDS if is_closer and p < _LEVEL else UNDECIDED, evidence)


def _no_difference(grid: ScoredGrid) -> Verdict:
    """Compare every λ with the first, at each ε where at least one of them has learnt something.

    An interval too wide to exclude a difference is undecided, and so is a classifier that has learnt nothing.
    """
    claim = f"no significant difference in accuracy between λ = {grid.lams[0]:g} and the other λ"
    if grid.why_undecided:
        return Verdict(claim, UNDECIDED, grid.why_undecided)
    learns = grid.p_not_better() < _LEVEL / len(grid.lams)
    counted = [j for j in range(len(grid.epsilons)) if learns[:, j].any()]
    if not counted:
        return Verdict(claim, UNDECIDED, "no classifier is significantly better than the most frequent label")
    lines, smallest_p, widest = [], 1.0, 0.0
    pairs = list(product(range(1, len(grid.lams)), counted))
    for i, j in pairs:
        difference = _difference(grid, (0, j), (i, j))
        smallest_p, widest = min(smallest_p, difference.p_different), max(widest, difference.half)
        lines.append(
            f"λ = {grid.lams[i]:g}{_at(grid.epsilons[j])}: {difference.mean:+.3f} ± {difference.half:.3f} "
            f"({p_in_words(difference.p_different)})"
        )
    level = _LEVEL / len(pairs)
    bonferroni = f" at {_LEVEL:g}/{len(pairs)} = {level:.2g} each (Bonferroni)" if len(pairs) > 1 else ""
    evidence = f"{'; '.join(lines)}; {len(pairs)} test{'s'[: len(pairs) > 1]}{bonferroni}"
    if smallest_p <= level:
        return Verdict(claim, DOES_NOT_HOLD, evidence)
    if widest > _MAX_HALF_WIDTH:
        return Verdict(claim, UNDECIDED, f"{evidence}; an interval is wider than ±{_MAX_HALF_WIDTH:g}")
    if not learns[:, counted].all():
        reason = "some are not significantly better than the most frequent label"
        return Verdict(claim, UNDECIDED, f"{evidence}; {reason}")
    return Verdict(claim, HOLDS, evidence)


def p_in_words(value: float) -> str:
    """Return a p-value for readers: the smaller it is, the less its approximation means.

    Examples
    --------
    >>> p_in_words(3.6e-64), p_in_words(0.0072), p_in_words(0.96)
    ('p < 0.001', 'p = 0.007', 'p = 0.960')
    """
    return "p < 0.001" if value < 0.001 else f"p = {value:.3f}"


def _at(epsilon: float | None) -> str:
    return "" if epsilon is None else f", ε = {epsilon:g}"


def _recall(grid: ScoredGrid, place: int, label: str) -> Verdict:
    recall = grid.recall(place)
    means = recall.mean(axis=2)
    i, j = (int(index) for index in np.unravel_index(int(means.argmin()), means.shape))
    clean = float(np.mean(scores_of(grid.clean)[:, 4 + grid.clean.shape[-1] + place]))
    lam = "" if grid.lams[i] is None else f", λ = {grid.lams[i]:g}"
    evidence = f"its lowest mean is {means[i, j]:.3f}{lam}{_at(grid.epsilons[j])}; unperturbed {clean:.3f}"
    claim = f"recall of {label} stays around 0.95 or higher (at least {_MIN_RECALL:g} at every setting)"
    if grid.why_undecided:
        return Verdict(claim, UNDECIDED, grid.why_undecided)
    p_below, p_above = _p_of_recall(grid, place)
    if p_below.min() < _LEVEL / means.size:
        return Verdict(claim, DOES_NOT_HOLD, f"{evidence} ({p_in_words(p_below.min())})")
    worst = float(grid.p_not_better().max())
    if worst >= _LEVEL / means.size:
        reason = "at some setting the classifier is not significantly better than the most frequent label"
        return Verdict(claim, UNDECIDED, f"{reason} ({p_in_words(worst)}); {evidence}")
    if p_above.max() >= _LEVEL:
        return Verdict(claim, UNDECIDED, f"{evidence}; at some setting it could be lower by chance")
    return Verdict(claim, HOLDS, evidence)


def _p_of_recall(grid: ScoredGrid, place: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the p-values of "not below the limit" and "not above it" at each setting.

    Over random splits they are Student's; with a fixed split, those of a binomial number of records.
    """
    from scipy.special import betainc

    shape = grid.matrices.shape[:2]
    if grid.overlap is not None:
        count = grid.matrices.shape[2]
        records = max(1.0, float(grid.clean[:, place].sum(axis=-1).mean()))
        recall = grid.recall(place).reshape(-1, count)
        floors = [sampling_error(float(row.mean()), records, count, grid.overlap) for row in recall]
        p = np.array(
            [
                [
                    p_positive(sign * (row - _MIN_RECALL), grid.overlap, floor)
                    for row, floor in zip(recall, floors, strict=True)
                ]
                for sign in (-1.0, 1.0)
            ]
        )
        return p[0].reshape(shape), p[1].reshape(shape)
    hits = grid.matrices[..., place, place].mean(axis=2)
    misses = grid.matrices[..., place, :].sum(axis=-1).mean(axis=2) - hits
    few = 1e-9  # of no records at all, the p-value is 1
    below = np.where(misses > 0.0, betainc(np.maximum(misses, few), hits + 1.0, 1.0 - _MIN_RECALL), 1.0)
    above = np.where(hits > 0.0, betainc(np.maximum(hits, few), misses + 1.0, _MIN_RECALL), 1.0)
    return below, above
