"""`Embedding`: public words and their vectors, immutable, with lookup both ways."""

import threading
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any, Final, NoReturn, Self, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordveil.embedding.arrays import first_not_finite, locked, row_norms
from wordveil.embedding.fingerprint import fingerprint_of, fingerprint_of_projection, pack_words
from wordveil.embedding.spectrum import Spectrum, compute_spectrum, project_rows
from wordveil.errors import (
    FormatError,
    IntegrityError,
    ParameterError,
    PrivacyWarning,
    UnknownNameError,
    check_whole,
    parameter_error,
)

__all__ = ["Embedding", "Provenance", "is_plain_word", "warn_unless_public"]

_LONGEST_WORD: Final = 1000
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_JOINERS: Final = "\u200c\u200d"
_SPECTRUM_LOCK: Final = threading.Lock()


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where vectors come from, in words for people; every field may be empty."""

    name: str = ""
    source: str = ""
    licence: str = ""
    preprocessing: str = ""

    def __post_init__(self) -> None:
        for name in self.__dataclass_fields__:
            value = getattr(self, name)
            if not isinstance(value, str) or not value.isprintable():
                raise parameter_error(name, "Provenance", "be a str of printable characters", value)


@final
class Embedding:
    """Public words and their float32 vectors; immutable, safe to share between threads.

    Parameters
    ----------
    words : iterable of str
        At least two, all different, none empty, none with control characters or line breaks.
    vectors : array_like of shape (number of words, dimensions)
        Finite numbers; copied as float32.
    provenance : Provenance, optional
        Name, source, licence and preprocessing, for people and manifests.
    public : bool
        Declares that neither words nor vectors were made from the private text. Without it there is a
        PrivacyWarning: a vocabulary or a covariance that depends on private text is no part of any promise.

    Examples
    --------
    >>> emb = Embedding(["cat", "dog", "car"], [[1.0, 0.1], [0.9, 0.2], [0.0, 1.0]], public=True)
    >>> len(emb), emb.dim, emb.id_of("dog"), emb.words[2], emb.id_of("cow")
    (3, 2, 1, 'car', None)
    >>> [word for word, cosine in emb.neighbours("cat", 1)]
    ['dog']
    """

    def __init__(
        self,
        words: Iterable[str],
        vectors: ArrayLike,
        *,
        provenance: Provenance = Provenance(),
        public: bool = False,
    ) -> None:
        if "_stored" in vars(self):
            raise AttributeError("An Embedding is immutable: it can't be made twice.")
        if not isinstance(public, bool):
            raise parameter_error("public", "Embedding", "be True or False", public)
        self._fill(_checked_words(words), _checked_matrix(vectors), provenance, public=public)
        warn_unless_public(self)

    def _fill(
        self,
        words: Sequence[str] | Callable[[], Sequence[str]],
        stored: NDArray[Any],
        provenance: Provenance,
        fingerprint: str | None = None,
        derived: bool = False,
        public: bool = False,
    ) -> None:
        rows = len(stored)
        if rows < 2:
            raise ParameterError(f"An embedding must have at least 2 words. Got {rows} instead.")
        if not callable(words) and len(words) != rows:
            raise ParameterError(
                f"An embedding must have a vector for each word. "
                f"Got {len(words)} words and {rows} vectors instead."
            )
        self.__dict__.update(
            _words=words,
            _stored=stored,
            _claimed=fingerprint,
            _derived=derived,
            provenance=provenance,
            public=public,
        )

    @classmethod
    def _adopt(
        cls,
        words: Sequence[str] | Callable[[], Sequence[str]],
        stored: NDArray[Any],
        provenance: Provenance,
        *,
        fingerprint: str | None = None,
        derived: bool = False,
        public: bool = False,
    ) -> Self:
        """Wrap checked words (or a function that reads them) and a float16 or float32 matrix, uncopied."""
        embedding = cls.__new__(cls)
        embedding._fill(words, stored, provenance, fingerprint, derived, public)
        return embedding

    provenance: Provenance
    public: bool
    """Whether somebody has declared that the vectors were not made from private text."""
    _words: Sequence[str] | Callable[[], Sequence[str]]
    _stored: NDArray[Any]
    _claimed: str | None
    _derived: bool

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"An Embedding is immutable: '{name}' can't be set.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"An Embedding is immutable: '{name}' can't be deleted.")

    def __reduce__(self) -> tuple[Callable[..., "Embedding"], tuple[Any, ...]]:
        # The spectrum travels along: an eigenbasis that is computed again may differ.
        content = (tuple(self.words), np.array(self._stored), self.provenance)
        marks = (self._claimed, self._derived, self.public)
        return _restore, (*content, *marks, vars(self).get("_spectrum"))

    def __len__(self) -> int:
        return len(self._stored)

    def __contains__(self, word: object) -> bool:
        return word in self._index

    def __iter__(self) -> Iterator[str]:
        return iter(self.words)

    def __repr__(self) -> str:
        name = f"'{self.provenance.name}', " if self.provenance.name else ""
        return f"Embedding({name}{len(self):,} words, {self.dim} dimensions)"

    @property
    def dim(self) -> int:
        """The number of dimensions."""
        return int(self._stored.shape[1])

    @cached_property
    def words(self) -> Sequence[str]:
        """The words, in the order of their ids."""
        words = self._words() if callable(self._words) else self._words
        return tuple(words)

    @cached_property
    def vectors(self) -> NDArray[np.float32]:
        """The vectors as float32, a row a word; read-only.

        Of a float32 store it is a view of the mapped file; float16 is widened here, once.
        """
        vectors = self._stored.astype(np.float32, copy=False).view(np.ndarray)
        bad = first_not_finite(vectors)
        if bad is not None:
            raise FormatError(
                f"The vector of word {bad} (counted from 0) holds a value that is not a finite number. "
                "Hint: the file is damaged; import the vectors anew."
            )
        return locked(vectors)

    @property
    def index(self) -> Mapping[str, int]:
        """The ids by their words; read-only."""
        return MappingProxyType(self._index)

    @cached_property
    def _index(self) -> dict[str, int]:
        index = {word: i for i, word in enumerate(self.words)}
        if len(index) != len(self):
            raise FormatError("The embedding holds a word twice. Hint: import the vectors anew.")
        return index

    def id_of(self, word: str) -> int | None:
        """Return the id of `word`, None if it is not in the vocabulary."""
        return self._index.get(word)

    def ids_of(self, words: Iterable[str]) -> NDArray[np.int64]:
        """Return the ids of `words`, -1 for each that is not in the vocabulary.

        Examples
        --------
        >>> Embedding(["cat", "dog"], [[1.0], [2.0]], public=True).ids_of(["dog", "cow"])
        array([ 1, -1])
        """
        index = self._index
        return np.fromiter((index.get(word, -1) for word in words), dtype=np.int64)

    def vector(self, word: str) -> NDArray[np.float32]:
        """Return a copy of the vector of `word`, without reading the others."""
        vector = np.array(self._stored[self._known(word)], dtype=np.float32)
        if not np.isfinite(vector).all():
            raise FormatError("The vector of the word holds a value that is not a finite number.")
        return vector

    def _known(self, word: str) -> int:
        number = self.id_of(word)
        if number is None:
            raise UnknownNameError(
                f"The word is not among the {len(self):,} of this embedding. "
                "Hint: words are matched letter by letter, and most vocabularies are lower-case."
            )
        return number

    def neighbours(self, word: str, k: int = 10) -> list[tuple[str, float]]:
        """Return the `k` other words whose vectors have the highest cosine with that of `word`.

        For people to look at: the mechanisms search by Euclidean distance, over all words.
        """
        k = check_whole(k, "k", "Embedding.neighbours", 1)
        number = self._known(word)
        norms = row_norms(self.vectors)
        scale = norms * norms[number]
        products = np.einsum("ij,j->i", self.vectors, self.vectors[number], dtype=np.float64)
        cosines = np.divide(products, scale, out=np.zeros(len(self)), where=scale > 0.0)
        cosines[number] = -np.inf
        best = np.argsort(-cosines, kind="stable")[: min(k, len(self) - 1)]
        return [(self.words[i], float(cosines[i])) for i in best]

    @property
    def spectrum(self) -> Spectrum:
        """Centroid, covariance and eigenbasis: computed once, in float64."""
        with _SPECTRUM_LOCK:
            if "_spectrum" not in vars(self):
                vars(self)["_spectrum"] = compute_spectrum(self.vectors)
            spectrum: Spectrum = vars(self)["_spectrum"]
        return spectrum

    @property
    def centroid(self) -> NDArray[np.float64]:
        """The mean vector: where words outside of the vocabulary stand."""
        return self.spectrum.centroid

    def project(self, k: int) -> "Embedding":
        """Return the embedding on its top `k` principal axes, strongest first.

        A projection never lengthens a Euclidean distance, so at λ = 0 the same ε promises at least as
        much as before.

        Examples
        --------
        >>> emb = Embedding(["a", "b", "c"], [[0.0, 0.0], [2.0, 2.0], [4.0, 4.1]], public=True)
        >>> emb.project(1).dim
        1
        """
        k = check_whole(k, "k", "Embedding.project", 1, self.dim)
        self.verify()
        about = Provenance(
            name=f"{self.provenance.name or 'unnamed'}[{k}]",
            source=self.provenance.source,
            licence=self.provenance.licence,
            preprocessing=f"{self.provenance.preprocessing}; top {k} principal axes".lstrip("; "),
        )
        projected = locked(project_rows(self.vectors, self.spectrum, k))
        mark = fingerprint_of_projection(self.fingerprint, k)
        return Embedding._adopt(
            self.words, projected, about, fingerprint=mark, derived=True, public=self.public
        )

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256, in hexadecimal; for a stored embedding what the file says until `verify` is called."""
        return self._claimed if self._claimed is not None else self._computed

    @cached_property
    def _computed(self) -> str:
        return fingerprint_of(*pack_words(self.words), self.vectors)

    def verify(self) -> None:
        """Check the whole content against the fingerprint; raise IntegrityError if it differs.

        Costs a pass over the vectors the first time and nothing after. A projection was checked when
        it was made, and its bytes, which depend on the linear algebra library, are not hashed.
        """
        if not self._derived and self._computed != self.fingerprint:
            raise IntegrityError(
                f"The vectors of '{self.provenance.name}' are not those that the fingerprint was made of. "
                "Hint: the file was changed or damaged; import the vectors anew."
            )


