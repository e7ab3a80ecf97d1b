"""Scores of a classifier from its confusion matrices: how many records of each label got each answer."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.evaluation.student import finite, half_width

__all__ = [
    "MACRO",
    "ScoreColumn",
    "baseline_scores",
    "best_constant",
    "confusion",
    "interval_of",
    "p_not_better",
    "score_columns",
    "scores_of",
]

Floats = NDArray[np.float64]
MACRO: Final = ("accuracy", "macro_precision", "macro_recall", "macro_f1")
_BY_LABEL: Final = ("precision", "recall", "f1")
_RESAMPLES: Final = 400  # puts the 95% limits at the tenth most extreme resample


class ScoreColumn(NamedTuple):
    """A score: its name, and the label that it is about, if it is about one."""

    name: str
    label: str | None = None


def score_columns(classes: tuple[str, ...]) -> list[ScoreColumn]:
    """Return what the columns of `scores_of` are.

    Examples
    --------
    >>> score_columns(("ham", "spam"))[3:6]
    [ScoreColumn(name='macro_f1', label=None), ScoreColumn(name='precision', label='ham'),
     ScoreColumn(name='precision', label='spam')]
    """
    return [ScoreColumn(name) for name in MACRO] + [
        ScoreColumn(name, label) for name in _BY_LABEL for label in classes
    ]


def confusion(true: NDArray[np.int64], predicted: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return how many records of each label (row) got each answer (column).

    Examples
    --------
    >>> confusion(np.array([0, 0, 1]), np.array([0, 1, 1]), 2)
    array([[1, 1],
           [0, 1]])
    """
    pairs = np.bincount(true * count + predicted, minlength=count * count)
    return pairs.reshape(count, count)


def scores_of(matrices: NDArray[np.int64] | Floats) -> Floats:
    """Return the scores of confusion matrices, along a new last axis; one over no records is 0.

    A macro score is the mean over the labels that some record has.

    Examples
    --------
    >>> scores_of(np.array([[3, 1], [0, 4]])).round(3).tolist()
    [0.875, 0.9, 0.875, 0.873, 1.0, 0.8, 0.75, 1.0, 0.857, 0.889]
    """
    matrices = np.asarray(matrices, dtype=np.float64)
    hits = np.diagonal(matrices, axis1=-2, axis2=-1)
    true, predicted = matrices.sum(axis=-1), matrices.sum(axis=-2)
    precision = hits / np.where(predicted > 0.0, predicted, 1.0)
    recall = hits / np.where(true > 0.0, true, 1.0)
    f1 = 2.0 * hits / np.where(true + predicted > 0.0, true + predicted, 1.0)
    accuracy = hits.sum(axis=-1, keepdims=True) / true.sum(axis=-1, keepdims=True)
    occurs = true > 0.0
    macro = [
        (values * occurs).sum(axis=-1, keepdims=True) / occurs.sum(axis=-1, keepdims=True)
        for values in (precision, recall, f1)
    ]
    return np.concatenate([accuracy, *macro, precision, recall, f1], axis=-1)


def best_constant(matrices: NDArray[np.int64]) -> int:
    """Return the label that is right most often if it is the answer to every tested record.

    Examples
    --------
    >>> best_constant(np.array([[[40, 5], [30, 25]]]))
    1
    """
    return int(matrices.sum(axis=(0, 2)).argmax())


