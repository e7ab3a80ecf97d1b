"""What is promised about a word and about several, in numbers and in words."""

import math
import textwrap
from dataclasses import dataclass, field
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.embedding import Embedding
from wordveil.errors import check_whole
from wordveil.metric import Bracket, Metric
from wordveil.noise import check_epsilon

__all__ = [
    "COLUMNS",
    "EMPTY",
    "LENGTH",
    "ORDER",
    "ROW_ORDER",
    "Exponents",
    "MetricGuarantee",
    "at_least",
    "at_most",
    "factor",
]

_RANKS: Final = (1, 10, 100)
_SAMPLE: Final = 1000
_BLOCK_ROWS: Final = 1024  # times a sample of 1,000 words, a few such tables at once: tens of MB
_WIDTH: Final = 100
_STRONG: Final = 1.1
_MODERATE: Final = 5.0
LENGTH: Final = "the number of words in a text"
ORDER: Final = "the order of the words and of the texts"
ROW_ORDER: Final = "the order of the texts"
EMPTY: Final = "which texts are empty or missing"
COLUMNS: Final = "whatever else is published beside the text"


class Exponents(NamedTuple):
    """ε·d over a sample of words: its median, 5th and 95th percentile."""

    median: float
    p5: float
    p95: float


@dataclass(frozen=True, eq=False)
class MetricGuarantee:
    """Pr[M(w) = u] ≤ exp(ε·d(w, w'))·Pr[M(w') = u] for all words w, w', u, and what that comes to.

    Attributes
    ----------
    epsilon : float
        ε, per unit of distance.
    metric : Metric
        The distance d.
    embedding : Embedding
        The public words and vectors.

    Examples
    --------
    >>> emb = Embedding(["a", "b", "c"], [[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]], public=True)
    >>> promise = MetricGuarantee(2.0, Metric.from_embedding(emb, lam=0.0), emb)
    >>> round(promise.exponent("a", "b"), 6)
    10.0
    >>> round(promise.neighbours[1].median, 6)
    2.0
    """

    epsilon: float
    metric: Metric
    embedding: Embedding = field(repr=False)

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon, "MetricGuarantee")

    def exponent(self, word: str, other: str) -> float:
        """Return ε·d between two words: exp of it is how much the odds between them can change."""
        distance = self.metric.distance(self.embedding.vector(word), self.embedding.vector(other))
        return self.epsilon * float(distance)

    def nearest(self, word: str, k: int) -> list[tuple[str, float]]:
        """Return the `k` words nearest to a word in this metric, with ε·d to each."""
        k = check_whole(k, "k", "nearest", 1)
        number = self.embedding.id_of(word)
        centre = self.embedding.vector(word).astype(np.float64)
        distances = np.empty(len(self.embedding))
        for start in range(0, len(distances), _BLOCK_ROWS):
            block = self.embedding.vectors[start : start + _BLOCK_ROWS] - centre
            distances[start : start + _BLOCK_ROWS] = self.metric.norm(block)
        distances[number] = np.inf
        best = np.argsort(distances, kind="stable")[: min(k, len(distances) - 1)]
        return [(self.embedding.words[i], self.epsilon * float(distances[i])) for i in best]

    @cached_property
    def neighbours(self) -> dict[int, Exponents]:
        """ε·d to the 1st, 10th and 100th neighbour, over a fixed public sample of 1,000 words."""
        count = len(self.embedding)
        ranks = [rank for rank in _RANKS if rank < count]
        sample = np.unique(np.linspace(0, count - 1, min(_SAMPLE, count)).astype(np.int64))
        distances = _neighbour_distances(self.metric, self.embedding, sample, ranks)
        quantiles = self.epsilon * np.quantile(distances, [0.5, 0.05, 0.95], axis=0)
        return {rank: Exponents(*quantiles[:, i].tolist()) for i, rank in enumerate(ranks)}

    @property
    def worst_case(self) -> Bracket:
        """A bracket of ε·diameter; its upper end is the ε of ordinary local differential privacy, a word."""
        lower, upper = self.metric.diameter()
        return Bracket(self.epsilon * lower, self.epsilon * upper)

    @property
    def euclidean_epsilon(self) -> Bracket:
        """ε per unit of Euclidean distance: from that in the loosest direction to that in the tightest.

        The upper end is the ε of the Euclidean promise that this one implies.
        """
        bounds = self.metric.euclidean_bounds()
        return Bracket(self.epsilon * bounds.lower, self.epsilon * bounds.upper)

    def composed(self, words: int = 1, releases: int = 1) -> float:
        """Return the ε of local differential privacy of texts of so many words, released so many times."""
        words = check_whole(words, "words", "composed", 1)
        releases = check_whole(releases, "releases", "composed", 1)
        return words * releases * self.worst_case.upper

    @property
    def not_covered(self) -> tuple[str, ...]:
        """What the output shows of the input all the same."""
        return (LENGTH, EMPTY, ORDER, COLUMNS)

    def to_dict(self) -> dict[str, Any]:
        """Return the same facts for machines."""
        return {
            "epsilon": self.epsilon,
            "lam": self.metric.lam,
            "dims": self.metric.dim,
            "fingerprint": self.embedding.fingerprint,
            "words": len(self.embedding),
            "exponent_to_neighbour": {str(k): v._asdict() for k, v in self.neighbours.items()},
            "worst_case_exponent": self.worst_case._asdict(),
            "local_dp_epsilon_per_word": self.worst_case.upper,
            "euclidean_epsilon": self.euclidean_epsilon._asdict(),
            "composition": "exponents add up over the words of a text and over releases",
            "not_covered": list(self.not_covered),
        }

    def __str__(self) -> str:
        """Return the promise as a person reads it."""
        return "\n\n".join([self.about_words(), self._sums(), self._limits()])

    def about_words(self) -> str:
        """Return the part of the promise that is about one word."""
        return "\n\n".join([self._title(), _MEANING, self._table(), self._example(), self._euclidean()])

    def _title(self) -> str:
        metric = "Euclidean" if self.metric.lam == 0.0 else "Mahalanobis"
        return (
            "Metric differential privacy for each word\n"
            f"  ε = {self.epsilon:g} per unit of {metric} distance (λ = {self.metric.lam:g}), "
            f"{self.metric.dim} dimensions\n"
            f"  {len(self.embedding):,} words, {_called(self.embedding)}"
            f"fingerprint {self.embedding.fingerprint[:16]}"
        )

    def _table(self) -> str:
        rows = [("between a word and", "ε·d: median (5th to 95th percentile)", "odds change by at most")]
        for rank, e in self.neighbours.items():
            name = "its nearest word" if rank == 1 else f"its {rank}th nearest"
            spread = f"{at_most(e.median)} ({at_least(e.p5)} to {at_most(e.p95)})"
            rows.append((name, spread, factor(e.median)))
        worst = at_most(self.worst_case.upper)
        rows.append(("any other word", f"at most {worst} *", factor(self.worst_case.upper)))
        note = (
            f"  * {worst} is the ε of ordinary local differential privacy; "
            f"some pair of words has {at_least(self.worst_case.lower)}."
        )
        return "\n".join([*(f"  {a:20}  {b:38}  {c}" for a, b, c in rows), note])

    def _example(self) -> str:
        typical = self.neighbours[1].median
        return _wrapped(
            "Say that someone holds a typical word and its nearest neighbour for equally likely. After "
            f"seeing the output, their odds are at most {factor(typical)} to 1. {_verdict(typical)}"
        )

    def _sums(self) -> str:
        once, twice = at_most(self.composed(10), 0), at_most(self.composed(10, 2), 0)
        return _wrapped(
            "Exponents add up over the words of a text and over releases: for any two texts of 10 words, ε·d "
            f"is at most {once} in all, and {twice} if both are released twice."
        )

    def _euclidean(self) -> str:
        euclidean = self.euclidean_epsilon
        if self.metric.lam == 0.0:
            return _wrapped("Distances are Euclidean, in the units of the vectors.")
        return _wrapped(
            f"In Euclidean terms ε lies between {_significant(euclidean.lower, ROUND_FLOOR)} and "
            f"{_significant(euclidean.upper, ROUND_CEILING)} per unit of distance, depending on the "
            "direction."
        )

    def _limits(self) -> str:
        return _wrapped(f"Not covered: {'; '.join(self.not_covered)}.")


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _WIDTH)