def warn_unless_public(embedding: Embedding, stacklevel: int = 3) -> Embedding:
    """Return the embedding; raise a PrivacyWarning if nobody has declared that it is public."""
    if not embedding.public:
        warnings.warn(
            "Nobody has declared that these vectors are public. If their words or numbers were made from the "
            "private text, nothing is promised. Hint: public=True declares it, as does 'wordveil embedding "
            "import --public'.",
            PrivacyWarning,
            stacklevel=stacklevel,
        )
    return embedding


def is_plain_word(word: str) -> bool:
    r"""Tell whether `word` may stand in a vocabulary.

    It must not be blank, begin or end with a space, be longer than 1,000 letters, or hold line breaks,
    control characters or other marks that hide or reorder text (the joiners of emoji and Persian may stay).

    Examples
    --------
    >>> is_plain_word("don't"), is_plain_word(" "), is_plain_word("two\u2028lines")
    (True, False, False)
    """
    if not word or len(word) > _LONGEST_WORD or word != word.strip():
        return False
    if word.isascii():
        return word.isprintable()
    return not any(unicodedata.category(x) in _HIDDEN and x not in _JOINERS for x in word)


def _checked_words(words: Iterable[str]) -> tuple[str, ...]:
    if isinstance(words, str | bytes):
        raise ParameterError("The 'words' parameter of Embedding must be a list of str.")
    checked = tuple(words)
    for i, word in enumerate(checked):
        if not isinstance(word, str) or not is_plain_word(word):
            raise ParameterError(
                f"Word {i} (counted from 0) of the embedding must be a str that is not blank and "
                "holds no line breaks, control characters or outer spaces."
            )
    if len(set(checked)) != len(checked):
        seen: set[str] = set()
        repeated = next(i for i, word in enumerate(checked) if word in seen or seen.add(word))  # type: ignore[func-returns-value]  # set.add returns None, which is false
        raise ParameterError(f"The words of an embedding must all be different; word {repeated} is a repeat.")
    return checked


def _checked_matrix(vectors: ArrayLike) -> NDArray[np.float32]:
    given = np.asarray(vectors)
    if given.ndim != 2 or given.shape[1] < 1 or given.dtype.kind not in "fiu":
        raise ParameterError(
            "The 'vectors' parameter of Embedding must be a table of real numbers, a row a word. "
            f"Got shape {given.shape} of {given.dtype} instead."
        )
    with np.errstate(over="ignore"):
        matrix = np.array(given, dtype=np.float32, order="C")
    bad = first_not_finite(matrix)
    if bad is not None:
        raise ParameterError(
            f"The vector of word {bad} (counted from 0) must hold finite float32 numbers only."
        )
    return locked(matrix)


def _restore(
    words: tuple[str, ...],
    stored: NDArray[Any],
    provenance: Provenance,
    fingerprint: str | None,
    derived: bool,
    public: bool,
    spectrum: Spectrum | None,
) -> Embedding:
    embedding = Embedding._adopt(
        words, locked(stored), provenance, fingerprint=fingerprint, derived=derived, public=public
    )
    if spectrum is not None:
        vars(embedding)["_spectrum"] = spectrum
    return embedding
