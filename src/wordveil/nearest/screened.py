"""Fast and exact: a product of small integers as a screen, with certified bounds of its rounding."""

from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import MachineError
from wordveil.nearest.integers import ZERO, IntegerProduct, SingleProduct, largest_code
from wordveil.nearest.kernels import STRIP, collect, resolve
from wordveil.nearest.search import NearestSearch, close_tolerance, power_of_two
from wordveil.nearest.threads import Scratch

__all__ = ["ScreenedSearch"]

# Points per product. Points of a batch share a step, so small batches have tighter bounds; large ones make
# better use of the product. Measured with the default vectors in one thread, 96 to 1,536 points take the same
# time, within the 10% that runs differ by.
_BATCH: Final = 384
# Points per block, which is the unit of work of a thread. They are sorted before they are cut into batches.
_BLOCK: Final = 4 * _BATCH
# Strips of columns per product. With a full batch its results take 6.5 MB in each thread. Measured as above,
# 16 to 528 strips take the same time, within 10%.
_MOST_STRIPS: Final = 66
# Rows are sorted by length, and then, in runs of that many, by their largest coordinate. Short runs keep the
# lengths in a strip similar; long runs keep its step small. Measured as above, 64 rows to all rows take the
# same time.
_RUN_ROWS: Final = 1024
# Pairs of a point and a row that a batch has room for: 4 MiB in each thread. A batch with more is halved.
_MOST_PAIRS: Final = 1 << 18
_UNIT: Final = 2.0**-24  # the unit roundoff of float32
_TINY: Final = 2.0**-100  # more than all that underflows can add up to
_LEAST_STEP: Final = 2.0**-60  # keeps divisions by the step of a zero vector finite
_SEED: Final = 20200202  # arbitrary: the rotation is public and changes no answer

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]


class _Batch(NamedTuple):
    """Some points, scaled by `shrink`, as integer multiples of `step`; `bounds` are their lengths and errors.

    `slack` is how far below the best score the answer may be, because the canonical distance is rounded too.
    """

    codes: NDArray[np.uint8]
    step: float
    bounds: Floats
    shrink: float
    slack: float


