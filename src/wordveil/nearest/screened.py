"""Fast and certified: a product of small integers as a screen, whose bound includes its own rounding."""

import threading
from itertools import pairwise
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import MachineError
from wordveil.nearest.integers import ZERO, IntegerProduct, SingleProduct, largest_code
from wordveil.nearest.kernels import STRIP, collect, resolve
from wordveil.nearest.search import NearestSearch, close_tolerance, power_of_two
from wordveil.nearest.threads import Scratch, in_threads

__all__ = ["ScreenedSearch"]

_BATCH: Final = 384
_BLOCK: Final = 4 * _BATCH
_MOST_STRIPS: Final = 66
_ALIKE: Final = 1024
_MOST_PAIRS: Final = 1 << 18
_UNIT: Final = 2.0**-24
_TINY: Final = 2.0**-100
_LEAST_STEP: Final = 2.0**-60
_SEED: Final = 20200202  # any: the rotation is public, and changes no answer

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]


class _Batch(NamedTuple):
    """Some points, scaled by `shrink`, as integers of `step`; `bounds` are their lengths and errors.

    `slack` is how far below the best score the answer may be, since the canonical distance is rounded too.
    """

    codes: NDArray[np.uint8]
    step: float
    bounds: Floats
    shrink: float
    slack: float