_MEANING: Final = _wrapped(
    "Whatever word comes out, it is at most exp(ε·d) times as likely for one input word as for another at "
    "distance d. So whoever sees it, whatever else they know, can change their odds between the two by that "
    "factor at most:"
)


def _verdict(exponent: float) -> str:
    if exponent <= _STRONG:
        return "That is strong: close words can hardly be told apart."
    if exponent <= _MODERATE:
        return "That is moderate: close words blend, distant ones can be told apart."
    return (
        "Taken alone that is too weak to rely on: it does not exclude that the word is recognised. A smaller "
        "ε promises more. How often words really stay is a thing to measure, not a promise."
    )


def _called(embedding: Embedding) -> str:
    return f"called {embedding.provenance.name}, " if embedding.provenance.name else ""


def at_most(number: float, digits: int = 1) -> str:
    """Return an upper bound for people: never below the number itself.

    Examples
    --------
    >>> at_most(142.726), at_most(1234.01, 0), at_most(1.0014, 2), at_most(2.5)
    ('142.8', '1,235', '1.01', '2.5')
    """
    return _rounded(number, digits, ROUND_CEILING)


def at_least(number: float, digits: int = 1) -> str:
    """Return a lower bound for people: never above the number itself.

    Examples
    --------
    >>> at_least(142.79), at_least(0.19, 1)
    ('142.7', '0.1')
    """
    return _rounded(number, digits, ROUND_FLOOR)


