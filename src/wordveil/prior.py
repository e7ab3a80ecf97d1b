"""How often words are used: what an attacker knows before seeing any output.

A prior must be public, like the vectors. English use comes with the data package wordveil-english. Without
it, or for a vocabulary in another language, shares follow from the order of the vectors ("rank-based").
"""

import hashlib
import math
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordveil.cache import cached_about
from wordveil.embedding import Embedding
from wordveil.embedding.arrays import locked
from wordveil.errors import (
    MachineError,
    ParameterError,
    PrivacyWarning,
    check_real,
    named_type,
    parameter_error,
    sealed,
)
from wordveil.shared import PerEmbedding
from wordveil.word_counts import english_counts, english_fingerprint, read_counts, tally

__all__ = ["Prior", "default_prior", "read_counts"]

_ENGLISH: Final = "english"
_RANK_BASED: Final = "rank-based"
_UNIFORM: Final = "uniform"
# About as many as there are articles, pronouns, prepositions, auxiliaries and the like.
_FUNCTION_WORDS: Final = 200
# What words without a count get together at most; with more, a short list would make the attacker look weak.
_UNCOUNTED: Final = 0.01
# Mandelbrot's shift for English, which flattens the first ranks.
_SHIFT: Final = 2.7
# The share of words outside the default vectors in English, as Prior.english has it: 0.030.
_OUTSIDE: Final = 0.03
_LARGEST_COUNT: Final = 1e200  # no sum of such counts overflows


