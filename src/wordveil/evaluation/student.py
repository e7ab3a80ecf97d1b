"""Student's t over independent values: blocks of a sweep, or repetitions of an experiment."""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, stdtr, stdtrit

__all__ = ["deviation_of", "finite", "half_width", "p_positive", "p_two_sided", "sampling_error"]

_NORMAL: Final = 1.96  # half-widths of a 95% interval, in errors that are known


def deviation_of(values: NDArray[np.float64]) -> float:
    """Return the standard deviation; 0 for a single value."""
    return float(values.std(ddof=1)) if len(values) > 1 else 0.0


def finite(value: float) -> float | None:
    """Return a number that JSON can hold: None in place of an infinity or a NaN."""
    return value if math.isfinite(value) else None


def sampling_error(share: float, records: float, values: int, overlap: float = 0.0) -> float:
    """Return the error of a mean of shares that comes from the number of records alone.

    Each of the values is a share of that many records. Their variance is at least binomial, and that of one
    record; `overlap` is as in `half_width`.

    Examples
    --------
    >>> round(sampling_error(0.9, 124, 3, overlap=3 / 7), 4)
    0.0235
    """
    variance = max(share * (1.0 - share), 1.0 / records) / records
    return math.sqrt(variance * (1.0 / values + overlap))


def half_width(values: NDArray[np.float64], overlap: float = 0.0, floor: float = 0.0) -> float:
    """Return the half-width of the 95% interval of the mean; infinite for a single value.

    Values from random splits of the same data are not independent: with `overlap`, the size of a test part
    over that of its training part, the variance follows Nadeau and Bengio's corrected resampled t-test. A few
    values can be equal by chance: `floor` is the smallest error that their mean can have.

    Examples
    --------
    >>> round(half_width(np.array([1.0, 2.0, 3.0])), 3)
    2.484
    >>> round(half_width(np.array([1.0, 2.0, 3.0]), overlap=3 / 7), 3)
    3.756
    >>> round(half_width(np.array([0.9, 0.9, 0.9]), floor=0.01), 4)
    0.0196
    """
    if len(values) < 2:
        return math.inf
    return max(float(stdtrit(len(values) - 1, 0.975) * _error(values, overlap)), _NORMAL * floor)


def p_positive(values: NDArray[np.float64], overlap: float = 0.0, floor: float = 0.0) -> float:
    """Return the one-sided p-value of "the mean is not positive"; `floor` is as in `half_width`.

    Equal values tell nothing about their error. Without a floor, the p-value is then that of the sign test.

    Examples
    --------
    >>> p_positive(np.array([1.0, 1.1, 0.9])) < 0.01 < p_positive(np.array([-1.0, 1.1, 0.9]))
    True
    >>> p_positive(np.array([1.0, 1.0, 1.0]))
    0.125
    """
    if len(values) < 2:
        return 1.0
    error, mean = _error(values, overlap), float(values.mean())
    if error == floor == 0.0:
        return 0.5 ** len(values) if mean > 0.0 else 1.0
    at_floor = float(ndtr(-mean / floor)) if floor > 0.0 else 0.0
    return max(at_floor, float(stdtr(len(values) - 1, -mean / error)) if error > 0.0 else 0.0)


def p_two_sided(values: NDArray[np.float64], overlap: float = 0.0, floor: float = 0.0) -> float:
    """Return the p-value of "the mean is zero"."""
    return min(1.0, 2.0 * min(p_positive(values, overlap, floor), p_positive(-values, overlap, floor)))


def _error(values: NDArray[np.float64], overlap: float) -> float:
    return deviation_of(values) * math.sqrt(1.0 / len(values) + overlap)
