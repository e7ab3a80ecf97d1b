"""Fast and exact in many dimensions: products of small integers as a screen, with certified bounds."""

from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import MachineError
from wordveil.kernels import has_codes, kernels, level
from wordveil.nearest.compiled import CompiledSearch, Pairs
from wordveil.nearest.joining import JoinedSearch
from wordveil.nearest.search import close_tolerance, power_of_two

__all__ = ["CODE_LIMITS", "MOST_DIMS", "ScreenedSearch", "round_up"]

MOST_DIMS: Final = 60_000
"""With more dimensions, a sum of products could leave 32 bits."""

CODE_LIMITS: Final = {"avx512": 127, "avx2": 63}
"""The largest codes of rows; with 63, the sum of two products fits into the 16 bits that AVX2 has for it."""

_STRIP: Final = 32  # rows that share a step, as in the compiled loops
_ALIGNED: Final = 64  # bytes of a wide register
# Rows are sorted by length, and then, in runs of that many, by their largest coordinate. Short runs keep the
# lengths in a strip similar; long runs keep its step small. Measured with the default vectors in one thread,
# 64 rows to all rows take the same time.
_RUN_ROWS: Final = 1024
_BLOCK_ROWS: Final = 1024  # rows that are rotated and rounded at a time
_UNIT: Final = 2.0**-24  # the unit roundoff of float32
_SAFE: Final = 1.0 + 2.0**-9  # sums of up to 60,000 squares in float32 are off by less
_UNDERFLOW: Final = 2.0**-70  # more than what is lost where squares in float32 are too small
_LEAST_STEP: Final = 2.0**-60  # keeps divisions by the step of a zero vector finite
# Points that are joined from the calls of several threads. With calls of 20 words from 16 threads on two
# cores, at 300 dimensions, the rate was 0.37, 0.37, 0.49, 0.54 and 0.52 of that of a batch for 48, 96, 144,
# 192 and 320.
_JOINED_POINTS: Final = 192
_SEED: Final = 20200202  # arbitrary: the rotation is public and changes no answer

Floats = NDArray[np.float64]
Singles = NDArray[np.float32]
Ints = NDArray[np.int64]


@dataclass(frozen=True)
class _Points:
    """Points as the compiled loops read them, and which of them are left to another search."""

    factors: Floats
    scaled: Singles
    sizes: Singles
    slacks: Singles
    is_odd: NDArray[np.bool_]


