"""Answers to neighbouring words of a batch are independent, seen from outside."""

from typing import Final

import numpy as np
from scipy.stats import chi2

from wordveil.evaluation.audit_black_box import Factory, cross
from wordveil.evaluation.audit_result import Check
from wordveil.randomness import RunKey

__all__ = ["independence"]

# Noise that one pair in a hundred shares is found with power above 0.99 (Laplace). With 50,000 draws it takes
# two pairs in a hundred.
_DRAWS: Final = 400_000
_ALPHA: Final = 5e-6  # an audit has dozens of tests, and false alarms should be rare over many audits
_LAGS: Final = (1, 2, 1000)  # the next word, the next but one, and one far off
_LEAST: Final = 25.0  # expected in every cell of a table, so that χ² has its law far into its tail


def independence(make: Factory, epsilon: float, key: RunKey) -> Check:
    """Return whether answers to one word, drawn in one batch, are independent of those before them."""
    mechanism = cross(make, epsilon, 2).mechanism
    answers = mechanism.perturb_ids(np.zeros(_DRAWS, np.int64), stream=key.stream("audit", "words"))
    pvalues = [_pvalue(answers[:-lag], answers[lag:]) for lag in _LAGS]
    pvalue = min(1.0, len(_LAGS) * min(pvalues))
    # Of one pair in a hundred, the second gets the noise of the first: χ² grows by n·0.01² times the degrees.
    return Check(
        "black box",
        "answers of one batch are independent",
        pvalue >= _ALPHA,
        f"χ² of answers at distances {', '.join(map(str, _LAGS))} (n = {_DRAWS:,}, p = {pvalue:.2g})",
        _ALPHA,
        "noise that every tenth word shares with the next",
        _power(answers, 0.1),
    )


def _table(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    size = int(max(first.max(), second.max())) + 1
    table = np.bincount(first * size + second, minlength=size * size).reshape(size, size).astype(np.float64)
    common = np.minimum(table.sum(axis=1), table.sum(axis=0)) ** 2 / table.sum() >= _LEAST
    return np.asarray(table[common][:, common])


def _pvalue(first: np.ndarray, second: np.ndarray) -> float:
    table = _table(first, second)
    if len(table) < 2:
        return 1.0
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0, keepdims=True) / table.sum()
    statistic = float(((table - expected) ** 2 / expected).sum())
    return float(chi2.sf(statistic, (len(table) - 1) ** 2))


def _power(answers: np.ndarray, share: float) -> float:
    """Return how often shared noise is found: the statistic is a noncentral χ² then."""
    from scipy.stats import ncx2

    table = _table(answers[:-1], answers[1:])
    if len(table) < 2:
        return 0.0
    degrees = (len(table) - 1) ** 2
    threshold = chi2.isf(_ALPHA / len(_LAGS), degrees)
    # With probability `share` both answers are equal: cells (u, u) gain share·p(u)(1 - p(u)) of all pairs.
    noncentral = len(answers) * share**2 * (len(table) - 1)
    return float(ncx2.sf(threshold, degrees, noncentral))
