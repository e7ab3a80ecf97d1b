"""Fast and exact in some dimensions: boxes rule out nodes of 256 rows, 8-bit products most of the others."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import MachineError
from wordveil.kernels import has_codes, kernels
from wordveil.nearest.cells import LANES, CellSearch
from wordveil.nearest.compiled import Pairs
from wordveil.nearest.screened import CODE_LIMITS, round_up

__all__ = ["MOST_CODED_DIMS", "CodedCellSearch"]

_NODE: Final = LANES * LANES
MOST_CODED_DIMS: Final = 64
"""With more dimensions, the codes of a point would not stay in registers."""

# The codes of points reach this far beyond the largest coordinates of all rows but a few: what is further out
# is cut, which makes its bound weaker and not wrong.
_REACH: Final = 1.2
_MOST_ROWS: Final = 0.999
_POINT_LIMIT: Final = 127.0  # of a signed byte
_LARGEST: Final = 2.0**29  # larger sums are replaced, so that int32 can't overflow
_PADDING: Final = 2.0**31 - 2.0**23  # larger than any limit, whatever product is added

_LEAST_STEP: Final = np.float32(2.0**-60)  # keeps divisions by the step of a node of equal rows finite

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]


class CodedCellSearch(CellSearch):
    """Boxes rule out most nodes, 8-bit products most leaves of the others; then as `CellSearch`.

    The rows r of a node are rounded to integers times a step, relative to its middle m: r - m = r̂ + e. A
    point is rounded once, to integers times a step of its own: p = p̂ + f. Then ½‖p - r‖² - ½‖p - m‖² is
    ½‖r - m‖² + m·r̂ - p̂·r̂ - f·r̂ - (p - m)·e. The product p̂·r̂ is exact in integers, the terms before it are
    rounded down to integers, and the ones behind it are at most ‖f‖·‖r̂‖ + ‖p - m‖·‖e‖. A leaf of 16 rows
    that are all certainly further away than the least distance found so far is skipped. What float32 adds is
    included in the bound.

    Examples
    --------
    >>> search = CodedCellSearch(np.array([[0.0, 0.0], [1.0, 1.0]])) if has_codes() else None
    >>> search is None or search.nearest(np.array([[0.9, 0.8], [0.5, 0.5]])).tolist() == [1, 0]
    True
    """

    def __init__(self, rows: Floats) -> None:
        super().__init__(rows)
        if not has_codes() or rows.shape[1] > MOST_CODED_DIMS:
            raise MachineError("This machine has no exact integer products. Hint: use another search.")
        dims, cells = rows.shape[1], self._cells
        # By node, row and axis, as they were before they were sorted into lanes.
        places = cells.places.transpose(0, 2, 1).reshape(-1, _NODE, dims).astype(np.float64)
        is_padding = cells.words.reshape(-1, _NODE) < 0
        largest = np.abs(places[~is_padding]).max(axis=1)
        reach = _REACH * np.quantile(largest, _MOST_ROWS)
        self._step = float(np.maximum(np.float32(reach / _POINT_LIMIT), _LEAST_STEP))
        self._encode(places, is_padding)

    def _encode(self, places: Floats, is_padding: NDArray[np.bool_]) -> None:
        """Write the rows of each node as integers around its middle; all bounds are rounded up."""
        nodes, _, dims = places.shape
        limit = CODE_LIMITS[kernels.level()]
        places = np.where(is_padding[:, :, None], 0.0, places)
        counts = np.maximum(1, (~is_padding).sum(axis=1))
        middles = (places.sum(axis=1) / counts[:, None]).astype(np.float32)
        exact = middles.astype(np.float64)[:, None, :]
        moved = np.where(is_padding[:, :, None], 0.0, places - exact)
        steps = np.maximum(np.abs(moved).max(axis=(1, 2)).astype(np.float32) / np.float32(limit), _LEAST_STEP)
        units = steps.astype(np.float64)[:, None, None]
        codes = np.clip(np.rint(moved / units), -limit, limit)
        rounded = codes * units
        lengths = np.linalg.norm(rounded, axis=2).max(axis=1)
        errors = np.linalg.norm(moved - rounded, axis=2).max(axis=1)
        products = units[:, :, 0] * self._step
        self._about = np.stack((1.0 / products[:, 0], round_up(lengths), round_up(errors)), axis=1).astype(
            np.float32
        )
        integers = np.floor((np.square(moved).sum(axis=2) / 2.0 + (exact * rounded).sum(axis=2)) / products)
        # Too large ones are replaced by one that rules out nothing.
        integers = np.where(
            np.abs(integers) > _LARGEST, -(2.0**30), integers - 1.0 + 128.0 * codes.sum(axis=2)
        )
        self._corrections = np.where(is_padding, _PADDING, integers).astype(np.int32)
        padded = np.zeros((nodes, LANES, LANES, -(-dims // 4) * 4), np.int8)
        padded[..., :dims] = -codes.reshape(nodes, LANES, LANES, dims)
        # By leaf, then four axes at a time, then row.
        by_four = padded.reshape(nodes, LANES, LANES, -1, 4).transpose(0, 1, 3, 2, 4)
        self._codes = np.ascontiguousarray(by_four)
        # A node of padding alone is further away than any other.
        centres = np.where(np.all(is_padding, axis=1, keepdims=True), np.float32(np.inf), middles)
        self._centres = np.ascontiguousarray(centres.reshape(-1, LANES, dims).transpose(0, 2, 1))

    def _call(self, points: Singles, moved: Floats, answers: Ints, pairs: Pairs, wanted: int) -> int:
        cells = self._cells
        return int(
            kernels.nearest_in_coded_cells(
                cells.dims, wanted, self._step, cells.nodes, cells.leaves, cells.places, cells.words,
                self._codes, self._corrections, self._centres, self._about, points, moved, answers, *pairs,
            )
        )  # fmt: skip
