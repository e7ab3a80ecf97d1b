"""What is promised about words, in numbers and in sentences."""

import textwrap
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordveil.embedding import Embedding
from wordveil.embedding.fingerprint import fingerprint_of_projection
from wordveil.errors import ParameterError, UnknownNameError, check_whole
from wordveil.metric import Bracket, Metric, projection_factor
from wordveil.neighbours import neighbour_distances, sample_ids
from wordveil.noise import check_epsilon
from wordveil.rounding import (
    at_least,
    at_most,
    factor,
    has_limit,
    significant_above,
    significant_below,
    strength,
)

__all__ = ["COLUMNS", "EMPTY", "LENGTH", "ORDER", "ROW_ORDER", "Exponents", "Guarantee", "MetricGuarantee"]

_RANKS: Final = (1, 10, 100)  # neighbours that are reported: the nearest, similar words, and a wider field
_PAIR_NUMBERS: Final = 1 << 20  # numbers in a table of differences: 8 MB
_SAMPLED_PAIRS: Final = 4_000_000  # more pairs are more exact, and take longer: these take a few seconds
_WIDTH: Final = 100  # characters per line
LENGTH: Final = "the number of words in a text"
ORDER: Final = "the order of the words and of the texts"
ROW_ORDER: Final = "the order of the texts"
EMPTY: Final = "which texts are empty or missing"
COLUMNS: Final = "whatever else is published beside the text"
_OF_TEXTS: Final = (LENGTH, EMPTY, ORDER, ROW_ORDER, COLUMNS)


class Exponents(NamedTuple):
    """Exponents over a sample of words: their median, 5th and 95th percentile."""

    median: float
    p5: float
    p95: float


