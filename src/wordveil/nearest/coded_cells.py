"""Fast and exact in some dimensions: boxes rule out nodes of 256 rows, 8-bit products most of the others."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import MachineError
from wordveil.nearest.cells import LANES, CellSearch
from wordveil.nearest.compiled import Pairs
from wordveil.nearest.kernels import has_codes, kernels
from wordveil.nearest.screened import CODE_LIMITS, round_up

__all__ = ["MOST_CODED_DIMS", "CodedCellSearch"]

_NODE: Final = LANES * LANES
MOST_CODED_DIMS: Final = 64
"""With more dimensions, the codes of a point would not stay in registers."""

_LEAST_STEP: Final = np.float32(2.0**-60)  # keeps divisions by the step of a node of equal rows finite

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]


class CodedCellSearch(CellSearch):
    """Boxes rule out most nodes, 8-bit products most leaves of the others; then as `CellSearch`.

    The rows of a node are rounded to integers times a step, relative to the middle of the node, and so is a
    point: r = r̂ + e, p = p̂ + f. The product p̂·r̂ is exact in integers, and |p·r - p̂·r̂| ≤ ‖f‖·‖r‖ +
    (‖p‖ + ‖f‖)·‖e‖. This bounds ‖p - r‖² = ‖p‖² - 2p·r + ‖r‖² from below. A leaf of 16 rows that are all
    certainly further away than the least distance found so far is skipped. Each coordinate of f is at most
    half a step, and what float32 adds is included in the bound.

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
        self._encode(places, is_padding)

    def _encode(self, places: Floats, is_padding: NDArray[np.bool_]) -> None:
        """Write the rows of each node as integers around its middle; all bounds are rounded up."""
        nodes, _, dims = places.shape
        limit = CODE_LIMITS[kernels.level()]
        places = np.where(is_padding[:, :, None], 0.0, places)
        counts = np.maximum(1, (~is_padding).sum(axis=1))
        middles = (places.sum(axis=1) / counts[:, None]).astype(np.float32)
        moved = np.where(is_padding[:, :, None], 0.0, places - middles[:, None, :].astype(np.float64))
        steps = np.maximum(np.abs(moved).max(axis=(1, 2)).astype(np.float32) / np.float32(limit), _LEAST_STEP)
        units = steps.astype(np.float64)[:, None, None]
        codes = np.clip(np.rint(moved / units), -limit, limit)
        lengths = np.linalg.norm(moved, axis=2)
        errors = np.linalg.norm(moved - codes * units, axis=2)
        self._about = np.stack(
            (steps, round_up(lengths.max(axis=1)), round_up(errors.max(axis=1))), axis=1
        ).astype(np.float32)
        halves = (lengths**2 / 2.0).astype(np.float32)
        self._halves = np.where(is_padding, np.float32(np.inf), halves)
        self._corrections = (-128 * codes.sum(axis=2)).astype(np.int32)
        padded = np.zeros((nodes, LANES, LANES, -(-dims // 4) * 4), np.int8)
        padded[..., :dims] = codes.reshape(nodes, LANES, LANES, dims)
        # By leaf, then four axes at a time, then row.
        by_four = padded.reshape(nodes, LANES, LANES, -1, 4).transpose(0, 1, 3, 2, 4)
        self._codes = np.ascontiguousarray(by_four)
        # A node of padding alone is further away than any other.
        centres = np.where(np.all(is_padding, axis=1, keepdims=True), np.float32(np.inf), middles)
        self._centres = np.ascontiguousarray(centres.reshape(-1, LANES, dims).transpose(0, 2, 1))
        self._middles = np.zeros((nodes, -(-dims // LANES) * LANES), np.float32)
        self._middles[:, :dims] = middles
        self._reach = float(np.abs(middles).max())

    def _call(
        self,
        points: Singles,
        moved: Floats,
        answers: NDArray[np.int64],
        pairs: Pairs,
        wanted: int,
    ) -> int:
        cells = self._cells
        return int(
            kernels.nearest_in_coded_cells(
                cells.dims, wanted, self._reach, cells.nodes, cells.places, cells.words, self._codes,
                self._corrections, self._halves, self._centres, self._middles, self._about, points, moved,
                answers, *pairs,
            )
        )  # fmt: skip
