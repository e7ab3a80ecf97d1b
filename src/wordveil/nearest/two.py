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
_ROOM: Final = 64  # candidates per point, on average; a point for which there is no room is left to a table

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

    A compiled search rules out the rows that are certainly further away than two others, and the canonical
    distance decides among the rest. Points for which too many are left, and those of other searches, go to a
    float32 product of all rows.

    Parameters
    ----------
    search : NearestSearch
        A search over the rows.
    table : TableOfTwo
        A search over the same rows, for the points that are left.

    Examples
    --------
    >>> rows = np.array([[0.0, 0.0], [1.0, 1.0], [5.0, 5.0]])
    >>> result = TwoNearest(SingleSearch(rows), TableOfTwo(rows)).find(np.array([[0.9, 0.8], [4.0, 4.0]]))
    >>> result.first.tolist(), result.second.tolist()
    ([1, 2], [0, 1])
    """

    def __init__(self, search: NearestSearch, table: "TableOfTwo") -> None:
        self._search, self._table, self._rows = search, table, table._rows
        self._scratch = Scratch()

    def find(self, points: Floats) -> Nearest:
        """Return the two nearest rows of each of at most some thousand points."""
        result = Nearest(*(np.empty(len(points), kind) for kind in (np.int64, np.int64, float, float)))
        left = np.arange(len(points))
        if isinstance(self._search, CompiledSearch):
            blocks = [slice(start, start + _BLOCK) for start in range(0, len(points), _BLOCK)]
            parts = [self._screened(self._search, points, block, result) for block in blocks]
            left = np.concatenate([left[:0], *parts])
        if len(left):
            for target, values in zip(result, self._table.find(points[left]), strict=True):
                target[left] = values
        return result

    def _screened(self, search: CompiledSearch, points: Floats, block: slice, result: Nearest) -> Ints:
        """Write the results of the points that a compiled search answers; return which are left."""
        part, norms = search._checked(np.require(points[block], requirements=["C", "A"]))
        answers, room = np.empty(len(part), np.int64), _ROOM * len(part)
        pairs = self._scratch.array("which", room, np.int32), self._scratch.array("rows", room, np.int32)
        count, is_odd = search._search_compiled(part, norms, answers, pairs, 2)
        which, rows = (table[:count].astype(np.int64) for table in pairs)
        squares = _pair_squares(part, which, self._rows, rows)
        order = np.lexsort((rows, squares, which))
        which, rows, distances = which[order], rows[order], np.sqrt(squares[order])
        starts = np.flatnonzero(np.diff(which[:-1], prepend=-1))  # the first pair of each point
        starts = starts[(which[starts] == which[starts + 1]) & ~is_odd[which[starts]]]
        ids = block.start + which[starts]
        result.first[ids], result.second[ids] = rows[starts], rows[starts + 1]
        result.distance[ids], result.second_distance[ids] = distances[starts], distances[starts + 1]
        return np.setdiff1d(np.arange(block.start, block.start + len(part)), ids, assume_unique=True)


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
        squares = _pair_squares(points, which, self._rows, rows)
        order = np.lexsort((rows, squares, which))
        starts = np.searchsorted(which, lines)
        rows, distances = rows[order], np.sqrt(squares[order])
        return Nearest(rows[starts], rows[starts + 1], distances[starts], distances[starts + 1])


def _pair_squares(points: Floats, which: Ints, table: Floats, rows: Ints) -> Floats:
    """Return canonical distances. Their roots would not do to compare by: two of them can be equal."""
    squares = np.empty(len(which))
    if len(which):
        for pair, left, right in in_pairs(points, which, table, rows):
            squares[pair] = canonical_distances(left, right)
    return squares