def _rounded(number: float, digits: int, direction: str) -> str:
    if not math.isfinite(number):
        return str(number)
    # As many digits as the largest float has, since a context of fewer would refuse it.
    exact = Decimal(number).quantize(Decimal(1).scaleb(-digits), direction, Context(prec=400))
    return f"{exact:,}"


def _significant(number: float, direction: str, digits: int = 3) -> str:
    return f"{float(Context(prec=digits, rounding=direction).create_decimal_from_float(number)):g}"


def factor(exponent: float) -> str:
    """Return exp(exponent) as people read it, rounded up.

    Examples
    --------
    >>> factor(0.5), factor(3.0), factor(41.0)
    ('1.7', '21', '10^17.9')
    """
    if exponent < math.log(100.0):
        value = math.exp(exponent)
        return at_most(value, 1 if value < 10.0 else 0)
    if exponent < math.log(1e6):
        return at_most(math.exp(exponent), 0)
    return f"10^{at_most(exponent / math.log(10.0))}"


def _neighbour_distances(
    metric: Metric, embedding: Embedding, sample: NDArray[np.int64], ranks: list[int]
) -> NDArray[np.float64]:
    """Return the distances from each word of the sample to its neighbours of those ranks, in blocks.

    Differences of squares find the neighbours; far from the origin they would cancel, so that the vectors are
    centred first. The distances themselves are then taken from the differences of the vectors.
    """
    vectors, centre, most = embedding.vectors, embedding.centroid, max(ranks)
    points = metric.whiten(vectors[sample] - centre)
    squares = np.einsum("ij,ij->i", points, points)
    best, nearest = np.full((len(sample), most), np.inf), np.zeros((len(sample), most), dtype=np.int64)
    for start in range(0, len(vectors), _BLOCK_ROWS):
        block = metric.whiten(vectors[start : start + _BLOCK_ROWS] - centre)
        distances = squares[:, None] + np.einsum("ij,ij->i", block, block) - 2.0 * points @ block.T
        itself = np.flatnonzero((sample >= start) & (sample < start + len(block)))
        distances[itself, sample[itself] - start] = np.inf
        both = np.concatenate((best, distances), axis=1)
        numbers = np.broadcast_to(np.arange(start, start + len(block)), distances.shape)
        chosen = np.argpartition(both, most - 1, axis=1)[:, :most]
        best = np.take_along_axis(both, chosen, axis=1)
        nearest = np.take_along_axis(np.concatenate((nearest, numbers), axis=1), chosen, axis=1)
    result = np.empty((len(sample), len(ranks)))
    for row, number in enumerate(sample):
        differences = vectors[nearest[row]].astype(np.float64) - vectors[number]
        result[row] = np.sort(np.asarray(metric.norm(differences)))[[rank - 1 for rank in ranks]]
    return result