def baseline_scores(matrices: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return the scores of the best constant answer, and of guessing all labels equally often."""
    true = matrices.sum(axis=-1).mean(axis=0)
    always = np.zeros((len(true), len(true)))
    always[:, best_constant(matrices)] = true
    guessed = np.repeat(true[:, None] / len(true), len(true), axis=1)
    return scores_of(always), scores_of(guessed)


def p_not_better(matrices: NDArray[np.int64]) -> float:
    """Return the p-value of "it is not better than every constant answer" (McNemar, exact).

    For a label, let b be the records of other labels that are recognised, and c those of the label that are
    not. If the classifier is no better than that label, b of b + c is at most a fair coin's. The largest
    p-value over the labels counts: the label that is most frequent to learn from need not be so in the test.
    Repetitions share their data, so b and c are means over them: the test is that of a single one.

    Examples
    --------
    >>> round(p_not_better(np.array([[[95, 5], [30, 20]]])), 4)
    0.002
    >>> p_not_better(np.array([[[100, 0], [50, 0]]])), p_not_better(np.array([[[0, 50], [0, 60]]]))
    (1.0, 1.0)
    """
    from scipy.special import betainc

    kept = np.diagonal(matrices, axis1=-2, axis2=-1)
    better = (kept.sum(axis=-1, keepdims=True) - kept).mean(axis=0)
    worse = (matrices.sum(axis=-1) - kept).mean(axis=0)
    p = np.where(better > 0.0, betainc(np.maximum(better, 1e-9), worse + 1.0, 0.5), 1.0)
    return float(p.max())


def interval_of(
    matrices: NDArray[np.int64], scores: Floats, overlap: float | None
) -> list[tuple[float | None, float | None]]:
    """Return the 95% interval of the mean of each score, within [0, 1].

    Over random splits, whose test parts are `overlap` times as large as the training parts, it is Nadeau and
    Bengio's. With a fixed split (None), the tested records are resampled, each time from one repetition, and
    the interval is never narrower than that of Clopper and Pearson: resampling 20 right answers of 20 would
    never give a wrong one.

    Examples
    --------
    >>> perfect = np.array([[[10, 0], [0, 10]]])
    >>> low, high = interval_of(perfect, scores_of(perfect), None)[0]
    >>> round(low, 3), high
    (0.832, 1.0)
    """
    if overlap is None:
        resampled = np.percentile(_resampled_scores(matrices), [2.5, 97.5], axis=0)
        exact = _exact_ends(matrices)
        low, high = np.minimum(resampled[0], exact[0]), np.maximum(resampled[1], exact[1])
        return list(zip(low.tolist(), high.tolist(), strict=True))
    intervals: list[tuple[float | None, float | None]] = []
    for column in scores.T:
        half, mean = finite(half_width(column, overlap)), float(column.mean())
        intervals.append((None, None) if half is None else (max(0.0, mean - half), min(1.0, mean + half)))
    return intervals


def _exact_ends(matrices: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Return the ends of Clopper and Pearson's 95% intervals, in the order of `scores_of`.

    Accuracy, precision and recall are shares. F1 grows with both of the latter, so their ends bound it. A
    macro score reaches as far as the mean of independent labels.
    """
    mean = matrices.mean(axis=0)
    hits, true, predicted = np.diagonal(mean), mean.sum(axis=1), mean.sum(axis=0)
    accuracy = _share_ends(hits.sum(keepdims=True), true.sum(keepdims=True))
    precision, recall = _share_ends(hits, predicted), _share_ends(hits, true)
    f1 = 2.0 * precision * recall / np.maximum(precision + recall, 1e-300)
    by_label = np.concatenate([precision, recall, f1], axis=1)
    scores = scores_of(mean)
    reach = np.abs(by_label - scores[len(MACRO) :]).reshape(2, len(_BY_LABEL), -1)
    occurs = true > 0.0
    macro_reach = np.sqrt((reach[..., occurs] ** 2).sum(axis=-1)) / occurs.sum()
    macro = np.clip(scores[1 : len(MACRO)] + np.array([[-1.0], [1.0]]) * macro_reach, 0.0, 1.0)
    low, high = np.concatenate([accuracy, macro, by_label], axis=1)
    return low, high


def _share_ends(hits: Floats, records: Floats) -> Floats:
    """Return both ends of the intervals of shares; counts may be means over repetitions."""
    from scipy.special import betaincinv

    misses = records - hits
    low = np.where(hits > 0.0, betaincinv(np.maximum(hits, 1e-9), misses + 1.0, 0.025), 0.0)
    high = np.where(misses > 0.0, betaincinv(hits + 1.0, np.maximum(misses, 1e-9), 0.975), 1.0)
    return np.stack((low, high))


def _resampled_scores(matrices: NDArray[np.int64]) -> Floats:
    random = np.random.default_rng(0)
    scores = []
    for choice in random.integers(0, len(matrices), _RESAMPLES):
        cells = np.nonzero(matrices[choice])
        counts = matrices[choice][cells]
        resampled = np.zeros_like(matrices[choice])
        resampled[cells] = random.multinomial(counts.sum(), counts / counts.sum())
        scores.append(scores_of(resampled))
    return np.array(scores)
