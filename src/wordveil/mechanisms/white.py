"""The words where a metric is Euclidean, and how far each is from its nearest other word."""

import threading
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wordveil.embedding import Embedding
from wordveil.embedding.arrays import locked
from wordveil.mechanisms.places import places_of
from wordveil.metric import Metric
from wordveil.nearest.search import canonical_distances, in_pairs
from wordveil.nearest.single import SingleSearch
from wordveil.shared import PerEmbedding

__all__ = ["White", "white_of"]

_BLOCK: Final = 64  # words at a time: a table of 64 × 33,752 float32 scores has 9 MB

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_whites: Final = PerEmbedding["White"](most=2)


class White(SingleSearch):
    """Rows A^{-1/2}φ(u), among which ‖·‖_RM is the Euclidean norm; row -1 is the centroid.

    Distances are canonical: equal for the same pair in every batch, on every machine.

    Examples
    --------
    >>> white = White(np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 1.0], [1.0, 1.0]]))
    >>> white.distances(np.array([0, -1]), np.array([1, 2])).tolist()
    [5.0, 1.0]
    >>> white.to_nearest_other(np.array([1, -1])).tolist()  # row -1 is no word
    [4.242640687119285, 1.0]
    """

    def __init__(self, rows: Floats) -> None:
        super().__init__(rows[:-1])
        self.places = rows
        self.count = len(rows) - 1
        self._nearest_other = np.full(len(rows), np.nan)
        self._lock = threading.Lock()

    def distances(self, ids: Ints, others: Ints) -> Floats:
        """Return the distance of each pair of rows."""
        result = np.empty(len(ids))
        if not len(ids):
            return result
        # `take` clips what is out of range, so the centroid is named by its row.
        ids, others = (np.where(table < 0, self.count, table) for table in (ids, others))
        for pair, left, right in in_pairs(self.places, ids, self.places, others):
            result[pair] = canonical_distances(left, right)
        return np.sqrt(result, out=result)

    def to_nearest_other(self, ids: Ints) -> Floats:
        """Return the distance from each row to the nearest word other than itself; computed once per word.

        It is the least canonical distance exactly, so no distance to another word is smaller.
        """
        with self._lock:
            missing = np.unique(ids[np.isnan(self._nearest_other[ids])])
        for start in range(0, len(missing), _BLOCK):
            block = missing[start : start + _BLOCK]
            self._nearest_other[block] = self._measured(block)
        return np.asarray(self._nearest_other[ids])

    def _measured(self, ids: Ints) -> Floats:
        points = self.places[ids]
        norms = np.sqrt(np.einsum("ij,ij->i", points, points))
        scores = np.empty((len(ids), self.count), np.float32)
        tolerance = self._fill_scores(points, norms, scores)
        words = np.flatnonzero(ids >= 0)
        scores[words, ids[words]] = -np.inf
        with np.errstate(over="ignore"):
            floor = (scores.max(axis=1).astype(np.float64) - tolerance).astype(np.float32)
        candidates = scores >= np.nextafter(floor, np.float32(-np.inf))[:, None]
        candidates[words, ids[words]] = False  # a floor of -inf would keep them
        return self.distances(ids, self._decide_candidates(points, candidates))


def white_of(embedding: Embedding, metric: Metric) -> White:
    """Return the rows of an embedding in a metric that was made from it; computed once."""

    def compute() -> White:
        places = places_of(embedding)
        return White(places if metric.lam == 0.0 else locked(places / np.sqrt(metric.scales)))

    return _whites.get(embedding, metric.fingerprint, compute)
