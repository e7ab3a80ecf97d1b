"""What an attacker sees of a word behind the clustered mechanism: the region, and the noisy vector."""

from typing import TYPE_CHECKING, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from wordveil.mechanisms.channel import Channel
from wordveil.mechanisms.places import places_of
from wordveil.mechanisms.regions import Regions
from wordveil.randomness import Stream
from wordveil.shared import PerEmbedding

if TYPE_CHECKING:
    from wordveil.mechanisms.clustered import Clustered

__all__ = ["ClusteredChannel"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_squares: Final = PerEmbedding[Floats](most=2)


class ClusteredChannel(Channel):
    """log Pr[r, v | u] = log Pr[r | u] - ε₂·‖φ(u) - v‖_{A_r}, up to a constant for each r.

    The first column of what is seen is the region r, the others are v.
    """

    sees: ClassVar = "sees the regions and the noisy vectors"

    def __init__(self, mechanism: "Clustered") -> None:
        self._mechanism, self._regions = mechanism, mechanism.shapes
        self._places = places_of(mechanism.embedding)
        self._rows = self._places - self._places[-1]
        key = self._regions.fingerprint, mechanism.lam
        self._squares = _squares.get(mechanism.embedding, key, lambda: _squares_of(self._regions, self._rows))

    def observe(self, ids: Ints, stream: Stream) -> Floats:
        """Return a region and a noisy vector for each word id."""
        regions = self._mechanism._chosen_regions(ids, stream)
        return np.column_stack((regions, self._mechanism._noisy_points(ids, regions, stream)))

    def log_likelihoods(self, seen: Floats, words: slice) -> Floats:
        """Return the log-likelihood of each region and noisy vector for each word."""
        regions, points = seen[:, 0].astype(np.int64), seen[:, 1:] - self._places[-1]
        turned, squares = np.empty_like(points), np.empty(len(points))
        for region in np.unique(regions):
            rows, white = np.flatnonzero(regions == region), self._regions.whitening(int(region))
            half = points[rows] @ white
            turned[rows], squares[rows] = half @ white.T, np.einsum("ij,ij->i", half, half)
        table: Floats = turned @ (-2.0 * self._rows[words].T)
        table += squares[:, None]
        table += self._squares[:, words][regions]
        np.sqrt(np.maximum(table, 0.0, out=table), out=table)
        table *= -self._mechanism.noise_epsilon
        table += np.ascontiguousarray(self._mechanism.log_regions[words].T)[regions]
        return table

    def answers(self, seen: Floats) -> Ints:
        """Return the answer for each region and noisy vector."""
        return self._mechanism._answers(seen[:, 0].astype(np.int64), np.ascontiguousarray(seen[:, 1:]))

    def of_answers(self, answers: Ints) -> Floats:
        """Return the vectors of the answers, and their regions."""
        return np.column_stack((self._regions.labels[answers], self._places[answers]))


def _squares_of(regions: Regions, rows: Floats) -> Floats:
    """Return ‖φ(u)‖²_{A_r} for all regions and words."""
    squares = np.empty((len(regions), len(rows)))
    for region in range(len(regions)):
        white = rows @ regions.whitening(region)
        squares[region] = np.einsum("ij,ij->i", white, white)
    return squares
