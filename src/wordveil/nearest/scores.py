"""Searches that compute the scores of all rows, one block of points at a time."""

from abc import abstractmethod
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wordveil.nearest.search import NearestSearch

__all__ = ["ScoreSearch"]

# Memory for the scores of a block: enough points per product for BLAS to be efficient even with a large
# vocabulary (about 500 in float32 with the default one), and small beside the vectors.
_SCORE_BYTES: Final = 64 << 20
# Pairs of a point and a candidate that are decided at a time; their indices take 32 MiB. Only vocabularies of
# (nearly) equal vectors have that many.
_MOST_PAIRS: Final = 1 << 21


class ScoreSearch(NearestSearch):
    """Decides among the rows whose approximate score is close enough to the best one."""

    _score_dtype: np.dtype[np.floating] = np.dtype(np.float64)

    @abstractmethod
    def _fill_scores(
        self, points: NDArray[np.float64], norms: NDArray[np.float64], scores: NDArray[np.floating]
    ) -> NDArray[np.float64]:
        """Write approximate scores of all points and rows; return how far below the best the answer may be.

        The score of a point q and a row r is q·r - ‖r‖²/2, times any positive factor that depends on the
        point only: the nearest row has the largest score. The tolerance, one number per point in the same
        unit, must be at least twice the error of a score plus `_canonical_slack`.
        """

    def _find(self, points: NDArray[np.float64], norms: NDArray[np.float64]) -> NDArray[np.int64]:
        answers = np.empty(len(points), dtype=np.int64)
        block = max(1, _SCORE_BYTES // (self._score_dtype.itemsize * len(self._rows)))
        scores = np.empty((min(block, len(points)), len(self._rows)), dtype=self._score_dtype)
        for start in range(0, len(points), block):
            part = slice(start, start + block)
            answers[part] = self._nearest_of_block(points[part], norms[part], scores[: len(points[part])])
        return answers

    def _nearest_of_block(
        self, points: NDArray[np.float64], norms: NDArray[np.float64], scores: NDArray[np.floating]
    ) -> NDArray[np.int64]:
        tolerance = self._fill_scores(points, norms, scores)
        floor = scores.max(axis=1).astype(np.float64) - tolerance
        # The floor is rounded down, so nothing that reaches it is lost; a floor of -inf keeps all rows.
        with np.errstate(over="ignore"):
            lowest = np.nextafter(floor.astype(scores.dtype), scores.dtype.type(-np.inf))
        return self._decide_candidates(points, scores >= lowest[:, None])

    def _decide_candidates(
        self, points: NDArray[np.float64], is_candidate: NDArray[np.bool_]
    ) -> NDArray[np.int64]:
        if len(points) > 1 and np.count_nonzero(is_candidate) > _MOST_PAIRS:
            half = len(points) // 2
            parts = (
                self._decide_candidates(points[:half], is_candidate[:half]),
                self._decide_candidates(points[half:], is_candidate[half:]),
            )
            return np.concatenate(parts)
        return self._decide(points, *np.divmod(np.flatnonzero(is_candidate), len(self._rows)))
