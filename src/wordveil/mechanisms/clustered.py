"""Noise in the shape of a region of the vocabulary, with a region that is itself chosen privately."""

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import PrivacyWarning, caller_level, check_real, check_whole, parameter_error
from wordveil.guarantee import Guarantee
from wordveil.mechanisms.base import JSON
from wordveil.mechanisms.clustered_channel import ClusteredChannel
from wordveil.mechanisms.clustered_guarantee import ClusteredGuarantee, WithinGuarantee
from wordveil.mechanisms.options import Option, fraction_option
from wordveil.mechanisms.placed import PlacedMechanism
from wordveil.mechanisms.places import places_of, search_of
from wordveil.mechanisms.regions import Regions, regions_of
from wordveil.nearest import AutomaticSearch
from wordveil.nearest.threads import draw_in_slices
from wordveil.noise import eigen_noise
from wordveil.randomness import Stream

__all__ = ["Clustered"]

# The shape of a region is then estimated from 132 words on average, fewer than the default vectors have
# dimensions, and the table of log-probabilities takes 69 MB. More regions would only cost memory.
_MOST_REGIONS: Final = 256
_BLOCK: Final = 4096  # draws at a time: their noise takes 10 MB at 300 dimensions

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False, repr=False)
class Clustered(PlacedMechanism):
    """Two stages: a region of the vocabulary is chosen privately, then noise of that region's shape is added.

    Guarantee: Pr[M(w) = u] ≤ exp(ε₁·d₂(w, w') + ε₂·max_r d_{A_r}(w, w'))·Pr[M(w') = u] for all words w, w',
    u, across regions too, with ε₁ = share·ε and ε₂ = (1 - share)·ε.

    Why: a region r is drawn with probability ∝ exp(-(ε₁/2)·‖φ(w) - c_r‖₂), where c_r is its centre: between
    two words each weight, and the sum of all weights, changes by a factor of at most exp((ε₁/2)·d₂(w, w')).
    Given r, v = φ(w) + Z with density ∝ exp(-ε₂·‖z‖_{A_r}), which changes by at most exp(ε₂·d_{A_r}(w, w')).
    The density of (r, v) is the product of both, and the answer is a function of (r, v) and public data. The
    shape of the noise never depends on w itself, only on the region that was drawn.

    Parameters
    ----------
    embedding : Embedding
        Public words and vectors, fixed before the private text is read.
    epsilon : float
        ε, finite and positive: smaller is more private. It has no default.
    lam : float
        λ in [0, 1]: how far the noise follows the shape of a region.
    regions : int
        How many regions: clusters of the vocabulary by k-means.
    share : float
        The share of ε that the choice of a region uses.
    unsafe_within : bool
        Use the noise of the word's own region and answer with a word of it: the output shows the region.

    Examples
    --------
    >>> from wordveil.embedding import load_embedding
    >>> from wordveil.randomness import insecure_stream
    >>> mechanism = Clustered(load_embedding().project(10), epsilon=8.0)
    >>> len(mechanism.perturb_ids([3, 5, -1], stream=insecure_stream(7)))
    3
    """

    name: ClassVar = "clustered"
    options: ClassVar[tuple[Option, ...]] = (
        fraction_option(
            "lam", "λ, how far the noise follows the shape of a region; 0 is spherical", default=0.5
        ),
        Option("regions", int, "how many regions the vocabulary has", default=16, low=1, high=_MOST_REGIONS),
        Option(
            "share",
            float,
            "the share of ε that the choice of a region uses; the noise uses the rest",
            default=0.2,
            low=0.01,
            high=0.99,
        ),
        Option(
            "unsafe_within",
            bool,
            "noise and answers of the word's own region, which the output then shows",
            default=False,
        ),
    )
    paper: ClassVar = (
        "after Xu, Aggarwal, Feyisetan and Teissier (2020), whose conclusion asks for covariance matrices of "
        "clusters"
    )

    lam: float = 0.5
    regions: int = 16
    share: float = 0.2
    unsafe_within: bool = False
    shapes: Regions = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        owner = type(self).__name__
        share = check_real(self.share, "share", owner, "be in [0.01, 0.99]", 0.01, 0.99)
        count = check_whole(self.regions, "regions", owner, 1, _MOST_REGIONS)
        if not isinstance(self.unsafe_within, bool):
            raise parameter_error("unsafe_within", owner, "be true or false", self.unsafe_within)
        shapes = regions_of(self.embedding, self.metric, count)
        for name, value in {"share": share, "regions": count, "shapes": shapes}.items():
            object.__setattr__(self, name, value)
        if self.unsafe_within:
            warnings.warn(
                "With unsafe_within, the output shows the region of each word, and nothing is promised about "
                "words of different regions.",
                PrivacyWarning,
                stacklevel=caller_level(),
            )

    def parameters(self) -> dict[str, JSON]:
        """Return ε, λ, the regions with their fingerprint, the share, and whether the region is shown."""
        return self._values_of_options() | {"regions_fingerprint": self.shapes.fingerprint}

    @property
    def noise_epsilon(self) -> float:
        """ε₂, of the noise."""
        return self.epsilon if self.unsafe_within else (1.0 - self.share) * self.epsilon

    @cached_property
    def guarantee(self) -> Guarantee:
        """What is promised, in numbers and in sentences."""
        if self.unsafe_within:
            return WithinGuarantee(self.epsilon, self.shapes, self._verified)
        return ClusteredGuarantee(self.epsilon, self.share, self.shapes, self._verified, self.lam)

    @cached_property
    def log_regions(self) -> Floats:
        """The log-probability of each region, for each word; the last row is the centroid's."""
        places, shapes = places_of(self.embedding), self.shapes
        if self.unsafe_within:
            own = shapes.labels[:, None] == np.arange(len(shapes))
            return np.where(own, 0.0, -np.inf)
        logs = np.empty((len(places), len(shapes)))
        for region, centre in enumerate(shapes.centres):
            differences = places - centre
            logs[:, region] = np.sqrt(np.einsum("ij,ij->i", differences, differences))
        logs *= -self.share * self.epsilon / 2.0
        logs -= logs.max(axis=1, keepdims=True)
        logs -= np.log(np.exp(logs).sum(axis=1, keepdims=True))
        return logs

    @cached_property
    def _cumulative(self) -> Floats:
        sums = np.exp(self.log_regions).cumsum(axis=1)
        return np.asarray(sums / sums[:, -1:])

    def _chosen_regions(self, ids: Ints, stream: Stream) -> Ints:
        uniforms = stream.uniforms((len(ids),))
        if self.unsafe_within:
            return np.asarray(self.shapes.labels[ids])
        return np.asarray((self._cumulative[ids] <= uniforms[:, None]).sum(axis=1))

    def _noisy_points(self, ids: Ints, regions: Ints, stream: Stream) -> Floats:
        """Return φ(w) + Z, with the noise of each region, in float64 and in the eigenbasis."""
        spheres = eigen_noise(np.ones(self.embedding.dim), self.noise_epsilon, len(ids), stream)
        points = places_of(self.embedding)[ids]
        order = np.argsort(regions, kind="stable")
        bounds = np.searchsorted(regions[order], np.arange(len(self.shapes) + 1))
        for region in np.unique(regions):
            rows = order[bounds[region] : bounds[region + 1]]
            points[rows] += spheres[rows] @ self.shapes.root(int(region)).T
        return points

    def _answers(self, regions: Ints, points: Floats) -> Ints:
        """Return the nearest word of each point; of its region, if that is shown anyway."""
        if not self.unsafe_within:
            return search_of(self.embedding, "cpu").nearest(points)
        answers = np.empty(len(points), np.int64)
        for region in np.unique(regions):
            rows, members = np.flatnonzero(regions == region), self.shapes.members(int(region))
            answers[rows] = members[self._searches[int(region)].nearest(points[rows])]
        return answers

    @cached_property
    def _searches(self) -> list[AutomaticSearch]:
        rows = places_of(self.embedding)[:-1]
        return [AutomaticSearch(rows[self.shapes.members(region)]) for region in range(len(self.shapes))]

    def channel(self) -> ClusteredChannel:
        """Return what an attacker who sees the region and the noisy vector knows."""
        return ClusteredChannel(self)

    def _perturb(self, ids: Ints, stream: Stream) -> Ints:
        answers = np.empty(len(ids), np.int64)

        def draw(block: slice) -> tuple[Ints, Floats]:
            regions = self._chosen_regions(ids[block], stream)
            return regions, self._noisy_points(ids[block], regions, stream)

        def answer(block: slice, drawn: tuple[Ints, Floats]) -> None:
            answers[block] = self._answers(*drawn)

        if len(ids) > _BLOCK:
            self._answers(
                self.shapes.labels[:1], places_of(self.embedding)[:1]
            )  # prepared once, not by each thread
        draw_in_slices(len(ids), _BLOCK, draw, answer)
        return answers
