"""The contract: exactly the float64 argmin over the whole vocabulary, the lowest index among equals.

One canonical distance decides everywhere. An implementation may screen in any precision, as long as its
tolerance covers its own rounding and that of the canonical distance: what the screen leaves is decided here.
"""

from abc import ABC, abstractmethod
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import ParameterError

__all__ = ["NearestSearch", "canonical_distances"]

_PAIR_NUMBERS: Final = 1 << 22
_MOST_PAIRS: Final = 1 << 21
_SCORE_BYTES: Final = 64 << 20
_ROUNDING: Final = 2.0**-52
_TINY: Final = 2.0**-1000


def canonical_distances(points: NDArray[np.float64], rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the squared Euclidean distances, pair by pair: the one rule of what is near and what is equal.

    The sum runs over a contiguous row, so a pair gets the same bits in whatever batch it stands.
    """
    difference = np.subtract(points, rows, order="C")
    return np.asarray(np.square(difference, out=difference).sum(axis=1))


class NearestSearch(ABC):
    """Finds the nearest of the rows that it was made with. Immutable, safe to share between threads."""

    _score_dtype: np.dtype[np.floating] = np.dtype(np.float64)

    def __init__(self, rows: NDArray[np.float64]) -> None:
        if rows.ndim != 2 or min(rows.shape) < 1 or rows.dtype != np.float64:
            raise ParameterError("The rows to search must be a float64 table of at least one row.")
        if not np.isfinite(rows).all():
            raise ParameterError("The rows to search must hold finite numbers only.")
        self._rows = np.ascontiguousarray(rows)
        self._largest = float(np.sqrt(np.einsum("ij,ij->i", rows, rows).max()))

    @abstractmethod
    def _fill_scores(
        self, points: NDArray[np.float64], norms: NDArray[np.float64], scores: NDArray[np.floating]
    ) -> NDArray[np.float64]:
        """Write approximate scores of all points and rows; return how far from the best the answer may be.

        The score of a point q and a row r is q·r - ‖r‖²/2, times any positive number of the point's own: the
        nearest row has the largest. The tolerance, one number a point in the same unit, must be at least
        twice the error of a score plus `_canonical_slack`.
        """

    def _canonical_slack(self, norms: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how far below the best score the row may be that the canonical distance prefers.

        That distance is D·(1 + θ) with |θ| ≤ (m + 4)·2⁻⁵³, and D ≤ (‖q‖ + max ‖r‖)².
        """
        return np.asarray((self._rows.shape[1] + 8) * _ROUNDING * (norms + self._largest) ** 2 + _TINY)

    def nearest(self, points: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the index of the nearest row of each point; memory does not grow with their number."""
        if points.ndim != 2 or points.shape[1] != self._rows.shape[1] or points.dtype != np.float64:
            raise ParameterError(
                f"The points to search for must be a float64 table of {self._rows.shape[1]} columns."
            )
        norms = np.sqrt(np.einsum("ij,ij->i", points, points))
        if not np.isfinite(norms).all():
            raise ParameterError("The points to search for must be finite, and their squares too.")
        answers = np.empty(len(points), dtype=np.int64)
        block = max(1, _SCORE_BYTES // (self._score_dtype.itemsize * len(self._rows)))
        scores = np.empty((min(block, len(points)), len(self._rows)), dtype=self._score_dtype)
        for start in range(0, len(points), block):
            part = slice(start, start + block)
            used = scores[: len(points[part])]
            answers[part] = self._nearest_of_block(points[part], norms[part], used)
        return answers

    def _nearest_of_block(
        self, points: NDArray[np.float64], norms: NDArray[np.float64], scores: NDArray[np.floating]
    ) -> NDArray[np.int64]:
        tolerance = self._fill_scores(points, norms, scores)
        floor = scores.max(axis=1).astype(np.float64) - tolerance
        # Rounding the floor downwards keeps everything that reaches it; below the range it keeps all.
        with np.errstate(over="ignore"):
            lowest = np.nextafter(floor.astype(scores.dtype), scores.dtype.type(-np.inf))
        return self._decide(points, scores >= lowest[:, None])

    def _decide(self, points: NDArray[np.float64], left: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Return, for each point, which of the rows that are left is canonically the nearest."""
        if len(points) > 1 and np.count_nonzero(left) > _MOST_PAIRS:
            half = len(points) // 2
            parts = self._decide(points[:half], left[:half]), self._decide(points[half:], left[half:])
            return np.concatenate(parts)
        which, candidates = np.divmod(np.flatnonzero(left), len(self._rows))
        distances = np.empty(len(which))
        step = max(1, _PAIR_NUMBERS // points.shape[1])
        for start in range(0, len(which), step):
            pair = slice(start, start + step)
            distances[pair] = canonical_distances(points[which[pair]], self._rows[candidates[pair]])
        begins = np.searchsorted(which, np.arange(len(points)))
        least = np.minimum.reduceat(distances, begins)
        # Pairs stand in the order of their indices, so the first that is least has the lowest index.
        winners = np.flatnonzero(distances == least[which])
        first = np.searchsorted(which[winners], np.arange(len(points)))
        return np.asarray(candidates[winners[first]], dtype=np.int64)
