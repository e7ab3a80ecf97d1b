"""The words where a metric is Euclidean, and how far each is from its nearest other word."""

from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wordveil.embedding import Embedding
from wordveil.embedding.arrays import locked
from wordveil.mechanisms.places import places_of
from wordveil.metric import Metric
from wordveil.nearest import AutomaticSearch
from wordveil.nearest.search import canonical_distances, in_pairs
from wordveil.nearest.threads import in_slices
from wordveil.nearest.two import TableOfTwo, TwoNearest
from wordveil.shared import PerEmbedding

__all__ = ["White", "white_of"]

_BLOCK: Final = 2048  # words that a thread looks up at a time

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_whites: Final = PerEmbedding["White"](most=2)


class White:
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
        self.places = rows
        self.count = len(rows) - 1
        self._search = AutomaticSearch(rows[:-1])
        self._nearest_other = np.full(len(rows), np.nan)

    @cached_property
    def _table(self) -> TableOfTwo:
        return TableOfTwo(self.places[:-1])

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
        missing = np.unique(ids[np.isnan(self._nearest_other[ids])])
        if len(missing):
            self._measure(missing)
        return np.asarray(self._nearest_other[ids])

    def _measure(self, ids: Ints) -> None:
        # Without a lock, which a fork could inherit: threads that measure one word write the same number.
        two = TwoNearest(self._search.prepare(len(ids)), self._table)

        def measure(part: slice) -> None:
            block = ids[part]
            result = two.find(self.places[block])
            # The nearest word is the word itself, unless a word with a lower index has the same place.
            self._nearest_other[block] = np.where(
                result.first == block, result.second_distance, result.distance
            )

        in_slices(len(ids), _BLOCK, measure)


def white_of(embedding: Embedding, metric: Metric) -> White:
    """Return the rows of an embedding in a metric that was made from it; computed once."""

    def compute() -> White:
        places = places_of(embedding)
        return White(places if metric.lam == 0.0 else locked(places / np.sqrt(metric.scales)))

    return _whites.get(embedding, metric.fingerprint, compute)