@dataclass(frozen=True, eq=False, repr=False)
class Prior:
    """How often each word of a vocabulary is used: what an attacker knows before seeing any output.

    Parameters
    ----------
    name : str
        "english", "rank-based", "uniform" or "your own counts", for people and manifests.
    shares : array of shape (number of words + 1,)
        Not negative, with sum 1; copied and read-only. The last, at index -1, is that of all words outside
        the vocabulary together.
    declared_public : bool
        Whether somebody has declared that the shares were not derived from the private text.

    Examples
    --------
    >>> emb = Embedding(["tea", "ice", "fog"], [[0.0], [1.0], [3.0]], public=True)
    >>> prior = Prior.from_counts(emb, {"tea": 4, "ice": 1, "fog": 1, "rain": 2}, public=True)
    >>> prior
    Prior('your own counts', 3 words)
    >>> prior.shares, prior.guess, prior.best_guess
    (array([0.5  , 0.125, 0.125, 0.25 ]), 0.5, 0)
    >>> prior.draw(np.array([0.0, 0.6, 0.9]))
    array([ 0,  1, -1])
    """

    name: str
    shares: NDArray[np.float64]
    declared_public: bool = False

    def __post_init__(self) -> None:
        shares = np.array(self.shares, dtype=np.float64)
        if shares.ndim != 1 or len(shares) < 3:
            raise ParameterError("A Prior must have a share for each word, and one for all other words.")
        if not ((shares >= 0.0).all() and math.isclose(math.fsum(shares), 1.0, abs_tol=1e-9)):
            raise ParameterError("The shares of a Prior must not be negative, and their sum must be 1.")
        object.__setattr__(self, "shares", locked(shares))

    def __repr__(self) -> str:
        return f"Prior('{self.name}', {len(self.shares) - 1:,} words)"

    def __reduce__(self) -> tuple[type["Prior"], tuple[Any, ...]]:
        return Prior, (self.name, np.array(self.shares), self.declared_public)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 in hexadecimal, over the shares in 9 significant digits. The name is not part of it."""
        digits = ",".join(f"{share:.8e}" for share in self.shares.tolist())
        return hashlib.sha256(f"wordveil-prior-1\0{digits}".encode()).hexdigest()

    @property
    def guess(self) -> float:
        """The largest share: how often a guess is right without any output."""
        return float(self.shares.max())

    @property
    def best_guess(self) -> int:
        """The id with the largest share: a word, or -1 for all words outside the vocabulary."""
        return int(self._ids(self.shares.argmax()))

    def _ids(self, positions: ArrayLike) -> NDArray[np.int64]:
        return np.where(np.equal(positions, len(self.shares) - 1), -1, positions).astype(np.int64)

    @property
    def function_words(self) -> int:
        """How many of the most frequent words are not among the content words."""
        return min(_FUNCTION_WORDS, (len(self.shares) - 1) // 10)

    def content(self) -> "Prior":
        """Return the prior of content words: without the 200 most frequent words, and without the outside.

        Of a vocabulary of fewer than 2,000 words, the most frequent tenth is left out.
        """
        shares = np.append(self.shares[:-1], 0.0)
        shares[np.argsort(-shares, kind="stable")[: self.function_words]] = 0.0
        if not shares.any():
            raise ParameterError("A prior without any use of content words has no content().")
        return Prior(f"{self.name}, content words", _normalised(shares), self.declared_public)

    def draw(self, uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return an id for each number in [0, 1), by the inverse of the distribution function.

        If the numbers are uniform, an id comes up as often as its share says. Words outside the vocabulary
        have the id -1.
        """
        numbers = np.asarray(uniforms, dtype=np.float64)
        if not ((numbers >= 0.0) & (numbers < 1.0)).all():
            raise ParameterError("The 'uniforms' parameter of Prior.draw must hold numbers in [0, 1).")
        return self._ids(np.searchsorted(self._cumulative, numbers, side="right"))

    @cached_property
    def _cumulative(self) -> NDArray[np.float64]:
        cumulative = np.cumsum(self.shares)
        return np.asarray(cumulative / cumulative[-1])  # ends at 1 exactly, which no number in [0, 1) reaches

    @classmethod
    def english(cls, embedding: Embedding) -> "Prior":
        """Return the shares of words in English text of about 2021; needs the package wordveil-english.

        It counts numbers of several digits by their length only, as `00` or `0000`: where `00` is a word of
        the vocabulary it has the share of all numbers of two digits, and each of these has the smallest.

        Examples
        --------
        >>> from wordveil.embedding import load_embedding
        >>> emb = load_embedding()
        >>> prior = Prior.english(emb)
        >>> [f"{prior.shares[emb.id_of(word)]:.1e}" for word in ("the", "boston")]
        ['5.4e-02', '4.8e-05']
        """
        return cls(_ENGLISH, _english_shares(embedding), declared_public=True)

    @classmethod
    def by_rank(cls, embedding: Embedding) -> "Prior":
        """Return shares by the order of the vectors alone, for vocabularies in any language.

        The share of the r-th word is proportional to 1/(r + 2.7), the law of Zipf and Mandelbrot for words in
        order of frequency. Most files of vectors are in that order. All words outside have 0.03 together.

        Examples
        --------
        >>> emb = Embedding(["tea", "ice", "fog"], [[0.0], [1.0], [3.0]], public=True)
        >>> Prior.by_rank(emb).shares.round(2)
        array([0.4 , 0.31, 0.26, 0.03])
        """
        words = 1.0 / (np.arange(1.0, len(embedding) + 1.0) + _SHIFT)
        return cls(
            _RANK_BASED, np.append(_normalised(words) * (1.0 - _OUTSIDE), _OUTSIDE), declared_public=True
        )

    @classmethod
    def uniform(cls, embedding: Embedding) -> "Prior":
        """Return equal shares for all words, and the same for all words outside together.

        Examples
        --------
        >>> Prior.uniform(Embedding(["tea", "ice", "fog"], [[0.0], [1.0], [3.0]], public=True)).guess
        0.25
        """
        return cls(_UNIFORM, _normalised(np.ones(len(embedding) + 1)), declared_public=True)

    @classmethod
    @sealed
    def from_counts(
        cls,
        embedding: Embedding,
        counts: Mapping[str, float],
        *,
        public: bool = False,
        name: str = "your own counts",
    ) -> "Prior":
        """Return the shares of words in text whose words were counted.

        Counted words are split like any text: "don't" counts for its parts if only they are known. What is
        not in the vocabulary counts for the words outside. Words without a count get the smallest count, but
        together at most 1% of all use.

        Parameters
        ----------
        embedding : Embedding
            The vocabulary.
        counts : mapping of str to float
            From 0 to 1e200, in any unit. A count of 0 is like no count.
        public : bool
            Declares that the counts were not derived from the private text. Without it there is a
            PrivacyWarning.
        name : str
            Up to 64 printable characters, for people and manifests.
        """
        if not isinstance(public, bool):
            raise parameter_error("public", "Prior.from_counts", "be True or False", public)
        _check_name(name)
        checked = {word: count for word, count in _checked_counts(counts) if count > 0.0}
        if not checked:
            raise ParameterError("The 'counts' parameter of Prior.from_counts must hold a count above 0.")
        shares = _shares(embedding, checked)
        if not public:
            warnings.warn(
                "Nobody has declared that these counts are public. If they were derived from the private "
                "text, so are the numbers computed from them, and settings chosen by these numbers: the "
                "guarantee does not cover that. Hint: public=True or --frequencies-are-public declares it.",
                PrivacyWarning,
                stacklevel=3,
            )
        return cls(name, shares, declared_public=public)