class Guarantee(ABC):
    """Pr[M(w) = u] ≤ exp(e(w, w'))·Pr[M(w') = u] for all words w, w', u: the exponent e in numbers and words.

    A mechanism of your own can return a `MetricGuarantee` if its exponent is ε times a distance. For any
    other, derive from this class and write `exponents` and `worst_case`; everything else follows from them.

    Attributes
    ----------
    embedding : Embedding
        The public words and vectors.
    """

    embedding: Embedding

    @abstractmethod
    def exponents(self, ids: ArrayLike, others: ArrayLike) -> NDArray[np.float64]:
        """Return the exponent of each pair of word ids; -1 is the centroid. Shapes broadcast as in NumPy."""

    @property
    @abstractmethod
    def worst_case(self) -> Bracket:
        """A bracket of the largest exponent between any words, or a word and the centroid.

        Its upper end is the ε of ordinary local differential privacy for one word.
        """

    @property
    def distance(self) -> tuple[float, str] | None:
        """ε and the name of the distance, if the exponent is ε times a distance; otherwise None.

        Two releases whose distances have the same name add up like one release at the sum of their ε.
        """
        return None

    def exponent(self, word: str, other: str) -> float:
        """Return the exponent between two words: exp of it is how much the odds between them can change."""
        return float(self.exponents(self._id_of(word), self._id_of(other)))

    def _id_of(self, word: str) -> int:
        word_id = self.embedding.id_of(word)
        if word_id is None:
            raise UnknownNameError("The word is not in the vocabulary, so it has no exponent of its own.")
        return word_id

    def nearest(self, word: str, k: int) -> list[tuple[str, float]]:
        """Return the `k` words with the smallest exponents to a word, and these exponents."""
        k = check_whole(k, "k", "nearest", 1)
        word_id = self._id_of(word)
        exponents = self._to_all_others(word_id)
        best = np.argsort(exponents, kind="stable")[: min(k, len(exponents) - 1)]
        return [(self.embedding.words[i], float(exponents[i])) for i in best]

    def _to_all_others(self, word_id: int) -> NDArray[np.float64]:
        """Return the exponents between a word and all words; infinite to itself."""
        # A copy, and of floats: a guarantee of a user may return whole numbers, such as distances in a graph.
        exponents = np.array(self.exponents(word_id, np.arange(len(self.embedding))), dtype=np.float64)
        exponents[word_id] = np.inf
        return exponents

    @cached_property
    def neighbours(self) -> dict[int, Exponents]:
        """The exponent to the 1st, 10th and 100th neighbour, over a fixed public sample of words."""
        count = len(self.embedding)
        ranks = tuple(rank for rank in _RANKS if rank < count)
        sample = sample_ids(count, max(10, _SAMPLED_PAIRS // count))
        rows = []
        for word_id in sample:
            exponents = self._to_all_others(int(word_id))
            rows.append(np.partition(exponents, [rank - 1 for rank in ranks])[[rank - 1 for rank in ranks]])
        return _summary(np.array(rows), ranks)

    def projection_factor(self, original: Embedding) -> float | None:  # noqa: ARG002  # subclasses use it
        """Return how many times longer distances can be here than in the vectors they are projected from.

        None if these are no projection of them, or if the exponent is not ε times a distance.
        """
        return None

    def composed(self, words: int = 1, releases: int = 1) -> float:
        """Return the ε of local differential privacy for texts of that many words, released that often."""
        words = check_whole(words, "words", "composed", 1)
        releases = check_whole(releases, "releases", "composed", 1)
        return words * releases * self.worst_case.upper

    @property
    def covered_share(self) -> float:
        """The share of all pairs of different words that anything is promised about."""
        return 1.0

    @property
    def not_covered(self) -> tuple[str, ...]:
        """What the output still shows of the input."""
        return (LENGTH, EMPTY, ORDER, COLUMNS)

    @property
    def shown_of_words(self) -> tuple[str, ...]:
        """What the output shows of each word, whatever is done with texts."""
        return tuple(entry for entry in self.not_covered if entry not in _OF_TEXTS)

    def to_dict(self) -> dict[str, Any]:
        """Return the same facts as plain JSON values."""
        return {
            "fingerprint": self.embedding.fingerprint,
            "words": len(self.embedding),
            "exponent_to_neighbour": {str(k): v._asdict() for k, v in self.neighbours.items()},
            "worst_case_exponent": self.worst_case._asdict(),
            "local_dp_epsilon_per_word": self.worst_case.upper,
            "composition": "exponents add up over the words of a text and over releases",
            "not_covered": list(self.not_covered),
        }

    def __str__(self) -> str:
        """Return the promise in readable form."""
        return "\n\n".join([self.about_words(), self._sums(), self._limits()])

    def about_words(self) -> str:
        """Return the part of the promise that is about one word."""
        return "\n\n".join(filter(None, [self._title(), self._meaning(), self._table(), self._example()]))

    def _title(self) -> str:
        return f"Differential privacy for each word\n  {self._vocabulary()}"

    def _vocabulary(self) -> str:
        name = self.embedding.provenance.name
        called = f"called {name}, " if name else ""
        return f"{len(self.embedding):,} words, {called}fingerprint {self.embedding.fingerprint[:16]}"

    def _meaning(self) -> str:
        return _wrapped(
            f"Whatever word comes out, it is at most exp({_symbol(self, '')}) times as likely for one input "
            f"word as for another{' at distance d' if self.distance else ''}. So whoever sees it, whatever "
            "else they know, can change their odds between the two by that factor at most:"
        )

    def _table(self) -> str:
        heading = f"{_symbol(self)}: median (5th to 95th percentile)"
        rows = [("between a word and", heading, "odds change by at most")]
        for rank, exponents in self.neighbours.items():
            name = "its nearest word" if rank == 1 else f"its {rank}th nearest"
            spread = f"{at_most(exponents.median)} ({at_least(exponents.p5)} to {at_most(exponents.p95)})"
            rows.append((name, spread, factor(exponents.median)))
        worst = at_most(self.worst_case.upper)
        rows.append(("any other word", f"at most {worst} *", factor(self.worst_case.upper)))
        note = (
            f"  * {worst} is the ε of ordinary local differential privacy; "
            f"some pair of words has {at_least(self.worst_case.lower)}."
        )
        return "\n".join([*(f"  {a:20}  {b:38}  {c}" for a, b, c in rows), note])

    def _example(self) -> str:
        typical = self.neighbours[1].median
        limit = f"are at most {factor(typical)} to 1" if has_limit(typical) else "have no useful limit"
        return _wrapped(
            "Suppose someone considers a typical word and its nearest neighbour equally likely. After "
            f"seeing the output, their odds {limit}. {strength(typical)}"
        )

    def _sums(self) -> str:
        once, twice = at_most(self.composed(10), 0), at_most(self.composed(10, 2), 0)
        return _wrapped(
            "Exponents add up over the words of a text and over releases: for any two texts of 10 words, "
            f"{_symbol(self)} is at most {once} in all, and {twice} if both are released twice."
        )

    def _limits(self) -> str:
        return _wrapped(f"Not covered: {'; '.join(self.not_covered)}.")


@dataclass(frozen=True, eq=False)
class MetricGuarantee(Guarantee):
    """Pr[M(w) = u] ≤ exp(ε·d(w, w'))·Pr[M(w') = u] for all words w, w', u: metric differential privacy.

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
    >>> promise.exponents([0, 0], [1, 2]).round(6).tolist()
    [10.0, 2.0]
    >>> round(promise.neighbours[1].median, 6)
    2.0
    """

    epsilon: float
    metric: Metric
    embedding: Embedding = field(repr=False)

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon, "MetricGuarantee")
        if not self.metric.belongs_to(self.embedding):
            raise ParameterError(
                "The metric of a MetricGuarantee must be made from its embedding. "
                "Hint: Metric.from_embedding(embedding, lam)."
            )

    def exponents(self, ids: ArrayLike, others: ArrayLike) -> NDArray[np.float64]:
        """Return ε·d of each pair of word ids; -1 is the centroid. Shapes broadcast as in NumPy."""
        left, right = np.broadcast_arrays(np.asarray(ids, np.int64), np.asarray(others, np.int64))
        pairs = np.stack((left.ravel(), right.ravel()), axis=1)
        distances = np.empty(len(pairs))
        step = max(1, _PAIR_NUMBERS // self.metric.dim)
        for start in range(0, len(pairs), step):
            block = pairs[start : start + step]
            distances[start : start + step] = self.metric.distance(
                self._vectors(block[:, 0]), self._vectors(block[:, 1])
            )
        return np.asarray(self.epsilon * distances.reshape(left.shape))

    def _vectors(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        vectors = self.embedding.vectors[ids].astype(np.float64)
        vectors[ids < 0] = self.embedding.centroid
        return vectors

    @cached_property
    def neighbours(self) -> dict[int, Exponents]:
        """ε·d to the 1st, 10th and 100th neighbour, over a fixed public sample of 1,000 words."""
        ranks = tuple(rank for rank in _RANKS if rank < len(self.embedding))
        return _summary(self.epsilon * neighbour_distances(self.metric, self.embedding, ranks), ranks)

    @property
    def worst_case(self) -> Bracket:
        """A bracket of ε·diameter; its upper end is the ε of ordinary local DP for one word."""
        lower, upper = self.metric.diameter()
        return Bracket(self.epsilon * lower, self.epsilon * upper)

    @property
    def distance(self) -> tuple[float, str]:
        """ε and the name of the distance: λ and the dimensions; the ledger keeps the vectors beside it."""
        return self.epsilon, f"lam={self.metric.lam:.17g} dims={self.metric.dim}"

    def projection_factor(self, original: Embedding) -> float | None:
        """Return how many times longer distances can be here than in the vectors they are projected from."""
        dim = self.embedding.dim
        if self.embedding.fingerprint != fingerprint_of_projection(original.fingerprint, dim):
            return None
        return projection_factor(original, self.metric.lam, dim)

    @property
    def euclidean_epsilon(self) -> Bracket:
        """ε per unit of Euclidean distance: from that in the loosest direction to that in the tightest.

        The upper end is the ε of the Euclidean promise that this one implies.
        """
        bounds = self.metric.euclidean_bounds()
        return Bracket(self.epsilon * bounds.lower, self.epsilon * bounds.upper)

    def to_dict(self) -> dict[str, Any]:
        """Return the same facts as plain JSON values."""
        facts = super().to_dict()
        limits = {name: facts.pop(name) for name in ("composition", "not_covered")}
        setting = {"epsilon": self.epsilon, "lam": self.metric.lam, "dims": self.metric.dim}
        return setting | facts | {"euclidean_epsilon": self.euclidean_epsilon._asdict()} | limits

    def about_words(self) -> str:
        """Return the part of the promise that is about one word."""
        return f"{super().about_words()}\n\n{self._euclidean()}"

    def _title(self) -> str:
        metric = "Euclidean" if self.metric.lam == 0.0 else "Mahalanobis"
        return (
            "Metric differential privacy for each word\n"
            f"  ε = {self.epsilon:g} per unit of {metric} distance (λ = {self.metric.lam:g}), "
            f"{self.metric.dim} dimensions\n  {self._vocabulary()}"
        )

    def _euclidean(self) -> str:
        epsilon = self.euclidean_epsilon
        if self.embedding.is_map:
            return _wrapped(
                "Distances are those on a public map of words. No inequality relates them to distances in "
                "the vectors that it was made from, so this ε can't be compared with an ε elsewhere."
            )
        if self.metric.lam == 0.0:
            return _wrapped("Distances are Euclidean, in the units of the vectors.")
        return _wrapped(
            f"In Euclidean terms ε lies between {significant_below(epsilon.lower)} and "
            f"{significant_above(epsilon.upper)} per unit of distance, depending on the direction."
        )


def _symbol(guarantee: Guarantee, article: str = "the ") -> str:
    return f"{article}exponent" if guarantee.distance is None else "ε·d"


def _summary(exponents: NDArray[np.float64], ranks: tuple[int, ...]) -> dict[int, Exponents]:
    quantiles = np.quantile(exponents, [0.5, 0.05, 0.95], axis=0)
    return {rank: Exponents(*quantiles[:, i].tolist()) for i, rank in enumerate(ranks)}


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _WIDTH)
