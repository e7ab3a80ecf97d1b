"""Public regions of the vocabulary: clusters of the words, and the shape of the noise in each.

All numbers are in the eigenbasis of the embedding, and follow from the vectors alone.
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from wordveil.cache import Arrays, cached_about
from wordveil.embedding import Embedding
from wordveil.embedding.arrays import locked
from wordveil.mechanisms.places import places_of
from wordveil.metric import Metric
from wordveil.shared import PerEmbedding

__all__ = ["LEAST_SCALE", "Regions", "regions_of"]

LEAST_SCALE: Final = 0.1
"""The least eigenvalue of A_r. At λ = 1 without it, the largest distance over all regions was measured 8 to
13 times the global one; with it, it is at most sqrt(10) times the Euclidean distance."""

_SEED: Final = 20210419  # public and arbitrary
_STEPS: Final = 25  # of k-means; on the default vectors fewer than 1% of the words still move after 20

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_regions: Final = PerEmbedding["Regions"](most=2)


@dataclass(frozen=True, eq=False)
class Regions:
    """Disjoint regions that cover the vocabulary, and A_r = λΣ_r + (1-λ)I for each.

    Σ_r is the covariance of the words of a region around its centre scaled to trace m, mixed with Σ of all
    words: a region counts with its number of words, Σ with m words.

    Attributes
    ----------
    labels : array of shape (V + 1,)
        The region of each word; the last one is that of the centroid, whose nearest centre it has.
    centres : array of shape (k, m)
        The centres of k-means, close to the means of the regions: it stops after 25 steps.
    scales : array of shape (k, m)
        The eigenvalues of each A_r, at least 0.1.
    axes : array of shape (k, m, m)
        Their eigenvectors, as columns.
    """

    labels: Ints
    centres: Floats
    scales: Floats
    axes: Floats

    def __post_init__(self) -> None:
        for name in ("labels", "centres", "scales", "axes"):
            object.__setattr__(self, name, locked(np.ascontiguousarray(getattr(self, name))))

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        return type(self), (self.labels, self.centres, self.scales, self.axes)

    def __len__(self) -> int:
        return len(self.centres)

    @cached_property
    def fingerprint(self) -> str:
        """The first 16 digits of a SHA-256 of the labels.

        The other numbers may differ between processors in their last bits.
        """
        return hashlib.sha256(self.labels.astype("<i4").tobytes()).hexdigest()[:16]

    def root(self, region: int) -> Floats:
        """Return a matrix R with R·Rᵀ = A_r."""
        return np.asarray(self.axes[region] * np.sqrt(self.scales[region]))

    def whitening(self, region: int) -> Floats:
        """Return a matrix W such that ‖x·W‖₂ is ‖x‖_{A_r}."""
        return np.asarray(self.axes[region] / np.sqrt(self.scales[region]))

    def members(self, region: int) -> Ints:
        """Return the words of a region."""
        return np.flatnonzero(self.labels[:-1] == region)


def regions_of(embedding: Embedding, metric: Metric, count: int) -> Regions:
    """Return that many regions of an embedding; computed once, and kept in the user's cache if they may be.

    The metric, which was made from the embedding, has λ and the eigenbasis that all numbers are in.

    Examples
    --------
    >>> from wordveil.embedding import load_embedding
    >>> emb = load_embedding().project(5)
    >>> regions = regions_of(emb, Metric.from_embedding(emb, 1.0), 8)
    >>> len(regions), int(np.bincount(regions.labels[:-1]).sum())
    (8, 33752)
    """

    def compute() -> Arrays:
        return _computed(places_of(embedding), metric, count)

    def prepared() -> Regions:
        key = {"regions": count, "metric": metric.fingerprint.hex(), "seed": _SEED, "floor": LEAST_SCALE}
        return Regions(**cached_about(embedding, "regions", key, compute))

    return _regions.get(embedding, (count, metric.fingerprint), prepared)


def _computed(places: Floats, metric: Metric, count: int) -> Arrays:
    rows = places[:-1]
    labels, centres = _clusters(rows, min(count, len(rows)))
    dim = rows.shape[1]
    scales, axes = np.empty((len(centres), dim)), np.empty((len(centres), dim, dim))
    for region, centre in enumerate(centres):
        members = rows[labels == region] - centre
        scatter = members.T @ members
        trace = float(np.trace(scatter))
        own = scatter * (dim / trace) if trace > 0.0 else np.eye(dim)
        weight = len(members) / (len(members) + dim) if trace > 0.0 else 0.0
        sigma = weight * own + (1.0 - weight) * np.diag(metric.eigenvalues)
        values, vectors = np.linalg.eigh(metric.lam * sigma + (1.0 - metric.lam) * np.eye(dim))
        scales[region], axes[region] = np.maximum(values, LEAST_SCALE), vectors
    home = _nearest_centres(places[-1:], centres)
    return {
        "labels": np.append(labels, home).astype(np.int64),
        "centres": centres,
        "scales": scales,
        "axes": axes,
    }


def _clusters(rows: Floats, count: int) -> tuple[Ints, Floats]:
    """Return labels and centres by k-means: started by k-means++, and the same every time on one machine."""
    draws = np.random.default_rng(_SEED)  # of public data: no secret
    centres = rows[[int(draws.integers(len(rows)))]]
    squares = np.full(len(rows), np.inf)
    for _ in range(count - 1):
        squares = np.minimum(squares, np.square(rows - centres[-1]).sum(axis=1))
        total = float(squares.sum())
        chosen = draws.choice(len(rows), p=squares / total) if total > 0.0 else draws.integers(len(rows))
        centres = np.vstack((centres, rows[chosen]))
    labels = _nearest_centres(rows, centres)
    for _ in range(_STEPS):
        for region in range(count):
            members = rows[labels == region]
            if len(members):
                centres[region] = members.mean(axis=0)
        labels = _nearest_centres(rows, centres)
    used = np.unique(labels)  # equal words can leave a region empty
    return np.searchsorted(used, labels), centres[used]


def _nearest_centres(rows: Floats, centres: Floats) -> Ints:
    halves = np.einsum("ij,ij->i", centres, centres) / 2.0
    return np.asarray((rows @ centres.T - halves).argmax(axis=1))
