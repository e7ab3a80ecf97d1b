"""The contract: exactly the float64 argmin over the whole vocabulary, and the lowest index among equals.

One canonical distance decides everywhere. An implementation may screen the rows in any precision, as long as
its tolerance covers its own rounding and that of the canonical distance. The remaining candidates are decided
here.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import ClassVar, Final, TypeVar

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import ParameterError
from wordveil.nearest.threads import draw_in_slices, threads_here

__all__ = [
    "NearestSearch",
    "canonical_distances",
    "close_tolerance",
    "in_pairs",
    "power_of_two",
]

T = TypeVar("T", bound=np.floating)

# Numbers on each side of the pairs that are compared at a time: 512 KiB in float64, so both sides stay in the
# cache of the core.
_PAIR_NUMBERS: Final = 1 << 16
_ROUNDING: Final = 2.0**-52  # the spacing of float64 at 1
_TINY: Final = 2.0**-1000  # covers what underflows
_LARGEST_SCALE: Final = 2.0**200  # with it, no scaled norm of a point overflows
# A request with fewer points than a block is shared between threads if it has at least this many points per
# thread, and this many products of a coordinate in all. Starting a thread takes 0.1 ms; fewer points would
# not fill the registers of a compiled search.
_POINTS_OF_A_THREAD: Final = 32
_PRODUCTS_OF_A_THREAD: Final = 1 << 28


def canonical_distances(points: NDArray[np.float64], rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the squared Euclidean distance of each pair: the one rule for which row is nearer or equal.

    The sum runs over a contiguous row, so a pair gets the same bits in any batch. `points` is overwritten.
    """
    difference = np.subtract(points, rows, out=points)
    return np.asarray(np.square(difference, out=difference).sum(axis=1))


