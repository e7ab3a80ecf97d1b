"""Searches that write down the scores of all rows, a block of points at a time."""

from abc import abstractmethod
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wordveil.nearest.search import NearestSearch

__all__ = ["ScoreSearch"]

_SCORE_BYTES: Final = 64 << 20
_MOST_PAIRS: Final = 1 << 21


class ScoreSearch(NearestSearch):
    """Decides among the rows whose approximate score is near enough to the best."""

    _score_dtype: np.dtype[np.floating] = np.dtype(np.float64)

    @abstractmethod
    def _fill_scores(
        self, points: NDArray[np.float64], norms: NDArray[np.float64], scores: NDArray[np.floating]
    ) -> NDArray[np.float64]:
        """Write approximate scores of all points and rows; return how far from the best the answer may be.

        The score of a point q and a row r is q·r - ‖r‖²/2, times any positive number of the point's own: the
        nearest row has the largest. The tolerance, one number a point in the same unit, must be at least
        twice the error of a score plus `_canonical_slack`.
        """

    def _find(self, points: NDArray[np.float64], norms: NDArray[np.float64]) -> NDArray[np.int64]:
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
        return self._decide_left(points, scores >= lowest[:, None])

    def _decide_left(self, points: NDArray[np.float64], left: NDArray[np.bool_]) -> NDArray[np.int64]:
        if len(points) > 1 and np.count_nonzero(left) > _MOST_PAIRS:
            half = len(points) // 2
            parts = (
                self._decide_left(points[:half], left[:half]),
                self._decide_left(points[half:], left[half:]),
            )
            return np.concatenate(parts)
        return self._decide(points, *np.divmod(np.flatnonzero(left), len(self._rows)))
