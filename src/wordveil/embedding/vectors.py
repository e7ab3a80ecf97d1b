"""`Embedding`: public words and their vectors, immutable, with lookup both ways."""

import os
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, NoReturn, Self, cast, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordveil.embedding.arrays import cosines_with, first_not_finite, locked
from wordveil.embedding.checks import checked_matrix, checked_words
from wordveil.embedding.fingerprint import fingerprint_of, fingerprint_of_projection, pack_words
from wordveil.embedding.pickling import includes_vectors
from wordveil.embedding.provenance import Provenance
from wordveil.embedding.spectrum import Spectrum, prepared_spectrum, project_rows
from wordveil.errors import (
    FormatError,
    IntegrityError,
    ParameterError,
    PrivacyWarning,
    UnknownNameError,
    check_whole,
    parameter_error,
)

__all__ = ["Embedding", "warn_unless_public"]

_spectrum_lock = threading.Lock()


def _renew_lock() -> None:
    global _spectrum_lock  # noqa: PLW0603  # in the child of a fork, no thread will ever release the old one
    _spectrum_lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


@final
class Embedding:
    """Public words and their float32 vectors. Immutable, and safe to share between threads.

    Parameters
    ----------
    words : iterable of str
        At least two, all different, none of them blank or with control characters or line breaks.
    vectors : array_like of shape (number of words, dimensions)
        Finite numbers. They are copied to float32.
    provenance : Provenance, optional
        Name, source, licence and preprocessing, for people and manifests.
    public : bool
        Declares that neither the words nor the vectors were derived from the private text, which the
        guarantee does not cover. Without it there is a PrivacyWarning.

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
            raise AttributeError("An Embedding is immutable: it can't be initialised twice.")
        if not isinstance(public, bool):
            raise parameter_error("public", "Embedding", "be True or False", public)
        content = Embedding._adopt(checked_words(words), checked_matrix(vectors), provenance, public=public)
        vars(self).update(vars(content))
        warn_unless_public(self)

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
        rows = len(stored)
        if rows < 2:
            raise ParameterError(f"An embedding must have at least 2 words. Got {rows} instead.")
        if not callable(words) and len(words) != rows:
            raise ParameterError(
                f"An embedding must have a vector for each word. "
                f"Got {len(words)} words and {rows} vectors instead."
            )
        embedding = cls.__new__(cls)
        vars(embedding).update(
            _words=words,
            _stored=stored,
            _stated_fingerprint=fingerprint,
            _derived=derived,
            provenance=provenance,
            public=public,
        )
        return embedding

    provenance: Provenance
    public: bool
    """Whether somebody has declared that the vectors were not derived from private text."""
    _words: Sequence[str] | Callable[[], Sequence[str]]
    _stored: NDArray[Any]
    _stated_fingerprint: str | None
    _derived: bool

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"An Embedding is immutable: '{name}' can't be set.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"An Embedding is immutable: '{name}' can't be deleted.")

    @property
    def pickles_by_name(self) -> bool:
        """Whether a pickle made now refers to the vectors by name and fingerprint, and leaves them out."""
        return "_reference" in vars(self) and not includes_vectors()

    @property
    def is_named(self) -> bool:
        """Whether it is public and was loaded by name, or is a projection of one that was."""
        return self.public and ("_reference" in vars(self) or "_is_of_named" in vars(self))

    def __reduce__(self) -> tuple[Callable[..., "Embedding"], tuple[Any, ...]]:
        # The spectrum is included: an eigenbasis computed on another machine may differ.
        if self.pickles_by_name:
            load, name = vars(self)["_reference"]
            return load, (name, self.fingerprint, self.public, vars(self).get("_spectrum"))
        content = (tuple(self.words), np.array(self._stored), self.provenance)
        flags = (self._stated_fingerprint, self._derived, self.public)
        return _restore, (*content, *flags, vars(self).get("_spectrum"))

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
        return tuple(self._words() if callable(self._words) else self._words)

    @cached_property
    def vectors(self) -> NDArray[np.float32]:
        """The vectors as float32, one row per word. Read-only.

        For a float32 store this is a view of the mapped file; float16 is converted here, once.
        """
        vectors = self._stored.astype(np.float32, copy=False).view(np.ndarray)
        bad_row = first_not_finite(vectors)
        if bad_row is not None:
            raise FormatError(
                f"The vector of word {bad_row} (counted from 0) holds a value that is not a finite number. "
                "Hint: the file is damaged; import the vectors again."
            )
        return locked(vectors)

    @property
    def index(self) -> Mapping[str, int]:
        """A read-only mapping from words to ids."""
        return MappingProxyType(self._index)

    @cached_property
    def _index(self) -> dict[str, int]:
        index = {word: i for i, word in enumerate(self.words)}
        if len(index) != len(self):
            raise FormatError("The embedding holds a word twice. Hint: import the vectors again.")
        return index

    def id_of(self, word: str) -> int | None:
        """Return the id of `word`, or None if it is not in the vocabulary."""
        return self._index.get(word)

    def ids_of(self, words: Iterable[str]) -> NDArray[np.int64]:
        """Return the ids of `words`, with -1 for words that are not in the vocabulary.

        Examples
        --------
        >>> Embedding(["cat", "dog"], [[1.0], [2.0]], public=True).ids_of(["dog", "cow"])
        array([ 1, -1])
        """
        index = self._index
        return np.fromiter((index.get(word, -1) for word in words), dtype=np.int64)

    def vector(self, word: str) -> NDArray[np.float32]:
        """Return a copy of the vector of `word` without reading the other vectors."""
        vector = np.array(self._stored[self._require_id(word)], dtype=np.float32)
        if not np.isfinite(vector).all():
            raise FormatError("The vector of the word holds a value that is not a finite number.")
        return vector

    def _require_id(self, word: str) -> int:
        word_id = self.id_of(word)
        if word_id is None:
            raise UnknownNameError(
                f"The word is not among the {len(self):,} of this embedding. "
                "Hint: words must match exactly, and most vocabularies are lower-case."
            )
        return word_id

    def neighbours(self, word: str, k: int = 10) -> list[tuple[str, float]]:
        """Return the `k` other words whose vectors have the highest cosine with that of `word`.

        Meant for inspection: the mechanisms search all words by Euclidean distance.
        """
        k = check_whole(k, "k", "Embedding.neighbours", 1)
        word_id = self._require_id(word)
        cosines = cosines_with(self.vectors, word_id)
        cosines[word_id] = -np.inf
        best = np.argsort(-cosines, kind="stable")[: min(k, len(self) - 1)]
        return [(self.words[i], float(cosines[i])) for i in best]

    @property
    def spectrum(self) -> Spectrum:
        """Centroid, covariance and eigenbasis, computed once in float64."""
        with _spectrum_lock:
            if "_spectrum" not in vars(self):
                vars(self)["_spectrum"] = prepared_spectrum(self.vectors, None if self._derived else self)
            return cast(Spectrum, vars(self)["_spectrum"])

    @property
    def centroid(self) -> NDArray[np.float64]:
        """The mean vector, used for words outside the vocabulary."""
        return self.spectrum.centroid

    def project(self, k: int) -> "Embedding":
        """Return the embedding projected onto its top `k` principal axes, largest variance first.

        A projection never increases a Euclidean distance, so at λ = 0 the same ε promises at least as much.

        Examples
        --------
        >>> emb = Embedding(["a", "b", "c"], [[0.0, 0.0], [2.0, 2.0], [4.0, 4.1]], public=True)
        >>> emb.project(1).dim
        1
        """
        k = check_whole(k, "k", "Embedding.project", 1, self.dim)
        self.verify()
        provenance = Provenance(
            name=f"{self.provenance.name or 'unnamed'}[{k}]",
            source=self.provenance.source,
            licence=self.provenance.licence,
            preprocessing=f"{self.provenance.preprocessing}; top {k} principal axes".lstrip("; "),
            parent=self.fingerprint,
        )
        projected = locked(project_rows(self.vectors, self.spectrum, k))
        fingerprint = fingerprint_of_projection(self.fingerprint, k)
        projection = Embedding._adopt(
            self.words, projected, provenance, fingerprint=fingerprint, derived=True, public=self.public
        )
        vars(projection)["_on_map"] = self.is_map
        return projection._derived_from(self)

    def _derived_from(self, parent: "Embedding") -> Self:
        """Return this embedding, which keeps its parent unless that can be loaded again by its name."""
        vars(self).update({} if "_reference" in vars(parent) else {"_parent": parent})
        vars(self).update({"_is_of_named": True} if self._derived and parent.is_named else {})
        return self

    def mapped(self, dims: int = 10, **choices: Any) -> "Embedding":
        """Return a public map of the words in few dimensions; see `wordveil.embedding.maps.make_map`."""
        from wordveil.embedding.maps import make_map

        return make_map(self, dims, **choices)

    @property
    def is_map(self) -> bool:
        """Whether this is a map, or a projection of one: positions that were made from other vectors."""
        return bool(self.provenance.parent) and (not self._derived or bool(vars(self).get("_on_map")))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 in hexadecimal. For a stored embedding it is what the file states; `verify` checks it."""
        stated = self._stated_fingerprint
        return stated if stated is not None else self._computed_fingerprint

    @cached_property
    def _computed_fingerprint(self) -> str:
        return fingerprint_of(*pack_words(self.words), self.vectors)

    def verify(self) -> None:
        """Check words and vectors against the fingerprint; raise IntegrityError if they differ.

        The first call reads all vectors; later calls cost nothing. A projection is not hashed, since its
        bytes depend on the linear algebra library: its parent was verified when it was projected.
        """
        if not self._derived and self._computed_fingerprint != self.fingerprint:
            raise IntegrityError(
                f"The vectors of '{self.provenance.name}' do not match their fingerprint. "
                "Hint: the file was changed or damaged; import the vectors again."
            )


def warn_unless_public(embedding: Embedding, stacklevel: int = 3) -> Embedding:
    """Return the embedding, with a PrivacyWarning if nobody has declared that it is public."""
    if not embedding.public:
        warnings.warn(
            "Nobody has declared that these vectors are public. If their words or numbers were derived from "
            "the private text, there is no guarantee. Hint: public=True declares it, as does 'wordveil "
            "embedding import --public'.",
            PrivacyWarning,
            stacklevel=stacklevel,
        )
    return embedding


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