_defaults: Final = PerEmbedding[Prior](most=1)


def default_prior(embedding: Embedding) -> Prior:
    """Return `Prior.english` where it describes the vocabulary, else `Prior.by_rank`.

    It does if wordveil-english is installed and at least half of English use is in the vocabulary.

    Examples
    --------
    >>> from wordveil.embedding import load_embedding
    >>> default_prior(load_embedding())
    Prior('english', 33,752 words)
    >>> default_prior(Embedding(["thé", "glace"], [[0.0], [1.0]], public=True))
    Prior('rank-based', 2 words)
    """
    return _defaults.get(embedding, None, lambda: _choose(embedding))


def _choose(embedding: Embedding) -> Prior:
    try:
        prior = Prior.english(embedding)
    except (MachineError, ParameterError):  # not installed, or no word of it is known
        return Prior.by_rank(embedding)
    return prior if prior.shares[-1] <= 0.5 else Prior.by_rank(embedding)


def _english_shares(embedding: Embedding) -> NDArray[np.float64]:
    key = {"counts": english_fingerprint()}
    arrays = cached_about(embedding, "english", key, lambda: {"shares": _shares(embedding, english_counts())})
    return arrays["shares"]


def _shares(embedding: Embedding, counts: Mapping[str, float]) -> NDArray[np.float64]:
    uses = tally(embedding, counts)
    if not uses[:-1].any():
        raise ParameterError(
            "None of the counted words is in the vocabulary. Hint: do counts and vectors have one language?"
        )
    uncounted = uses == 0.0
    most = _UNCOUNTED / (1.0 - _UNCOUNTED) * math.fsum(uses) / max(int(uncounted.sum()), 1)
    smallest = min(counts.values())
    return _normalised(np.where(uncounted, min(smallest, most), uses))


def _normalised(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    # fsum rounds once: a plain sum differs between processors, and then so might the fingerprint.
    return np.asarray(weights / math.fsum(weights))


def _checked_counts(counts: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    if not isinstance(counts, Mapping):
        raise parameter_error("counts", "Prior.from_counts", "be a mapping of words to counts", counts)
    for position, (word, count) in enumerate(counts.items()):
        place = f"{position} (counted from 0) of the 'counts' parameter of Prior.from_counts must be"
        if not isinstance(word, str):
            raise ParameterError(f"Word {place} a str. Got {named_type(word)} instead.")
        try:
            yield word, check_real(count, "counts", "Prior.from_counts", "", 0.0, _LARGEST_COUNT)
        except ParameterError:
            raise ParameterError(f"Count {place} a number from 0 to {_LARGEST_COUNT:g}.") from None


def _check_name(name: str) -> None:
    if not isinstance(name, str) or not 0 < len(name) <= 64 or not name.isprintable():
        raise parameter_error("name", "Prior.from_counts", "be up to 64 printable characters", name)
    if name.partition(",")[0].strip().casefold() in (_ENGLISH, _RANK_BASED, _UNIFORM):
        raise ParameterError("The 'name' parameter of Prior.from_counts is that of a built-in prior.")
