"""Shares that were measured by random draws, with confidence intervals."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

__all__ = ["Share", "chernoff_share", "clopper_pearson", "clustered_share", "mean_share"]


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


def chernoff_share(mean: float, draws: int, level: float = 0.95) -> Share:
    """Return a mean of independent values in [0, 1], with an interval that holds whatever their law.

    It is Chernoff's bound with the relative entropy (Hoeffding 1963, Theorem 1), once for each side: it has
    all p with draws·KL(mean, p) ≤ log(2/(1 - level)). For values that are nearly all 0 or 1 it is narrower
    than that of `mean_share`, and it needs no more than the mean.

    Examples
    --------
    >>> [round(x, 3) for x in chernoff_share(42 / 150, 150)]
    [0.28, 0.189, 0.386]
    >>> [round(x, 3) for x in chernoff_share(1.0, 150)]
    [1.0, 0.976, 1.0]
    """
    room = math.log(2.0 / (1.0 - level)) / draws
    ends = []
    for end in (0.0, 1.0):
        inside, outside = mean, end
        while abs(inside - outside) > 1e-12:
            middle = (inside + outside) / 2.0
            if _relative_entropy(mean, middle) <= room:
                inside = middle
            else:
                outside = middle
        ends.append(end if mean == end else outside)
    return Share(mean, ends[0], ends[1])


def _relative_entropy(p: float, q: float) -> float:
    """Return KL(p, q) of two coins, for q inside of (0, 1)."""
    first = p * math.log(p / q) if p > 0.0 else 0.0
    second = (1.0 - p) * math.log((1.0 - p) / (1.0 - q)) if p < 1.0 else 0.0
    return first + second


def clustered_share(share: float, error: float, draws: int, clusters: int) -> Share:
    """Return a share of draws that come in clusters, with the interval of Korn and Graubard (1998).

    It is that of Clopper and Pearson for as many independent draws as have the same standard error. Where all
    draws succeed, or none, the error is no estimate; then each cluster counts as one draw.

    Parameters
    ----------
    share, error : float
        The share, and its standard error between clusters.
    draws, clusters : int
        How many there are.

    Examples
    --------
    >>> [round(x, 2) for x in clustered_share(1.0, 0.0, 40, 4)]
    [1.0, 0.4, 1.0]
    >>> [round(x, 2) for x in clustered_share(0.5, 0.05, 1000, 200)]
    [0.5, 0.4, 0.6]
    """
    from scipy.special import betaincinv, stdtrit

    effective = float(clusters)
    if 0.0 < share < 1.0 and error > 0.0:
        student = stdtrit(max(draws - 1, 1), 0.975) / stdtrit(max(clusters - 1, 1), 0.975)
        effective = min(float(draws), share * (1.0 - share) / error**2 * float(student) ** 2)
    hits = share * effective
    low = float(betaincinv(hits, effective - hits + 1.0, 0.025)) if hits > 0.0 else 0.0
    high = float(betaincinv(hits + 1.0, effective - hits, 0.975)) if hits < effective else 1.0
    return Share(share, low, high)


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
