"""The paper's claims about utility, each with a verdict from scores.

No claim holds for a classifier that is not significantly better than the most frequent label.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.evaluation.claim_words import kept_p, worded
from wordveil.evaluation.scores import best_constant, p_not_better, scores_of
from wordveil.evaluation.student import deviation_of, half_width, p_positive, p_two_sided, sampling_error
from wordveil.evaluation.verdicts import DOES_NOT_HOLD, HOLDS, UNDECIDED, Verdict

__all__ = ["ScoredGrid", "utility_claims"]

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
    def nothing_learnt(self) -> dict[str, float]:
        """Why nothing can be decided, in numbers; empty if something can."""
        if p_not_better(self.clean) >= _LEVEL:
            frequent = self.clean[:, best_constant(self.clean)].sum()
            return {"clean_majority": float(frequent / self.clean.sum())}
        if self.overlap is not None and self.matrices.shape[2] < _MIN_REPETITIONS:
            return {"min_repetitions": _MIN_REPETITIONS}
        return {}


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
    if reason := grid.nothing_learnt:
        return worded("accuracy_rises", UNDECIDED, reason)
    accuracy = grid.accuracy.mean(axis=0)
    means = accuracy.mean(axis=1)
    benchmark = float(scores_of(grid.clean)[:, 0].mean())
    records = int(grid.matrices[0, 0, 0].sum())
    p = _compared(accuracy[0], accuracy[-1], grid.overlap, records).p_greater
    is_closer = abs(benchmark - means[-1]) < abs(benchmark - means[0])
    numbers: dict[str, Any] = {
        "epsilons": list(grid.epsilons),
        "means": means.tolist(),
        "unperturbed": benchmark,
        "p": kept_p(p),
    }
    worst = float(grid.p_not_better()[:, -1].max())
    if worst >= _LEVEL / len(grid.lams):
        return worded("accuracy_rises", UNDECIDED, numbers | {"p_majority": kept_p(worst)})
    steps = [(0, len(means) - 1), *pairwise(range(len(means)))]
    falls = [
        [grid.epsilons[i], grid.epsilons[j]]
        for i, j in dict.fromkeys(steps)
        if _compared(accuracy[j], accuracy[i], grid.overlap, records).p_greater < _LEVEL / len(steps)
    ]
    if falls:
        return worded("accuracy_rises", DOES_NOT_HOLD, numbers | {"falls": falls})
    return worded("accuracy_rises", HOLDS if is_closer and p < _LEVEL else UNDECIDED, numbers)


def _no_difference(grid: ScoredGrid) -> Verdict:
    """Compare every λ with the first, at each ε where at least one of them has learnt something.

    An interval too wide to exclude a difference is undecided, and so is a classifier that has learnt nothing.
    """
    numbers: dict[str, Any] = {"first": grid.lams[0]}
    if reason := grid.nothing_learnt:
        return worded("no_difference", UNDECIDED, numbers | reason)
    learns = grid.p_not_better() < _LEVEL / len(grid.lams)
    counted = [j for j in range(len(grid.epsilons)) if learns[:, j].any()]
    compared = {
        (i, j): _difference(grid, (0, j), (i, j)) for i, j in product(range(1, len(grid.lams)), counted)
    }
    numbers |= {
        "level": _LEVEL,
        "not_learnt": [grid.epsilons[j] for j in range(len(grid.epsilons)) if j not in counted],
        "differences": [
            {
                "lam": grid.lams[i],
                "epsilon": grid.epsilons[j],
                "mean": paired.mean,
                "half": paired.half,
                "p": kept_p(paired.p_different),
            }
            for (i, j), paired in compared.items()
        ],
    }
    if not compared:
        return worded("no_difference", UNDECIDED, numbers)
    if min(paired.p_different for paired in compared.values()) <= _LEVEL / len(compared):
        return worded("no_difference", DOES_NOT_HOLD, numbers)
    if max(paired.half for paired in compared.values()) > _MAX_HALF_WIDTH:
        return worded("no_difference", UNDECIDED, numbers | {"max_half": _MAX_HALF_WIDTH})
    if not learns[:, counted].all():
        return worded("no_difference", UNDECIDED, numbers | {"some_not_learnt": True})
    return worded("no_difference", HOLDS, numbers)


def _recall(grid: ScoredGrid, place: int, label: str) -> Verdict:
    recall = grid.recall(place)
    means = recall.mean(axis=2)
    i, j = (int(index) for index in np.unravel_index(int(means.argmin()), means.shape))
    numbers: dict[str, Any] = {
        "label": label,
        "least": _MIN_RECALL,
        "lowest": float(means[i, j]),
        "lam": grid.lams[i],
        "epsilon": grid.epsilons[j],
        "unperturbed": float(np.mean(scores_of(grid.clean)[:, 4 + grid.clean.shape[-1] + place])),
    }
    if reason := grid.nothing_learnt:
        return worded("recall", UNDECIDED, numbers | reason)
    p_below, p_above = _p_of_recall(grid, place)
    if p_below.min() < _LEVEL / means.size:
        return worded("recall", DOES_NOT_HOLD, numbers | {"p_below": kept_p(p_below.min())})
    worst = float(grid.p_not_better().max())
    if worst >= _LEVEL / means.size:
        return worded("recall", UNDECIDED, numbers | {"p_majority": kept_p(worst)})
    if p_above.max() >= _LEVEL:
        return worded("recall", UNDECIDED, numbers | {"p_above": kept_p(p_above.max())})
    return worded("recall", HOLDS, numbers)


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
