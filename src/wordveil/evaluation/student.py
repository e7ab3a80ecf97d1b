"""Student's t over independent values: blocks of a sweep, or repetitions of an experiment."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

__all__ = ["half_width", "p_positive", "p_two_sided"]


def half_width(values: NDArray[np.float64]) -> float:
    """Return how far the 95% interval of the mean reaches; without end for a single value.

    Examples
    --------
    >>> round(half_width(np.array([1.0, 2.0, 3.0])), 3)
    2.484
    """
    if len(values) < 2:
        return math.inf
    return float(stdtrit(len(values) - 1, 0.975) * _error(values))


def p_positive(values: NDArray[np.float64]) -> float:
    """Return the one-sided p-value of "the mean is not positive".

    Examples
    --------
    >>> p_positive(np.array([1.0, 1.1, 0.9])) < 0.01 < p_positive(np.array([-1.0, 1.1, 0.9]))
    True
    """
    if len(values) < 2:
        return 1.0
    if _error(values) == 0.0:
        return 0.0 if values.mean() > 0.0 else 1.0
    return float(stdtr(len(values) - 1, -values.mean() / _error(values)))


def p_two_sided(values: NDArray[np.float64]) -> float:
    """Return the p-value of "the mean is zero"."""
    return min(1.0, 2.0 * min(p_positive(values), p_positive(-values)))


def _error(values: NDArray[np.float64]) -> float:
    return float(values.std(ddof=1)) / math.sqrt(len(values))
