"""Shares that were measured by random draws, with confidence intervals."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["Share", "clopper_pearson", "mean_share"]


class Share(NamedTuple):
    """A share of draws, with its 95% confidence interval."""

    share: float
    low: float
    high: float


def clopper_pearson(hits: int, draws: int, level: float = 0.95) -> Share:
    """Return the share of `hits` and its exact (Clopper-Pearson) confidence interval.

    Examples
    --------
    >>> [round(x, 4) for x in clopper_pearson(5, 100)]
    [0.05, 0.0164, 0.1128]
    """
    from scipy.special import betaincinv

    alpha = (1.0 - level) / 2.0
    low = float(betaincinv(hits, draws - hits + 1, alpha)) if hits > 0 else 0.0
    high = float(betaincinv(hits + 1, draws - hits, 1.0 - alpha)) if hits < draws else 1.0
    return Share(hits / draws, low, high)


def mean_share(values: ArrayLike, level: float = 0.95) -> Share:
    """Return the mean of independent values in [0, 1], with an interval that holds whatever their law.

    It is the empirical Bernstein bound of Maurer and Pontil (2009, Theorem 4), once for each side. A normal
    interval would be about half as wide, and too narrow where a few values are large and the rest are zero.

    Examples
    --------
    >>> [round(x, 3) for x in mean_share([0.0, 1.0] * 500)]
    [0.5, 0.443, 0.557]
    """
    numbers = np.asarray(values, dtype=np.float64)
    count, mean = len(numbers), float(numbers.mean())
    if count < 2:
        return Share(mean, 0.0, 1.0)
    log = math.log(4.0 / (1.0 - level))
    reach = math.sqrt(2.0 * float(numbers.var(ddof=1)) * log / count) + 7.0 * log / (3.0 * (count - 1))
    return Share(mean, max(0.0, mean - reach), min(1.0, mean + reach))
