"""A float32 product as a screen, for machines and requests without a faster search."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from wordveil.nearest.scores import ScoreSearch
from wordveil.nearest.search import power_of_two

__all__ = ["SingleSearch"]

_UNIT: Final = 2.0**-24  # the unit roundoff of float32
_UNDERFLOW: Final = 2.0**-100  # more than all that underflows can add up to


class SingleSearch(ScoreSearch):
    """A float32 product screens the rows; the canonical float64 distance decides among the few left.

    Rounding both operands to float32 and summing m + 1 products in any order, fused or not, is off by at most
    γ·Σ|qᵢrᵢ| ≤ γ·‖q‖·‖r‖ with γ = (m + 4)u/(1 - (m + 4)u) and u = 2⁻²⁴, as long as nothing overflows; what
    underflows adds less than 2⁻¹⁰⁰. To ensure that, rows and points are scaled to norms of about 1, by powers
    of two, which is exact. ‖r‖²/2 is included as the last product.

    Examples
    --------
    >>> search = SingleSearch(np.array([[0.0, 0.0], [1.0, 1.0]]))
    >>> search.nearest(np.array([[0.9, 0.8], [0.5, 0.5]]))
    array([1, 0])
    """

    def __init__(self, rows: NDArray[np.float64]) -> None:
        super().__init__(rows)
        self._scale = self._row_scale()
        scaled = self._rows * self._scale
        halves = np.einsum("ij,ij->i", scaled, scaled) / 2.0
        self._screen = np.column_stack((scaled, -halves)).astype(np.float32)
        self._longest = self._largest * self._scale

    _score_dtype = np.dtype(np.float32)

    def _fill_scores(
        self, points: NDArray[np.float64], norms: NDArray[np.float64], scores: NDArray[np.floating]
    ) -> NDArray[np.float64]:
        dim = points.shape[1]
        # Long points are shrunk, but short ones are not enlarged: ‖r‖²/2 is multiplied by it too.
        shrink = np.minimum(power_of_two(norms * self._scale), 1.0)
        scaled = np.empty((len(points), dim + 1), dtype=np.float32)
        scaled[:, :dim] = points * (self._scale * shrink)[:, None]
        scaled[:, dim] = shrink
        gamma = (dim + 4) * _UNIT / (1.0 - (dim + 4) * _UNIT)
        size = norms * self._scale * shrink * self._longest + shrink * self._longest**2 / 2.0
        with np.errstate(over="ignore"):  # an infinite slack keeps every row, which is correct
            slack = self._canonical_slack(norms) * shrink * self._scale**2
        np.matmul(scaled, self._screen.T, out=scores)
        return np.asarray(2.0 * (gamma * size + _UNDERFLOW) + slack)
