"""The nearest row of a point and the second nearest, by the same canonical distance."""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.nearest.compiled import CompiledSearch
from wordveil.nearest.search import NearestSearch, canonical_distances, in_pairs
from wordveil.nearest.single import SingleSearch
from wordveil.nearest.threads import Scratch

__all__ = ["Nearest", "TableOfTwo", "TwoNearest"]

_BLOCK: Final = 512  # points at a time
_TABLE_ROWS: Final = 64  # points of a table of scores: 9 MB with the default vocabulary
_ROOM: Final = 64  # candidates per point, on average
_WIDER: Final = 3.0  # times the first gap, for points with a single candidate in few dimensions
_SHARE: Final = 0.85  # of points whose second row is to be found with the first gap

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


class Nearest(NamedTuple):
    """The two rows nearest to each point, and their distances; of equals, the lowest index comes first."""

    first: Ints
    second: Ints
    distance: Floats
    second_distance: Floats


class TwoNearest:
    """Finds the two nearest rows. Safe to share between threads.

    A compiled search keeps all rows that are at most a gap further away than the nearest. If there are two of
    them, and the second is within the gap for certain, no other row can be nearer than these. Other points
    are left to a wider gap, and then to a float32 product of all rows, with a tolerance as for one row.

    Parameters
    ----------
    search : NearestSearch
        A search over the rows.
    table : TableOfTwo
        A search over the same rows, for the points that are left.
    examples : array of float64
        Points as they will be searched for, which choose the gap. They must be public.

    Examples
    --------
    >>> rows = np.array([[0.0, 0.0], [1.0, 1.0], [5.0, 5.0]])
    >>> two = TwoNearest(SingleSearch(rows), TableOfTwo(rows), rows)
    >>> result = two.find(np.array([[0.9, 0.8], [4.0, 4.0]]))
    >>> result.first.tolist(), result.second.tolist()
    ([1, 2], [0, 1])
    """

    def __init__(self, search: NearestSearch, table: "TableOfTwo", examples: Floats) -> None:
        self._search, self._table, self._rows = search, table, table._rows
        self._scratch = Scratch()
        self._gaps: tuple[float, ...] = ()
        if isinstance(search, CompiledSearch):
            result = self._table.find(examples)
            excess = search.excess(result.distance, result.second_distance)
            gap = float(np.quantile(excess, _SHARE))
            # In many dimensions, a wider gap would keep hundreds of rows.
            wider = (_WIDER * gap,) if search.block > _BLOCK else ()
            self._gaps = (gap, *wider) if gap > 0.0 else ()

    def find(self, points: Floats) -> Nearest:
        """Return the two nearest rows of each of at most some thousand points."""
        result = Nearest(*(np.empty(len(points), kind) for kind in (np.int64, np.int64, float, float)))
        left = np.arange(len(points))
        for gap in self._gaps:
            blocks = [left[start : start + _BLOCK] for start in range(0, len(left), _BLOCK)]
            parts = [self._within(points, block, gap, result) for block in blocks]
            left = np.concatenate([left[:0], *parts])
        if len(left):
            for target, values in zip(result, self._table.find(points[left]), strict=True):
                target[left] = values
        return result

    def _within(self, points: Floats, ids: Ints, gap: float, result: Nearest) -> Ints:
        """Write the results of the points whose two nearest rows are within a gap; return the others."""
        search = self._search
        assert isinstance(search, CompiledSearch)
        block = np.require(points[ids], requirements=["C", "A"])
        norms = np.sqrt(np.einsum("ij,ij->i", block, block))
        answers, room = np.empty(len(ids), np.int64), _ROOM * len(ids)
        pairs = self._scratch.array("which", room, np.int32), self._scratch.array("rows", room, np.int32)
        count, is_odd = search._search_compiled(block, norms, answers, pairs, gap)
        which, rows = (table[:count].astype(np.int64) for table in pairs)
        distances = _pair_distances(block, which, self._rows, rows)
        order = np.lexsort((rows, distances, which))
        which, rows, distances = which[order], rows[order], distances[order]
        starts = np.flatnonzero(np.diff(which, prepend=-1))
        starts = starts[starts + 1 < count]
        starts = starts[which[starts] == which[starts + 1]]
        # Rounding of the difference is covered by a little less than the gap.
        is_certain = search.excess(distances[starts], distances[starts + 1]) <= gap * (1.0 - 1e-9)
        starts = starts[is_certain & ~is_odd[which[starts]]]
        found = ids[which[starts]]
        result.first[found], result.second[found] = rows[starts], rows[starts + 1]
        result.distance[found], result.second_distance[found] = distances[starts], distances[starts + 1]
        return np.setdiff1d(ids, found, assume_unique=True)


class TableOfTwo(SingleSearch):
    """The two nearest of at least two rows, by a float32 product of all rows.

    The canonical distance decides among those whose scores are close to the second best.
    """

    def find(self, points: Floats) -> Nearest:
        """Return the two nearest rows of each point."""
        parts = [self._block(points[at : at + _TABLE_ROWS]) for at in range(0, len(points), _TABLE_ROWS)]
        return Nearest(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))

    def _block(self, points: Floats) -> Nearest:
        points, norms = self._checked(points)
        scores = np.empty((len(points), len(self._rows)), np.float32)
        tolerance = self._fill_scores(points, norms, scores)
        lines = np.arange(len(points))
        best = scores.argmax(axis=1)
        highest = scores[lines, best]
        scores[lines, best] = -np.inf
        second = scores.max(axis=1)
        scores[lines, best] = highest
        with np.errstate(over="ignore"):
            floor = (second.astype(np.float64) - tolerance).astype(np.float32)
        which, rows = np.nonzero(scores >= np.nextafter(floor, np.float32(-np.inf))[:, None])
        distances = _pair_distances(points, which, self._rows, rows)
        order = np.lexsort((rows, distances, which))
        starts = np.searchsorted(which, lines)
        rows, distances = rows[order], distances[order]
        return Nearest(rows[starts], rows[starts + 1], distances[starts], distances[starts + 1])


def _pair_distances(points: Floats, which: Ints, table: Floats, rows: Ints) -> Floats:
    distances = np.empty(len(which))
    if not len(which):
        return distances
    for pair, left, right in in_pairs(points, which, table, rows):
        distances[pair] = canonical_distances(left, right)
    return np.sqrt(distances, out=distances)