class ScreenedSearch(NearestSearch):
    """An 8-bit product screens the rows; the canonical float64 distance decides among the few left.

    Rows and points are rotated in the same way, so no coordinate is much larger than the others, and rounded
    to integers times a step: r' = ŵ + e and q' = q̂ + f. The product q̂·ŵ is exact in integers, and
    |q·r - q̂·ŵ| ≤ ‖q‖·‖e‖ + ‖f‖·‖ŵ‖ = E, with the largest ‖q‖ and ‖f‖ of a batch. Rows are grouped into strips
    of similar length, which share a step: the largest product of a strip bounds its scores q·r - ‖r‖²/2 from
    above, and the best score of all rows from below. A row whose upper bound is below that best score, minus
    the slack of the canonical distance, can't be the answer. Float64 distances decide among the other rows,
    and the canonical distance where those are too close.

    The bounds also include: the rotation R, which is off by ‖RRᵀ - I‖ and changes q·r by at most that share
    of ‖q‖·‖r‖; rotating a row in float64 and a point in float32, which moves them by at most √m·γ of their
    norm, with γ = (m + 4)u; and the rounding of the float64 sums of bounds and scores. Scaling is by powers
    of two, which is exact.

    Examples
    --------
    >>> search = ScreenedSearch(np.array([[0.0, 0.0], [1.0, 1.0]]))
    >>> search.nearest(np.array([[0.9, 0.8], [0.5, 0.5]]))
    array([1, 0])
    """

    threaded = True
    block = _BLOCK

    def __init__(self, rows: Floats) -> None:
        super().__init__(rows)
        dim = self._rows.shape[1]
        self._limit = largest_code(dim)
        if not self._limit:
            raise MachineError("This machine has no exact integer products. Hint: use another search.")
        self._scale = self._row_scale()
        rotation, defect = _rotation(dim)
        # The errors of rotating, relative to the norm: of a row in float64, of a point in float32.
        self._row_rotation_error = (dim + 8) ** 1.5 * 2.0**-51 + 2.0 * defect
        self._sum_rounding = (dim + 8) * 2.0**-48  # of the float64 sums of bounds and scores
        self._point_rotation_error = 1.01 * (dim + 4) ** 1.5 * _UNIT + 8.0 * _UNIT
        self._rotate = SingleProduct(rotation.astype(np.float32))
        self._halves = np.einsum("ij,ij->i", self._rows, self._rows) * (self._scale**2 / 2.0)
        self._order = self._similar_order(rotation)
        groups = len(self._order) // STRIP
        self._columns = np.empty((3, groups, STRIP))
        self._columns[2] = self._halves[self._order].reshape(groups, STRIP)
        self._steps = np.empty(groups)
        # Products of about the same width, without a small remainder.
        cuts = np.linspace(0, groups, -(-groups // _MOST_STRIPS) + 1).astype(np.int64)
        self._firsts = cuts[:-1].tolist()
        self._products = [
            self._product(slice(start, stop), rotation) for start, stop in pairwise(cuts.tolist())
        ]
        self._strips = np.vstack((self._columns.max(axis=2), self._columns[2].min(axis=1)))
        self._width = max(product.columns for product in self._products)
        self._scratch = Scratch()

    def _similar_order(self, rotation: Floats) -> Ints:
        """Return an order of the rows in which neighbours have similar lengths and largest coordinates.

        The last strip is padded with copies of its last row, which don't change its bounds.
        """
        count = len(self._rows)
        peaks = np.empty(count)
        for start in range(0, count, _BLOCK):
            part = slice(start, start + _BLOCK)
            peaks[part] = np.abs(self._rows[part] @ rotation).max(axis=1)
        order = np.argsort(-self._halves, kind="stable")
        order = order[np.lexsort((peaks[order], np.arange(count) // _RUN_ROWS))]
        return np.concatenate((order, np.repeat(order[-1:], -count % STRIP)))

    def _product(self, groups: slice, rotation: Floats) -> IntegerProduct:
        """Return the product with the codes of some strips; record their steps, errors and sizes."""
        rows = self._order.reshape(-1, STRIP)[groups]
        codes = np.empty((*rows.shape, len(rotation)), dtype=np.int8)
        for number, group in enumerate(rows):
            rotated = (self._rows[group] * self._scale) @ rotation
            step = max(float(np.abs(rotated).max()) / self._limit, _LEAST_STEP)
            codes[number] = np.clip(np.rint(rotated / step), -self._limit, self._limit)
            rounded = codes[number] * step
            lengths = np.sqrt(2.0 * self._halves[group])
            place = groups.start + number
            self._steps[place] = step
            rounding = np.linalg.norm(rotated - rounded, axis=1)
            self._columns[0, place] = rounding + self._row_rotation_error * lengths
            self._columns[1, place] = np.linalg.norm(rounded, axis=1)
        return IntegerProduct(np.ascontiguousarray(codes.reshape(rows.size, -1).T))

    def __getstate__(self) -> dict[str, Any]:
        return {"rows": self._rows}

    def __setstate__(self, state: dict[str, Any]) -> None:
        ScreenedSearch.__init__(self, state["rows"])

    def _find(self, points: Floats, norms: Floats) -> Ints:
        shrink = min(1.0, float(power_of_two(np.array(norms.max() * self._scale))))
        rotated = self._rotate.of((points * (self._scale * shrink)).astype(np.float32))
        # Points with similar largest coordinates can share a step at little loss.
        order = np.argsort(np.maximum(rotated.max(axis=1), -rotated.min(axis=1)), kind="stable")
        answers = np.empty(len(points), dtype=np.int64)
        for start in range(0, len(points), _BATCH):
            part = order[start : start + _BATCH]
            answers[part] = self._nearest_of_batch(points, part, norms[part], rotated[part], shrink)
        return answers

    def _nearest_of_batch(
        self, points: Floats, part: Ints, norms: Floats, rotated: Singles, shrink: float
    ) -> Ints:
        """Return the answers to `points[part]`, whose norms and rotated points are given."""
        batch = self._rounded(norms, rotated, shrink)
        pairs = self._candidates(batch)
        if pairs is None:
            halves = slice(len(part) // 2), slice(len(part) // 2, None)
            return np.concatenate(
                [
                    self._nearest_of_batch(points, part[half], norms[half], rotated[half], shrink)
                    for half in halves
                ]
            )
        which, candidates, reached = pairs
        answers = np.empty(len(part), dtype=np.int64)
        tolerance = close_tolerance(points.shape[1])
        close = resolve(
            points, part, self._rows, which, candidates, reached, norms, shrink * self._scale**2,
            4.0 * batch.slack, tolerance, answers,
        )  # fmt: skip
        if len(close):
            close_pairs = np.flatnonzero(np.isin(which, close))
            order = close_pairs[np.lexsort((candidates[close_pairs], which[close_pairs]))]
            renumbered = np.searchsorted(close, which[order])
            answers[close] = self._decide(points[part[close]], renumbered, candidates[order])
        return answers

    def _rounded(self, norms: Floats, rotated: Singles, shrink: float) -> _Batch:
        """Return points as integers, with bounds that are rounded up."""
        peak = max(float(rotated.max()), -float(rotated.min()))
        step = np.float32(max(peak / (ZERO - 1), _LEAST_STEP))
        codes = rotated / step
        np.rint(codes, out=codes)
        difference = rotated - codes * step
        codes += ZERO
        lengths = norms * (self._scale * shrink * (1.0 + self._row_rotation_error))
        # In float64: the errors of a short point among long ones are tiny, and their squares would underflow.
        errors = np.sqrt(np.einsum("ij,ij->i", difference, difference, dtype=np.float64, casting="safe"))
        errors += self._point_rotation_error * lengths + _TINY
        with np.errstate(over="ignore"):  # an infinite slack keeps every row, which is correct
            slack = float(self._canonical_slack(norms.max())) * shrink * self._scale**2
        return _Batch(codes.astype(np.uint8), float(step), np.stack((lengths, errors)), shrink, slack)

    def _candidates(self, batch: _Batch) -> tuple[NDArray[np.int32], Ints, Floats] | None:
        """Return the pairs of a point and a row that may be the answer, and the upper bounds of their scores.

        The result is None if there are more pairs than `_MOST_PAIRS`.
        """
        count = len(batch.codes)
        most = max(_MOST_PAIRS, len(self._order) if count == 1 else 0)
        which = self._scratch.array("which", most, np.int32)
        places = self._scratch.array("places", most, np.int32)
        reached = self._scratch.array("reached", most, np.float64)
        memory = self._scratch.array("products", count * self._width, np.int32)
        extra = self._sum_rounding * (float(batch.bounds.max()) + batch.shrink) + batch.slack + _TINY
        scalars = np.array([batch.step, batch.shrink, extra])
        floors = np.full(count, -np.inf)
        pair_count = 0
        for first, product in zip(self._firsts, self._products, strict=True):
            products = memory[: count * product.columns].reshape(count, -1, STRIP)
            product.fill(batch.codes, products)
            pair_count = collect(
                products, first, self._steps, self._columns, self._strips, batch.bounds, scalars, floors,
                pair_count, which, places, reached,
            )  # fmt: skip
            if pair_count < 0:
                return None
        # The floors have risen since the first pairs were collected; and the padding is no row.
        is_candidate = reached[:pair_count] >= floors[which[:pair_count]]
        is_candidate &= places[:pair_count] < len(self._rows)
        kept = np.flatnonzero(is_candidate)
        return which[kept], self._order[places[kept]], reached[kept]


def _rotation(dim: int) -> tuple[Floats, float]:
    """Return a rotation, the same for every search in `dim` dimensions, and a bound of its error."""
    normals = np.random.default_rng([_SEED, dim]).standard_normal((dim, dim))
    rotation, _ = np.linalg.qr(normals)
    defect = float(np.linalg.norm(rotation @ rotation.T - np.eye(dim)))
    return rotation, defect + dim**1.5 * 2.0**-52
