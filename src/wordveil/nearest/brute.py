"""The reference: a float64 product, then the canonical distance for every row within its rounding error."""

import numpy as np
from numpy.typing import NDArray

from wordveil.nearest.scores import ScoreSearch

__all__ = ["BruteSearch"]


class BruteSearch(ScoreSearch):
    """A simple and slow search that every other search must agree with.

    Examples
    --------
    >>> search = BruteSearch(np.array([[0.0, 0.0], [1.0, 1.0]]))
    >>> search.nearest(np.array([[0.9, 0.8], [0.5, 0.5]]))
    array([1, 0])
    """

    def __init__(self, rows: NDArray[np.float64]) -> None:
        super().__init__(rows)
        self._halves = np.einsum("ij,ij->i", self._rows, self._rows) / 2.0

    def _fill_scores(
        self, points: NDArray[np.float64], norms: NDArray[np.float64], scores: NDArray[np.floating]
    ) -> NDArray[np.float64]:
        np.matmul(points, self._rows.T, out=scores)
        scores -= self._halves
        # In any order, a sum of m products is off by at most m·2^-53 times the product of the norms.
        error = (points.shape[1] + 8) * 2.0**-53 * self._largest * (norms + self._largest)
        return np.asarray(2.0 * error + self._canonical_slack(norms))
