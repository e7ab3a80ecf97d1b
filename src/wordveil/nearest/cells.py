"""Fast and exact in few dimensions: words in boxes, most of which a point need not look into."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import MachineError
from wordveil.kernels import kernels
from wordveil.nearest.compiled import CompiledSearch, Pairs

__all__ = ["LANES", "CellSearch", "Cells"]

LANES: Final = 16
"""Words to a leaf, leaves to a node, nodes to a group: as many as a wide register holds."""

_LEAF: Final = LANES
_NODE: Final = LANES * LANES
_GROUP: Final = LANES**3
# Points further away than this, in units of the longest row, are left to another search: the squares of their
# coordinates would leave float32.
_FAR: Final = 2.0**40
_UNIT: Final = 1.01 * 2.0**-24  # the unit roundoff of float32, and what computing a norm loses
# Squares of differences below 2⁻⁷⁵ underflow in float32. This is more than all of them add up to, and far
# less than a row of length 1 is rounded by.
_TINY: Final = 2.0**-60

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Singles = NDArray[np.float32]


class Cells:
    """Rows in boxes of 16, 256 and 4,096, stored as the compiled loops read them.

    Rows are halved along the axis on which they vary most, again and again, at multiples of 16. So each leaf
    is full, apart from the last, and its box is small.

    Parameters
    ----------
    rows : array of float32
    """

    def __init__(self, rows: Singles) -> None:
        count, dims = rows.shape
        order = _in_boxes(rows)
        groups = -(-count // _GROUP)
        self.dims = dims
        self.words = np.full(groups * _GROUP, -1, np.int32)
        self.words[:count] = order
        padded = np.full((groups * _GROUP, dims), np.inf, np.float32)
        padded[:count] = rows[order]
        self.places = np.ascontiguousarray(padded.reshape(-1, _LEAF, dims).transpose(0, 2, 1))
        self.leaves = self._boxes(padded, _LEAF)
        self.nodes = self._boxes(padded, _NODE)

    def _boxes(self, padded: Singles, size: int) -> Singles:
        """Return the ends of the boxes of `size` rows, in groups of 16: lower and upper by axis."""
        parts = padded.reshape(-1, size, self.dims)
        lower = parts.min(axis=1)
        upper = np.where(np.isinf(parts), -np.inf, parts).max(axis=1)  # padding is in no box
        ends = np.stack((lower, upper), axis=1).reshape(-1, LANES, 2, self.dims)
        return np.ascontiguousarray(ends.transpose(0, 3, 2, 1), dtype=np.float32)


class CellSearch(CompiledSearch):
    """Boxes rule out most rows, float32 distances most others; the canonical distance decides.

    A box bounds the distances of its rows from below. With the least distance found so far, everything that
    is certainly further away is skipped. What is certain includes all rounding: moving a point and a row to
    float32 changes their distance by at most u·(‖q‖ + ‖r‖) with u = 2⁻²⁴, and a sum of m squares is off by
    at most (m + 8)·2⁻²³ of itself, which is also more than the canonical distance is off by. Scaling is by a
    power of two, which is exact.

    Examples
    --------
    >>> from wordveil.kernels import kernels
    >>> search = CellSearch(np.array([[0.0, 0.0], [1.0, 1.0]])) if kernels else None
    >>> search is None or search.nearest(np.array([[0.9, 0.8], [0.5, 0.5]])).tolist() == [1, 0]
    True
    """

    block = 2048  # more points per call than other searches take: here a call costs as much as some points

    def __init__(self, rows: Floats) -> None:
        super().__init__(rows)
        if kernels is None:
            raise MachineError("The compiled loops are not on this machine. Hint: use another search.")
        self._cells = Cells((self._rows * self._scale).astype(np.float32))
        self._longest = self._largest * self._scale

    def _search_compiled(
        self, points: Floats, norms: Floats, answers: Ints, pairs: Pairs, wanted: int = 1
    ) -> tuple[int, NDArray[np.bool_]]:
        lengths = norms * self._scale
        is_far = lengths > _FAR
        singles = np.empty(points.shape, np.float32)
        if is_far.any():
            lengths[is_far] = 0.0
            points = np.where(is_far[:, None], 0.0, points)
        np.multiply(points, self._scale, out=singles, casting="same_kind")
        # The loops keep what is at most twice this further away than the nearest row.
        moved = _UNIT * (lengths + self._longest) + _TINY
        return self._call(singles, moved, answers, pairs, wanted), is_far

    def _call(self, points: Singles, moved: Floats, answers: Ints, pairs: Pairs, wanted: int) -> int:
        """Run the compiled loops; return the number of pairs."""
        cells = self._cells
        return int(
            kernels.nearest_in_cells(
                cells.dims, wanted, cells.nodes, cells.leaves, cells.places, cells.words, points, moved,
                answers, *pairs,
            )
        )  # fmt: skip


def _in_boxes(rows: Singles) -> Ints:
    """Return an order of the rows in which each 16, 256 and 4,096 lie close together."""
    order = np.arange(len(rows))
    parts = [(0, len(rows))]
    while parts:
        start, stop = parts.pop()
        size = next((size for size in (_GROUP, _NODE, _LEAF) if stop - start > size), 0)
        if not size:
            continue
        ids = order[start:stop]
        keys = _along(rows[ids])
        boxes = -(-len(ids) // size)
        middle = -(-boxes // 2) * size
        order[start:stop] = ids[np.argpartition(keys, middle)]
        parts += [(start, start + middle), (start + middle, stop)]
    return order


def _along(rows: Singles) -> Singles:
    """Return the coordinates of rows along the axis on which they vary most."""
    return np.asarray(rows[:, rows.var(axis=0).argmax()])
