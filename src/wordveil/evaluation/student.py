"""Student's t over independent values: blocks of a sweep, or repetitions of an experiment."""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr, stdtrit

__all__ = ["deviation_of", "finite", "half_width", "p_positive", "p_two_sided"]


def deviation_of(values: NDArray[np.float64]) -> float:
    """Return the standard deviation; 0 for a single value."""
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def finite(value: float) -> float | None:
    """Return a number that JSON can hold: None in place of an infinity or a NaN."""
    return value if math.isfinite(value) else None


def half_width(values: NDArray[np.float64], overlap: float = 0.0) -> float:
    """Return the half-width of the 95% interval of the mean; infinite for a single value.

    Values from random splits of the same data are not independent: with `overlap`, the size of a test part
    over that of its training part, the variance follows Nadeau and Bengio's corrected resampled t-test.

    Examples
    --------
    >>> round(half_width(np.array([1.0, 2.0, 3.0])), 3)
    2.484
    >>> round(half_width(np.array([1.0, 2.0, 3.0]), overlap=3 / 7), 3)
    3.756
    """
    if len(values) < 2:
        return math.inf
    return float(stdtrit(len(values) - 1, 0.975) * _error(values, overlap))


def p_positive(values: NDArray[np.float64], overlap: float = 0.0) -> float:
    """Return the one-sided p-value of "the mean is not positive".

    Examples
    --------
    >>> p_positive(np.array([1.0, 1.1, 0.9])) < 0.01 < p_positive(np.array([-1.0, 1.1, 0.9]))
    True
    """
    if len(values) < 2:
        return 1.0
    error = _error(values, overlap)
    if error == 0.0:
        return 0.0 if values.mean() > 0.0 else 1.0
    return float(stdtr(len(values) - 1, -values.mean() / error))


def p_two_sided(values: NDArray[np.float64], overlap: float = 0.0) -> float:
    """Return the p-value of "the mean is zero"."""
    return min(1.0, 2.0 * min(p_positive(values, overlap), p_positive(-values, overlap)))


def _error(values: NDArray[np.float64], overlap: float) -> float:
    return deviation_of(values) * math.sqrt(1.0 / len(values) + overlap)