class ScreenedSearch(NearestSearch):
    """An 8-bit product screens; the canonical float64 distance decides among the few that are left.

    Rows and points are rotated alike, so that no coordinate is much larger than others, and rounded to
    integers times a step: r' = ŵ + e and q' = q̂ + f. The product q̂·ŵ is exact in integers, and
    |q·r - q̂·ŵ| ≤ ‖q‖·‖e‖ + ‖f‖·‖ŵ‖ = E, with the largest ‖q‖ and ‖f‖ of a batch. Rows stand in groups of
    about one length, which share a step: the largest product of a group bounds its scores q·r - ‖r‖²/2 from
    above, and the best score of all from below. Rows whose upper bound is below that, less the slack of the
    canonical distance, can't be the answer; the distances of the others tell, unless they are too close.

    What else is in the bounds: the rotation R is off by ‖RRᵀ - I‖, which moves q·r by at most that much of
    ‖q‖·‖r‖; turning a row in float64 and a point in float32 moves them by at most √m·γ of their norm, with
    γ = (m + 4)u; and the float64 sums of bounds and scores are rounded. Scaling is by powers of two.

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
        # What turning costs, of the norm: a row in float64, a point in float32.
        self._row_turn = (dim + 8) ** 1.5 * 2.0**-51 + 2.0 * defect
        self._sum_rounding = (dim + 8) * 2.0**-48  # of the float64 sums of bounds and scores
        self._point_turn = 1.01 * (dim + 4) ** 1.5 * _UNIT + 8.0 * _UNIT
        self._turn = SingleProduct(rotation.astype(np.float32))
        self._halves = np.einsum("ij,ij->i", self._rows, self._rows) * (self._scale**2 / 2.0)
        self._order = self._alike(rotation)
        groups = len(self._order) // STRIP
        self._columns = np.empty((3, groups, STRIP))
        self._columns[2] = self._halves[self._order].reshape(groups, STRIP)
        self._steps = np.empty(groups)
        # Of about one width, so that none is a remainder.
        cuts = np.linspace(0, groups, -(-groups // _MOST_STRIPS) + 1).astype(np.int64)
        self._firsts = cuts[:-1].tolist()
        self._products = [
            self._product(slice(start, stop), rotation) for start, stop in pairwise(cuts.tolist())
        ]
        self._strips = np.vstack((self._columns.max(axis=2), self._columns[2].min(axis=1)))
        self._width = max(product.columns for product in self._products)
        self._scratch = Scratch()

    def _alike(self, rotation: Floats) -> Ints:
        """Return the rows in an order in which neighbours are of about one length and one largest coordinate.

        The last group is filled up with a row of its own, which bounds nothing wrongly.
        """
        count = len(self._rows)
        peaks = np.empty(count)
        for start in range(0, count, _BLOCK):
            part = slice(start, start + _BLOCK)
            peaks[part] = np.abs(self._rows[part] @ rotation).max(axis=1)
        order = np.argsort(-self._halves, kind="stable")
        order = order[np.lexsort((peaks[order], np.arange(count) // _ALIKE))]
        return np.concatenate((order, np.repeat(order[-1:], -count % STRIP)))

    def _product(self, groups: slice, rotation: Floats) -> IntegerProduct:
        """Return the product with the codes of some groups; note their steps, errors and sizes."""
        rows = self._order.reshape(-1, STRIP)[groups]
        codes = np.empty((*rows.shape, len(rotation)), dtype=np.int8)
        for number, group in enumerate(rows):
            turned = (self._rows[group] * self._scale) @ rotation
            step = max(float(np.abs(turned).max()) / self._limit, _LEAST_STEP)
            codes[number] = np.clip(np.rint(turned / step), -self._limit, self._limit)
            rounded = codes[number] * step
            lengths = np.sqrt(2.0 * self._halves[group])
            place = groups.start + number
            self._steps[place] = step
            self._columns[0, place] = np.linalg.norm(turned - rounded, axis=1) + self._row_turn * lengths
            self._columns[1, place] = np.linalg.norm(rounded, axis=1)
        return IntegerProduct(np.ascontiguousarray(codes.reshape(rows.size, -1).T))

    def __getstate__(self) -> dict[str, Any]:
        return {"rows": self._rows}

    def __setstate__(self, state: dict[str, Any]) -> None:
        ScreenedSearch.__init__(self, state["rows"])

    def _find(self, points: Floats, norms: Floats) -> Ints:
        answers = np.empty(len(points), dtype=np.int64)
        starts, lock = iter(range(0, len(points), _BLOCK)), threading.Lock()

        def work() -> bool:
            with lock:
                start = next(starts, None)
            if start is None:
                return False
            block = slice(start, start + _BLOCK)
            answers[block] = self._nearest_of_block(points[block], norms[block])
            return True

        in_threads(work, -(-len(points) // _BLOCK))
        return answers

    def _nearest_of_block(self, points: Floats, norms: Floats) -> Ints:
        shrink = min(1.0, float(power_of_two(np.array(norms.max() * self._scale))))
        turned = self._turn.of((points * (self._scale * shrink)).astype(np.float32))
        # Points of about one largest coordinate share their step at little loss.
        order = np.argsort(np.maximum(turned.max(axis=1), -turned.min(axis=1)), kind="stable")
        answers = np.empty(len(points), dtype=np.int64)
        for start in range(0, len(points), _BATCH):
            part = order[start : start + _BATCH]
            answers[part] = self._nearest_of_batch(points, part, norms[part], turned[part], shrink)
        return answers

    def _nearest_of_batch(
        self, points: Floats, part: Ints, norms: Floats, turned: Singles, shrink: float
    ) -> Ints:
        """Return the answers to the points of a part, of which there are norms and turned points."""
        batch = self._rounded(norms, turned, shrink)
        found = self._candidates(batch)
        if found is None:
            cuts = slice(len(part) // 2), slice(len(part) // 2, None)
            return np.concatenate(
                [self._nearest_of_batch(points, part[cut], norms[cut], turned[cut], shrink) for cut in cuts]
            )
        which, candidates, reached = found
        answers = np.empty(len(part), dtype=np.int64)
        tolerance = close_tolerance(points.shape[1])
        close = resolve(
            points, part, self._rows, which, candidates, reached, norms, shrink * self._scale**2,
            4.0 * batch.slack, tolerance, answers,
        )  # fmt: skip
        if len(close):
            of_close = np.flatnonzero(np.isin(which, close))
            order = of_close[np.lexsort((candidates[of_close], which[of_close]))]
            renumbered = np.searchsorted(close, which[order])
            answers[close] = self._decide(points[part[close]], renumbered, candidates[order])
        return answers

    def _rounded(self, norms: Floats, turned: Singles, shrink: float) -> _Batch:
        """Return points as integers, with bounds that are rounded up."""
        peak = max(float(turned.max()), -float(turned.min()))
        step = np.float32(max(peak / (ZERO - 1), _LEAST_STEP))
        codes = turned / step
        np.rint(codes, out=codes)
        off = turned - codes * step
        codes += ZERO
        lengths = norms * (self._scale * shrink * (1.0 + self._row_turn))
        # In float64: squares of what little a short point among long ones is off would vanish in float32.
        errors = np.sqrt(np.einsum("ij,ij->i", off, off, dtype=np.float64, casting="safe"))
        errors += self._point_turn * lengths + _TINY
        with np.errstate(over="ignore"):  # a slack beyond all bounds keeps every row, which is right
            slack = float(self._canonical_slack(norms.max())) * shrink * self._scale**2
        return _Batch(codes.astype(np.uint8), float(step), np.stack((lengths, errors)), shrink, slack)

    def _candidates(self, batch: _Batch) -> tuple[NDArray[np.int32], Ints, Floats] | None:
        """Return the pairs of a point and a row that may be the answer, and what the score may reach.

        None if there are too many at once.
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
        found = 0
        for first, product in zip(self._firsts, self._products, strict=True):
            products = memory[: count * product.columns].reshape(count, -1, STRIP)
            product.fill(batch.codes, products)
            found = collect(
                products, first, self._steps, self._columns, self._strips, batch.bounds, scalars, floors,
                found, which, places, reached,
            )  # fmt: skip
            if found < 0:
                return None
        still = np.flatnonzero(
            (reached[:found] >= floors[which[:found]]) & (places[:found] < len(self._rows))
        )
        return which[still], self._order[places[still]], reached[still]


def _rotation(dim: int) -> tuple[Floats, float]:
    """Return an orthogonal matrix, the same for every search of so many dimensions, and how far it is off."""
    normals = np.random.default_rng([_SEED, dim]).standard_normal((dim, dim))
    rotation, _ = np.linalg.qr(normals)
    defect = float(np.linalg.norm(rotation @ rotation.T - np.eye(dim)))
    return rotation, defect + dim**1.5 * 2.0**-52