def power_of_two(norms: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, for each norm, the power of two that scales it to between ½ and 1; 1 for a norm of zero."""
    _, exponents = np.frexp(norms)
    return np.ldexp(1.0, np.where(norms > 0.0, -exponents, 0))


def close_tolerance(dim: int) -> float:
    """Return the relative difference below which two float64 distances may be in the wrong order.

    Distances that are closer than this must be compared by the canonical distance.
    """
    return 8.0 * (dim + 8) * 2.0**-53


def in_pairs(
    points: NDArray[T], which: NDArray[np.int64], rows: NDArray[T], candidates: NDArray[np.int64]
) -> Iterator[tuple[slice, NDArray[T], NDArray[T]]]:
    """Yield pairs of points and rows, a few at a time, in buffers that stay in the cache."""
    step = min(len(which), max(1, _PAIR_NUMBERS // points.shape[1]))
    left, right = np.empty((step, points.shape[1]), points.dtype), np.empty((step, rows.shape[1]), rows.dtype)
    for start in range(0, len(which), step):
        pair = slice(start, min(start + step, len(which)))
        count = pair.stop - start
        np.take(points, which[pair], axis=0, out=left[:count], mode="clip")
        np.take(rows, candidates[pair], axis=0, out=right[:count], mode="clip")
        yield pair, left[:count], right[:count]


class NearestSearch(ABC):
    """Finds the nearest of its rows. Safe to share between threads."""

    threaded: ClassVar = False
    """Whether callers should use several threads; otherwise the search uses several by itself."""

    block: ClassVar = 1536
    """How many points each call should have, for speed."""

    def __init__(self, rows: NDArray[np.float64]) -> None:
        if rows.ndim != 2 or min(rows.shape) < 1 or rows.dtype != np.float64:
            raise ParameterError("The rows to search must be a float64 table of at least one row.")
        if not np.isfinite(rows).all():
            raise ParameterError("The rows to search must hold finite numbers only.")
        self._rows = np.ascontiguousarray(rows)
        with np.errstate(over="ignore"):
            self._largest = float(np.sqrt(np.einsum("ij,ij->i", rows, rows).max()))
        if not np.isfinite(self._largest):
            raise ParameterError("The rows to search must hold finite numbers only, and their squares too.")

    @abstractmethod
    def _find(self, points: NDArray[np.float64], norms: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the index of the row nearest to each of the checked points; at most `block` if threaded."""

    def nearest(self, points: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the index of the row nearest to each point. The points may have any memory layout.

        Memory does not grow with the number of points, unless they must be copied to another layout.
        """
        search = self.prepare(len(points))
        size = search.block if search.threaded else max(1, len(points))
        return search._in_blocks(len(points), size, lambda block: points[block])

    def nearest_of(
        self, count: int, make_points: Callable[[slice], NDArray[np.float64]]
    ) -> NDArray[np.int64]:
        """Return the index of the row nearest to each of `count` points, which are made one block at a time.

        `make_points` is called for one block at a time, in order, from any thread. It should draw each kind
        of random number once per point, so the size of the blocks changes no answer.
        """
        search = self.prepare(count)
        return search._in_blocks(count, search.block, make_points)

    def _in_blocks(
        self, count: int, size: int, make_points: Callable[[slice], NDArray[np.float64]]
    ) -> NDArray[np.int64]:
        if self.threaded and count < 2 * size:
            size = self._share(count, size)
        if count <= size:
            return self._find(*self._checked(make_points(slice(0, count))))
        answers = np.empty(count, dtype=np.int64)

        def work(block: slice, points: NDArray[np.float64]) -> None:
            answers[block] = self._find(*self._checked(points))

        draw_in_slices(count, size, make_points, work, threads=None if self.threaded else 1)
        return answers

    def _share(self, count: int, size: int) -> int:
        """Return the size of the blocks of a small request: one per thread, if that is worth a thread."""
        threads = min(threads_here(), count // _POINTS_OF_A_THREAD)
        if threads < 2 or count * self._rows.size < _PRODUCTS_OF_A_THREAD:
            return size
        return min(size, -(-count // threads))

    def _checked(self, points: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return points in the memory layout that searches need, and their norms."""
        if points.ndim != 2 or points.shape[1] != self._rows.shape[1] or points.dtype != np.float64:
            raise ParameterError(
                f"The points to search for must be a float64 table of {self._rows.shape[1]} columns."
            )
        points = np.ascontiguousarray(points)
        norms = np.sqrt(np.einsum("ij,ij->i", points, points))
        if not np.isfinite(norms).all():
            raise ParameterError("The points to search for must be finite, and their squares too.")
        return points, norms

    def prepare(self, count: int) -> "NearestSearch":  # noqa: ARG002  # subclasses use it
        """Return the search to use for `count` points."""
        return self

    def _row_scale(self) -> float:
        """Return a power of two that scales the longest row to between ½ and 1, unless the row is tiny."""
        return min(float(power_of_two(np.array(self._largest))), _LARGEST_SCALE)

    def _canonical_slack(self, norms: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how far below the best score the row with the least canonical distance may be.

        A score is q·r - ‖r‖²/2. The canonical distance is D·(1 + θ) with |θ| ≤ (m + 4)·2⁻⁵³, where D is the
        exact squared distance and D ≤ (‖q‖ + max ‖r‖)².
        """
        return np.asarray((self._rows.shape[1] + 8) * _ROUNDING * (norms + self._largest) ** 2 + _TINY)

    def _decide(
        self, points: NDArray[np.float64], which: NDArray[np.int64], candidates: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        """Return the nearest candidate of each point, by the canonical distance.

        `which` and `candidates` are pairs of a point and a row, sorted by point, then by row. Each point has
        at least one pair.
        """
        if len(which) == len(points):
            return candidates
        distances = np.empty(len(which))
        for pair, left, right in in_pairs(points, which, self._rows, candidates):
            distances[pair] = canonical_distances(left, right)
        starts = np.searchsorted(which, np.arange(len(points)))
        least = np.minimum.reduceat(distances, starts)
        # The pairs of a point are sorted by row, so the first with the least distance has the lowest index.
        winners = np.flatnonzero(distances == least[which])
        first = np.searchsorted(which[winners], np.arange(len(points)))
        return np.asarray(candidates[winners[first]], dtype=np.int64)
