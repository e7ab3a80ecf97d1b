"""Were the normal deviates behind a row of noise float32? Seen from the ratios of its coordinates.

A row is c·N, whose factor c is not known: a radius over a length, both in float64, so no coordinate is a
float32. But some multiple of the row has only float32 coordinates. The largest coordinate is scaled to each
of the 2²³ significands of a float32; at the right one all the others are float32 as well.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["share_of_float32_normals"]

_SIGNIFICANDS: Final = 1 << 23
_COORDINATES: Final = 8  # the largest of a row, which have the smallest relative error
_ROWS: Final = 8  # those with the smallest error: 0.1 s each
_CHANCE: Final = 1e-9  # that a row in float64 looks like float32; a row with a larger chance is left out
_ERROR: Final = (
    2.0**-51
)  # of a difference of float64 numbers that were multiplied a few times, relative to them

Floats = NDArray[np.float64]


def share_of_float32_normals(white: Floats, lost: Floats) -> float | None:
    """Return the share of rows that are a multiple of a row of float32; None if that can't be seen.

    Parameters
    ----------
    white : array
        Noise, divided by the root of A along each axis.
    lost : array
        Of each value, by how much its rounding error is larger than its own: |φ(w) + z|/|z|.

    Examples
    --------
    >>> normals = np.random.default_rng(1).normal(size=(20, 6))
    >>> single = normals.astype(np.float32) * np.array(0.3)
    >>> ones = np.ones_like(normals)
    >>> share_of_float32_normals(normals, ones), share_of_float32_normals(single.astype(float), ones)
    (0.0, 1.0)
    >>> share_of_float32_normals(normals[:, :2], ones[:, :2]) is None
    True
    """
    order = np.argsort(-np.abs(white), axis=1)[:, :_COORDINATES]
    values = np.take_along_axis(white, order, axis=1)
    errors = _ERROR * (1.0 + np.take_along_axis(lost, order, axis=1))
    ratios = values[:, 1:] / np.where(values[:, :1] == 0.0, 1.0, values[:, :1])
    errors = errors[:, 1:] + errors[:, :1]
    # The distance to the next float32 is at most 2⁻²⁵ of a number in the middle between two.
    chances = _SIGNIFICANDS * np.minimum(1.0, 2.0**25 * errors).prod(axis=1)
    best = np.argsort(chances, kind="stable")[:_ROWS]
    usable = [row for row in best if chances[row] < _CHANCE and (ratios[row] != 0.0).all()]
    if not usable:
        return None
    return float(np.mean([_is_float32(ratios[row], errors[row]) for row in usable]))


def _is_float32(ratios: Floats, errors: Floats) -> bool:
    """Say whether one significand of the largest value makes float32 numbers of all others."""
    significands = np.arange(_SIGNIFICANDS, 2.0 * _SIGNIFICANDS)
    for ratio, error in zip(ratios, errors, strict=True):
        scaled = ratio * significands
        significands = significands[np.abs(scaled - scaled.astype(np.float32)) <= error * np.abs(scaled)]
    return bool(len(significands))
