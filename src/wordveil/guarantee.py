"""What is promised about a word and about several, in numbers and in words."""

import math
import textwrap
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.embedding import Embedding
from wordveil.errors import check_whole
from wordveil.metric import Bracket, Metric
from wordveil.noise import check_epsilon

__all__ = ["COLUMNS", "EMPTY", "LENGTH", "ORDER", "ROW_ORDER", "Exponents", "Guarantee", "factor"]

_RANKS: Final = (1, 10, 100)
_SAMPLE: Final = 1000
_BLOCK_ROWS: Final = 4096
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
class Guarantee:
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
    >>> emb = Embedding(["a", "b", "c"], [[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]])
    >>> promise = Guarantee(2.0, Metric.from_embedding(emb, lam=0.0), emb)
    >>> round(promise.exponent("a", "b"), 6)
    10.0
    >>> round(promise.neighbours[1].median, 6)
    2.0
    """

    epsilon: float
    metric: Metric
    embedding: Embedding = field(repr=False)

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon, "Guarantee")

    def exponent(self, word: str, other: str) -> float:
        """Return ε·d between two words: exp of it is how much the odds between them can change."""
        return self.epsilon * float(
            self.metric.distance(self.embedding.vector(word), self.embedding.vector(other))
        )

    def nearest(self, word: str, k: int) -> list[tuple[str, float]]:
        """Return the `k` words nearest to a word in this metric, with ε·d to each."""
        k = check_whole(k, "k", "nearest", 1)
        number = self.embedding.id_of(word)
        centre = self.metric.whiten(self.embedding.vector(word))
        distances = np.empty(len(self.embedding))
        for start in range(0, len(distances), _BLOCK_ROWS):
            block = self.metric.whiten(self.embedding.vectors[start : start + _BLOCK_ROWS])
            distances[start : start + _BLOCK_ROWS] = np.linalg.norm(block - centre, axis=1)
        distances[number] = np.inf
        best = np.argsort(distances, kind="stable")[: min(k, len(distances) - 1)]
        return [(self.embedding.words[i], self.epsilon * float(distances[i])) for i in best]

    @cached_property
    def neighbours(self) -> dict[int, Exponents]:
        """ε·d to the 1st, 10th and 100th neighbour, over a fixed public sample of 1,000 words."""
        count = len(self.embedding)
        ranks = [rank for rank in _RANKS if rank < count]
        sample = np.unique(np.linspace(0, count - 1, min(_SAMPLE, count)).astype(np.int64))
        distances = _neighbour_distances(self.metric, self.embedding.vectors, sample, ranks)
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
            "embedding": self.embedding.provenance.name,
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
            f"  {len(self.embedding):,} public words of {self.embedding.provenance.name or 'no name'}, "
            f"fingerprint {self.embedding.fingerprint[:16]}"
        )

    def _table(self) -> str:
        rows = [("between a word and", "ε·d: median (5th to 95th percentile)", "odds change by at most")]
        for rank, e in self.neighbours.items():
            name = "its nearest word" if rank == 1 else f"its {rank}th nearest"
            rows.append((name, f"{e.median:.1f} ({e.p5:.1f} to {e.p95:.1f})", factor(e.median)))
        worst = self.worst_case
        rows.append(("any other word", f"at most {worst.upper:.1f} *", factor(worst.upper)))
        note = (
            f"  * {worst.upper:.1f} is the ε of ordinary local differential privacy; "
            f"some pair of words has {worst.lower:.1f}."
        )
        return "\n".join([*(f"  {a:20}  {b:38}  {c}" for a, b, c in rows), note])

    def _example(self) -> str:
        typical = self.neighbours[1].median
        return _wrapped(
            "Say that someone holds a typical word and its nearest neighbour for equally likely. After "
            f"seeing the output, their odds are at most {factor(typical)} to 1. {_verdict(typical)}"
        )

    def _sums(self) -> str:
        return _wrapped(
            "Exponents add up over the words of a text and over releases: for any two texts of 10 words, ε·d "
            f"is at most {self.composed(10):,.0f} in all, and {self.composed(10, 2):,.0f} if both are "
            "released twice."
        )

    def _euclidean(self) -> str:
        euclidean = self.euclidean_epsilon
        if self.metric.lam == 0.0:
            return _wrapped("Distances are Euclidean, in the units of the vectors.")
        return _wrapped(
            f"In Euclidean terms ε lies between {euclidean.lower:.3g} and {euclidean.upper:.3g} per unit of "
            "distance, depending on the direction."
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


def factor(exponent: float) -> str:
    """Return exp(exponent) as people read it.

    Examples
    --------
    >>> factor(0.5), factor(3.0), factor(41.0)
    ('1.6', '20', '10^17.8')
    """
    if exponent < math.log(100.0):
        value = math.exp(exponent)
        return f"{value:.1f}" if value < 10.0 else f"{value:.0f}"
    if exponent < math.log(1e6):
        return f"{math.exp(exponent):,.0f}"
    return f"10^{exponent / math.log(10.0):.1f}"


def _neighbour_distances(
    metric: Metric, vectors: NDArray[np.float32], sample: NDArray[np.int64], ranks: list[int]
) -> NDArray[np.float64]:
    """Return the distances from each word of the sample to its neighbours of those ranks, in blocks."""
    points = metric.whiten(vectors[sample])
    squares = np.einsum("ij,ij->i", points, points)
    most = max(ranks)
    best = np.full((len(sample), most), np.inf)
    for start in range(0, len(vectors), _BLOCK_ROWS):
        block = metric.whiten(vectors[start : start + _BLOCK_ROWS])
        distances = squares[:, None] + np.einsum("ij,ij->i", block, block) - 2.0 * points @ block.T
        itself = np.flatnonzero((sample >= start) & (sample < start + len(block)))
        distances[itself, sample[itself] - start] = np.inf
        best = np.partition(np.concatenate((best, distances), axis=1), most - 1, axis=1)[:, :most]
    best.sort(axis=1)
    return np.asarray(np.sqrt(np.maximum(best[:, [rank - 1 for rank in ranks]], 0.0)))