class ScreenedSearch(CompiledSearch):
    """An 8-bit product screens the rows; float64 distances decide among the few left.

    Rows and points are rotated in the same way, so no coordinate is much larger than the others, and rounded
    to integers times a step: r' = ŵ + e and q' = q̂ + f. The product q̂·ŵ is exact in integers, and
    |q·r - q̂·ŵ| ≤ ‖q‖·‖e‖ + ‖f‖·‖ŵ‖. Rows are grouped into strips of similar length, which share a step: the
    largest product of a strip bounds its scores q·r - ‖r‖²/2 from above, and the best score of all rows from
    below. A row whose upper bound is below that best score, minus the slack of the canonical distance, can't
    be the answer. Float64 distances decide among the other rows, and the canonical distance where those are
    too close.

    The bounds also include: the rotation R, which is off by ‖RRᵀ - I‖ and changes q·r by at most that share
    of ‖q‖·‖r‖; rotating rows and points in float32, which moves them by at most √m·γ of their norm, with
    γ = (m + 4)u; and 2⁻¹⁹ of the largest score for bounds and scores in float32, whose sums have
    fewer than ten terms. Scaling is by powers of two, which is exact.

    Examples
    --------
    >>> from wordveil.kernels import has_codes
    >>> search = ScreenedSearch(np.array([[0.0, 0.0], [1.0, 1.0]])) if has_codes() else None
    >>> search is None or search.nearest(np.array([[0.9, 0.8], [0.5, 0.5]])).tolist() == [1, 0]
    True
    """

    def __init__(self, rows: Floats) -> None:
        super().__init__(rows)
        count, dim = self._rows.shape
        if not has_codes() or dim > MOST_DIMS:
            raise MachineError("This machine has no exact integer products. Hint: use another search.")
        rotation, defect = _rotation(dim)
        # The errors of rotating in float32, relative to the norm.
        self._point_rotation_error = 1.01 * (dim + 4) ** 1.5 * _UNIT + 8.0 * _UNIT
        self._row_rotation_error = self._point_rotation_error + 2.0 * defect
        self._width = -(-dim // _ALIGNED) * _ALIGNED
        self._rotation = np.zeros((dim, self._width), np.float32)
        self._rotation[:, :dim] = rotation
        halves = np.einsum("ij,ij->i", self._rows, self._rows) * (self._scale**2 / 2.0)
        rotated = np.empty((count, dim), np.float32)
        for start in range(0, count, _BLOCK_ROWS):
            part = slice(start, start + _BLOCK_ROWS)
            scaled = (self._rows[part] * self._scale).astype(np.float32)
            np.matmul(scaled, self._rotation[:, :dim], out=rotated[part])
        order = _similar_order(rotated, halves)
        padded = np.concatenate((order, np.repeat(order[-1:], -count % _STRIP)))
        self._order = padded.astype(np.int32)
        self._order[count:] = -1
        self._encode(padded, halves, rotated)

    def _encode(self, order: Ints, halves: Floats, all_rotated: Singles) -> None:
        """Write rows as integers, with their steps, errors and sizes; all bounds are rounded up."""
        limit, strips = CODE_LIMITS[level], len(order) // _STRIP
        self._codes = np.zeros((len(order), self._width), np.int8)
        errors, sizes = np.empty(len(order)), np.empty(len(order))
        steps = np.empty(strips)
        for start in range(0, len(order), _BLOCK_ROWS):
            ids = order[start : start + _BLOCK_ROWS]
            rotated = all_rotated[ids]
            peaks = np.abs(rotated).reshape(-1, _STRIP * rotated.shape[1]).max(axis=1)
            step = np.maximum(peaks / np.float32(limit), np.float32(_LEAST_STEP))
            steps[start // _STRIP : start // _STRIP + len(step)] = step
            units = np.repeat(step, _STRIP)[:, None]
            codes = np.clip(np.rint(rotated / units), -limit, limit)
            part = slice(start, start + len(ids))
            self._codes[part, : rotated.shape[1]] = codes
            lengths = np.sqrt(2.0 * halves[ids])
            rounded = codes * units
            # Products, differences and sums of squares in float32 are off by far less than this share.
            sizes[part] = _norms(rounded) * _SAFE + _UNDERFLOW
            errors[part] = _norms(rotated - rounded) * _SAFE + _UNDERFLOW
            errors[part] += _UNIT * sizes[part] + self._row_rotation_error * lengths
        self._errors, self._sizes = round_up(errors), round_up(sizes)
        self._halves = halves[order].astype(np.float32)
        grouped = self._halves.reshape(strips, _STRIP)
        parts = (
            steps,
            self._errors.reshape(strips, _STRIP).max(axis=1),
            self._sizes.reshape(strips, _STRIP).max(axis=1),
            grouped.min(axis=1),
            grouped.max(axis=1),
        )
        self._about = np.stack(parts, axis=1).astype(np.float32)
        self._corrections = (-128 * self._codes.sum(axis=1, dtype=np.int64)).astype(np.int32)

    def _search_compiled(
        self, points: Floats, norms: Floats, answers: Ints, pairs: Pairs, wanted: int = 1
    ) -> tuple[int, NDArray[np.bool_]]:
        prepared, dims = self._prepare_points(points, norms), points.shape[1]
        count = kernels.nearest_by_codes(
            dims, wanted, self._point_rotation_error, close_tolerance(dims), self._codes, self._corrections,
            self._about, self._errors, self._sizes, self._halves, self._order, self._rotation, self._rows,
            points, norms, prepared.factors, prepared.scaled, prepared.sizes, prepared.slacks, answers,
            *pairs,
        )  # fmt: skip
        return int(count), prepared.is_odd

    def _prepare_points(self, points: Floats, norms: Floats) -> _Points:
        shrinks = np.minimum(power_of_two(norms * self._scale), 1.0)
        with np.errstate(over="ignore"):  # a point with an infinite slack is left to another search
            factors = shrinks * self._scale**2
            slacks = round_up(self._canonical_slack(norms) * factors)
            lengths = round_up(norms * (self._scale * shrinks * (1.0 + self._row_rotation_error)))
        is_odd = ~np.isfinite(slacks)
        slacks[is_odd] = 0.0
        scaled = (points * (self._scale * shrinks)[:, None]).astype(np.float32)
        sizes = np.concatenate((lengths, shrinks.astype(np.float32)))
        return _Points(factors, scaled, sizes, slacks, is_odd)

    def _find(self, points: Floats, norms: Floats) -> Ints:
        is_large = len(points) >= _JOINED_POINTS
        return super()._find(points, norms) if is_large else self._joined.find(points, norms)

    @cached_property
    def _joined(self) -> JoinedSearch:
        return JoinedSearch(super()._find, _JOINED_POINTS)


def _similar_order(rotated: Singles, halves: Floats) -> Ints:
    """Return an order of the rows in which neighbours have similar lengths and largest coordinates."""
    peaks = np.maximum(rotated.max(axis=1), -rotated.min(axis=1))
    order = np.argsort(-halves, kind="stable")
    return np.asarray(order[np.lexsort((peaks[order], np.arange(len(order)) // _RUN_ROWS))])


def _norms(rows: Singles) -> Floats:
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", rows, rows)), dtype=np.float64)


def round_up(values: Floats) -> Singles:
    """Return numbers in float32, rounded up.

    Examples
    --------
    >>> bool(round_up(np.array([0.1]))[0] > 0.1)
    True
    """
    return np.asarray(np.nextafter(values.astype(np.float32), np.float32(np.inf)))


def _rotation(dim: int) -> tuple[Floats, float]:
    """Return a rotation, the same for every search in `dim` dimensions, and a bound of its error.

    It is applied in float32; the bounds include that.
    """
    normals = np.random.default_rng([_SEED, dim]).standard_normal((dim, dim))
    rotation, _ = np.linalg.qr(normals)
    defect = float(np.linalg.norm(rotation @ rotation.T - np.eye(dim)))
    return rotation, defect + dim**1.5 * 2.0**-52
