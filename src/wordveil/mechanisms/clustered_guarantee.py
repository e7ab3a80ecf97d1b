"""What the clustered mechanism promises: ε times a weighted sum of distances, or a promise within regions."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordveil.cache import Arrays, cached_about, cached_json_about
from wordveil.embedding import Embedding
from wordveil.guarantee import Exponents, Guarantee
from wordveil.mechanisms.channel import squared_distances
from wordveil.mechanisms.group_guarantee import GroupGuarantee
from wordveil.mechanisms.places import places_of
from wordveil.mechanisms.regions import Regions
from wordveil.metric import Bracket, enclosing_diameter
from wordveil.neighbours import sample_ids

__all__ = ["ClusteredGuarantee", "WithinGuarantee"]

_PAIRS: Final = 4096  # differences at a time: 10 MB at 300 dimensions
_SAMPLE: Final = 100  # words whose distances to all others are measured, in each region's metric
_FEW_WORDS: Final = 1000  # of which all are measured
_RANKS: Final = (1, 10, 100)  # as in other guarantees

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


def _differences(places: Floats, ids: Ints, others: Ints) -> Floats:
    return np.asarray(places[ids] - places[others])


def largest_distances(regions: Regions, differences: Floats) -> Floats:
    """Return max_r ‖x‖_{A_r} for each row x."""
    largest = np.zeros(len(differences))
    for region in range(len(regions)):
        white = differences @ regions.whitening(region)
        np.maximum(largest, np.einsum("ij,ij->i", white, white), out=largest)
    return np.sqrt(largest, out=largest)


@dataclass(frozen=True, eq=False)
class ClusteredGuarantee(Guarantee):
    """Pr[M(w) = u] ≤ exp(ε₁·d₂(w, w') + ε₂·max_r d_{A_r}(w, w'))·Pr[M(w') = u] for all words w, w', u.

    Attributes
    ----------
    epsilon, share : float
        ε₁ = share·ε and ε₂ = (1 - share)·ε.
    regions : Regions
        The public regions, and the metric of each.
    embedding : Embedding
        The public words and vectors.
    """

    epsilon: float
    share: float
    regions: Regions = field(repr=False)
    embedding: Embedding = field(repr=False)
    lam: float

    def _distances(self, ids: Ints, others: Ints) -> Floats:
        places, result = places_of(self.embedding), np.empty(len(ids))
        for start in range(0, len(ids), _PAIRS):
            block = slice(start, start + _PAIRS)
            differences = _differences(places, ids[block], others[block])
            euclidean = np.sqrt(np.einsum("ij,ij->i", differences, differences))
            local = largest_distances(self.regions, differences)
            result[block] = self.share * euclidean + (1.0 - self.share) * local
        return result

    def exponents(self, ids: ArrayLike, others: ArrayLike) -> Floats:
        """Return the exponent of each pair of word ids; -1 is the centroid. Shapes broadcast as in NumPy."""
        left, right = np.broadcast_arrays(np.asarray(ids, np.int64), np.asarray(others, np.int64))
        return self.epsilon * self._distances(left.ravel(), right.ravel()).reshape(left.shape)

    @property
    def _key(self) -> dict[str, object]:
        return {"regions": self.regions.fingerprint, "lam": self.lam, "share": self.share}

    @cached_property
    def neighbours(self) -> dict[int, Exponents]:
        """The exponent to the 1st, 10th and 100th neighbour, over a fixed public sample of 100 words."""
        ranks = tuple(rank for rank in _RANKS if rank < len(self.embedding))

        def compute() -> Arrays:
            return {"distances": self._neighbour_distances(ranks)}

        key = self._key | {"ranks": str(ranks), "sample": _SAMPLE}
        table = cached_about(self.embedding, "clustered-neighbours", key, compute)["distances"]
        quantiles = np.quantile(self.epsilon * table, [0.5, 0.05, 0.95], axis=0)
        return {rank: Exponents(*quantiles[:, i].tolist()) for i, rank in enumerate(ranks)}

    def _neighbour_distances(self, ranks: tuple[int, ...]) -> Floats:
        places = places_of(self.embedding)
        rows = places[:-1] - places[-1]
        sample = sample_ids(len(rows), _SAMPLE if len(rows) > _FEW_WORDS else _FEW_WORDS)
        largest = np.zeros((len(sample), len(rows)))
        for region in range(len(self.regions)):
            white = rows @ self.regions.whitening(region)
            np.maximum(largest, squared_distances(white[sample], white), out=largest)
        distances = (1.0 - self.share) * np.sqrt(largest, out=largest)
        distances += self.share * np.sqrt(squared_distances(rows[sample], rows))
        distances[np.arange(len(sample)), sample] = np.inf
        places_of_ranks = [rank - 1 for rank in ranks]
        return np.asarray(np.partition(distances, places_of_ranks, axis=1)[:, places_of_ranks])

    @cached_property
    def worst_case(self) -> Bracket:
        """A bracket of the largest exponent: the diameters of all metrics add up to its upper end."""
        lower, upper = cached_json_about(self.embedding, "clustered-diameter", self._key, self._bracket)
        return Bracket(self.epsilon * lower, self.epsilon * upper)

    def _bracket(self) -> tuple[float, float]:
        rows = places_of(self.embedding)[:-1]
        pair, euclidean = enclosing_diameter(rows)
        pairs, local = [pair], 0.0
        for region in range(len(self.regions)):
            pair, diameter = enclosing_diameter(rows @ self.regions.whitening(region))
            pairs.append(pair)
            local = max(local, diameter)
        left, right = np.array(pairs).T
        upper = (self.share * euclidean + (1.0 - self.share) * local) * (1.0 + 1e-9)
        return float(self._distances(left, right).max()) * (1.0 - 1e-9), upper

    @property
    def distance(self) -> tuple[float, str]:
        """ε, and the name of the distance share·d₂ + (1 - share)·max_r d_{A_r}."""
        return self.epsilon, (
            f"clustered={self.regions.fingerprint} lam={self.lam:.17g} share={self.share:.17g} "
            f"dims={self.embedding.dim}"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the same facts as plain JSON values."""
        setting = {
            "epsilon": self.epsilon,
            "epsilon_of_regions": self.share * self.epsilon,
            "epsilon_of_noise": (1.0 - self.share) * self.epsilon,
            "regions": len(self.regions),
            "dims": self.embedding.dim,
        }
        return setting | super().to_dict()

    def _title(self) -> str:
        first, second = self.share * self.epsilon, (1.0 - self.share) * self.epsilon
        return (
            "Metric differential privacy for each word\n"
            f"  ε·d is {first:.4g} per unit of Euclidean distance, plus {second:.4g} per unit of the largest "
            f"distance over {len(self.regions)} regions, {self.embedding.dim} dimensions\n"
            f"  {self._vocabulary()}"
        )


@dataclass(frozen=True, eq=False)
class WithinGuarantee(GroupGuarantee):
    """Pr[M(w) = u] ≤ exp(ε·d_{A_r}(w, w'))·Pr[M(w') = u] for words of one region r; nothing else is promised.

    Attributes
    ----------
    epsilon : float
        ε, per unit of the distance of the region.
    regions : Regions
        The public regions, and the metric of each.
    embedding : Embedding
        The public words and vectors.
    """

    epsilon: float
    regions: Regions = field(repr=False)
    embedding: Embedding = field(repr=False)

    @property
    def groups(self) -> Ints:  # type: ignore[override]  # read-only there too
        """The region of each word."""
        return self.regions.labels

    def _within(self, ids: Ints, others: Ints) -> Floats:
        result, labels = np.zeros(len(ids)), self.regions.labels[ids]
        places = places_of(self.embedding)
        for region in np.unique(labels):
            chosen = np.flatnonzero(labels == region)
            for start in range(0, len(chosen), _PAIRS):
                part = chosen[start : start + _PAIRS]
                white = _differences(places, ids[part], others[part]) @ self.regions.whitening(int(region))
                result[part] = self.epsilon * np.sqrt(np.einsum("ij,ij->i", white, white))
        return result

    def _worst_within(self) -> Bracket:
        rows = places_of(self.embedding)[:-1] @ self.regions.whitening(0)
        pair, upper = enclosing_diameter(rows)
        lower = float(self._within(np.array(pair[:1]), np.array(pair[1:]))[0])
        return Bracket(lower * (1.0 - 1e-9), self.epsilon * upper)
