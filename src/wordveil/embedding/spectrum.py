"""Centroid, covariance and eigenbasis of an embedding: computed once, shared by every λ."""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from wordveil.cache import Vectors, cached_about
from wordveil.embedding.arrays import locked, row_blocks

__all__ = ["Spectrum", "compute_spectrum", "prepared_spectrum", "project_rows"]


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The first and second moments of a set of vectors, in float64.

    Attributes
    ----------
    centroid : array of shape (m,)
        The mean vector.
    mean_variance : float
        The mean of the m sample variances. The covariance is divided by it.
    eigenvalues : array of shape (m,)
        The eigenvalues of Σ = sample covariance / mean_variance, ascending. Their sum is m.
        All are zero if every vector is the same.
    axes : array of shape (m, m)
        Column j is the unit eigenvector of `eigenvalues[j]`, with its largest entry positive.
    """

    centroid: NDArray[np.float64]
    mean_variance: float
    eigenvalues: NDArray[np.float64]
    axes: NDArray[np.float64]

    def __post_init__(self) -> None:
        for name in ("centroid", "eigenvalues", "axes"):
            object.__setattr__(self, name, locked(getattr(self, name)))

    def __reduce__(self) -> tuple[type[Self], tuple[object, ...]]:
        # Unpickled arrays would be writeable; the constructor locks them again.
        return type(self), (self.centroid, self.mean_variance, self.eigenvalues, self.axes)

    def to_arrays(self) -> dict[str, NDArray[np.float64]]:
        """Return everything in arrays, for `from_arrays`."""
        return {
            "centroid": self.centroid,
            "mean_variance": np.array([self.mean_variance]),
            "eigenvalues": self.eigenvalues,
            "axes": self.axes,
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[np.float64]]) -> Self:
        """Return the spectrum that `to_arrays` was called on."""
        copies = {name: np.array(array) for name, array in arrays.items()}
        return cls(
            copies["centroid"], float(copies["mean_variance"][0]), copies["eigenvalues"], copies["axes"]
        )

    @property
    def covariance(self) -> NDArray[np.float64]:
        """The matrix Σ, rebuilt from its eigenbasis."""
        sigma = (self.axes * self.eigenvalues) @ self.axes.T
        return np.asarray((sigma + sigma.T) / 2.0)


def compute_spectrum(vectors: NDArray[np.float32]) -> Spectrum:
    """Return the spectrum of the rows of `vectors`, computed in blocks to bound memory."""
    rows, dim = vectors.shape
    centroid = np.zeros(dim)
    for block in row_blocks(rows):
        centroid += vectors[block].sum(axis=0, dtype=np.float64)
    centroid /= rows
    scatter = np.zeros((dim, dim))
    for block in row_blocks(rows):
        centred = vectors[block] - centroid
        scatter += centred.T @ centred
    mean_variance = float(np.trace(scatter)) / (rows - 1) / dim
    if mean_variance > 0.0:
        scatter *= dim / np.trace(scatter)
    eigenvalues, axes = np.linalg.eigh(scatter)
    eigenvalues = np.maximum(eigenvalues, 0.0)  # rounding can push a zero below 0
    axes *= np.where(axes[np.abs(axes).argmax(axis=0), np.arange(dim)] < 0.0, -1.0, 1.0)
    return Spectrum(centroid, mean_variance, eigenvalues, axes)


def prepared_spectrum(vectors: NDArray[np.float32], owner: Vectors | None) -> Spectrum:
    """Return the spectrum, from the cache if it is there; without an owner it is computed."""
    if owner is None:
        return compute_spectrum(vectors)
    arrays = cached_about(owner, "spectrum", {}, lambda: compute_spectrum(vectors).to_arrays())
    return Spectrum.from_arrays(arrays)


def project_rows(vectors: NDArray[np.float32], spectrum: Spectrum, k: int) -> NDArray[np.float32]:
    """Return the coordinates of the rows on the top `k` principal axes, largest variance first."""
    axes = spectrum.axes[:, ::-1][:, :k]
    projected = np.empty((len(vectors), k), dtype=np.float32)
    for block in row_blocks(len(vectors)):
        projected[block] = vectors[block].astype(np.float64) @ axes
    return projected
