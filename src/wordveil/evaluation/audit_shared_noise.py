"""Is any noise used twice in one call? Up to rounding, up to its sign, and however far apart the words are.

Rows that are equal up to rounding and sign have projections of nearly the same absolute value, so they are
neighbours once these are sorted. All coordinates of neighbours are compared. How many rows are that close by
chance is bounded by the largest density of the law, exp(-ε‖z‖_RM).
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln
from scipy.stats import binom, poisson

__all__ = ["CHANCE", "ROUNDING", "SharedNoise", "shared_noise"]

CHANCE: Final = 1e-9
"""How often more rows, or more radii, are equal by chance than may be."""

ROUNDING: Final = 2.0**-49
"""Of a coordinate, relative to the length of a point: a few sums and products of float64."""

_BLOCK: Final = 5000  # pairs whose coordinates are compared at a time: 12 MB in 300 dimensions
_SHARED: Final = 1e-3  # of the words, for which the power is stated

Floats = NDArray[np.float64]


class SharedNoise(NamedTuple):
    """How many rows are equal to others, how many may be by chance, and the power to find a few."""

    rows: int
    radii: int
    may_be: tuple[int, int]
    power: float

    @property
    def is_shared(self) -> bool:
        """Whether more rows, or more radii, are equal than chance explains."""
        return self.rows > self.may_be[0] or self.radii > self.may_be[1]

    @property
    def mistake(self) -> str:
        """The mistake for which the power is stated."""
        return (
            f"noise or its negative, or a radius, that one word in {1.0 / _SHARED:,.0f} shares with another"
        )


def shared_noise(noise: Floats, radii: Floats, matrix: Floats, epsilon: float, size: float) -> SharedNoise:
    """Return which rows of noise are equal up to rounding and sign, and which only have equal radii.

    `radii` are ‖z‖_RM, and `size` is the length of the longest vector or noise, which says what rounding is.

    Examples
    --------
    >>> noise = np.random.default_rng(1).laplace(size=(1000, 1))
    >>> shared_noise(noise, np.abs(noise[:, 0]), np.eye(1), 1.0, 10.0).is_shared
    False
    >>> noise[500:] = -noise[:500] * (1.0 + 1e-15)
    >>> shared_noise(noise, np.abs(noise[:, 0]), np.eye(1), 1.0, 10.0).rows
    500
    """
    count, dim = noise.shape
    axis = np.random.default_rng(98).normal(size=(dim,))
    axis /= np.linalg.norm(axis)
    off = ROUNDING * float(np.sqrt(dim)) * size
    least = float(np.linalg.eigvalsh(matrix)[0])
    off_radii = off * float(np.sqrt(dim / least))
    first, second = _neighbours(noise @ axis, 2.0 * off * np.sqrt(dim))
    equal = 0
    for start in range(0, len(first), _BLOCK):
        one, other = (noise[rows[start : start + _BLOCK]] for rows in (first, second))
        apart = np.minimum(np.abs(one - other).max(axis=1), np.abs(one + other).max(axis=1))
        equal += int((apart <= off).sum())
    equal_radii = len(_neighbours(radii, off_radii)[0])
    # All pairs, and both signs; the differences of m coordinates are in a cube of volume (2·off)^m.
    pairs = count * float(count)
    law = gammaln(dim / 2.0) - gammaln(dim) - np.log(2.0) - dim / 2.0 * np.log(np.pi)
    root = float(np.linalg.slogdet(matrix)[1]) / 2.0
    by_chance = pairs * np.exp(min(0.0, dim * np.log(2.0 * off * epsilon) - root + law))
    radii_by_chance = pairs * min(1.0, epsilon * off_radii)  # the density of a radius is at most ε
    may_be = tuple(int(poisson.isf(CHANCE, chance)) for chance in (by_chance, radii_by_chance))
    # Of a pair, another row is between the two with a small probability.
    between = min(1.0, 4.0 * count * epsilon * off * dim / np.sqrt(least))
    power = min(float(binom.sf(most, int(_SHARED * count), 1.0 - between)) for most in may_be)
    return SharedNoise(equal, equal_radii, (may_be[0], may_be[1]), power)


def _neighbours(values: Floats, off: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return pairs of places whose absolute values are next to each other, and equal up to `off`."""
    sizes = np.abs(values)
    order = np.argsort(sizes)
    close = np.flatnonzero(np.diff(sizes[order]) <= off)
    return order[close], order[close + 1]
