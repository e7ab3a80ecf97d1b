"""Which words of a source are kept, and how they are changed: the same rules for every reader."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wordveil.embedding.arrays import first_not_finite, locked, row_norms
from wordveil.embedding.checks import is_plain_word
from wordveil.embedding.provenance import Provenance
from wordveil.embedding.vectors import Embedding, warn_unless_public
from wordveil.errors import FormatError, check_whole

__all__ = ["Collector", "ReadOptions", "ReadProgress", "Summary"]

ReadProgress = Callable[[int, int | None], None]
"""Called with the bytes read so far and the total, or None if the total is unknown."""

# By how much the matrix grows when it is full. A smaller factor calls realloc more often; a larger one leaves
# more memory unused until the end.
_GROWTH: Final = 1.25
# Rows to start with if the number of words is unknown.
_FIRST_ROWS: Final = 1024


def _silent(done: int, total: int | None) -> None:
    """Report nothing."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """Which words of a source to keep, and how to change them.

    Attributes
    ----------
    first : int, optional
        Read only that many words from the start of the source.
    only : frozenset of str, optional
        Keep only these words (compared after lower-casing, if `lowercase` is set).
    lowercase : bool
        Lower-case the words. If several become equal, the one that was lower-case in the source is kept,
        or else the first.
    unit : bool
        Scale every vector to length 1.
    strict : bool
        Refuse repeated words and unprintable ones, instead of leaving them out and counting them.
    progress : callable
        Called from time to time with the bytes read so far and in total.
    """

    first: int | None = None
    only: frozenset[str] | None = None
    lowercase: bool = False
    unit: bool = False
    strict: bool = False
    progress: ReadProgress = field(default=_silent, repr=False)

    def __post_init__(self) -> None:
        if self.first is not None:
            check_whole(self.first, "first", "ReadOptions", 2)
        if self.only is not None and self.lowercase:
            object.__setattr__(self, "only", frozenset(word.lower() for word in self.only))


@dataclass(frozen=True, slots=True)
class Summary:
    """Counts of the words that were left out or changed while reading."""

    repeated: int = 0
    unprintable: int = 0
    merged: int = 0
    missing: int = 0

    def sentences(self) -> list[str]:
        """Return a sentence for each count that is not zero."""
        counts = {
            "repeated words were left out; the first of each was kept": self.repeated,
            "words that are blank, too long or hold control characters were left out": self.unprintable,
            "words became equal to another word by lower-casing and were merged": self.merged,
            "words of the list are not in the source": self.missing,
        }
        return [f"{count:,} {what}." for what, count in counts.items() if count]


class Collector:
    """Takes blocks of words and vectors, keeps those that the options select, and builds the embedding.

    The matrix grows in place, so reading needs little more memory than the result.
    """

    def __init__(self, dim: int, options: ReadOptions, expected: int | None = None) -> None:
        self._options = options
        self._index: dict[str, int] = {}
        self._seen: set[str] = set()
        rows = expected or _FIRST_ROWS
        if options.first is not None:
            rows = min(rows, options.first)
        if options.only is not None:
            rows = min(rows, len(options.only))
        self._matrix = np.empty((max(rows, 2), dim), dtype=np.float32)
        self._offered = 0
        self._counts = {"repeated": 0, "unprintable": 0, "merged": 0}

    @property
    def dim(self) -> int:
        """The number of dimensions that every block must have."""
        return int(self._matrix.shape[1])

    @property
    def full(self) -> bool:
        """Whether the options limit the number of words, and that many have been offered."""
        return self._options.first is not None and self._offered >= self._options.first

    @property
    def offered(self) -> int:
        """How many words have been offered so far."""
        return self._offered

    def add(self, words: list[str], block: NDArray[np.floating]) -> None:
        """Add the next words of the source and their vectors, in float32 or float64."""
        if self._options.first is not None:
            remaining = self._options.first - self._offered
            words, block = words[:remaining], block[:remaining]
        self._offered += len(words)
        kept, targets = self._select(words)
        if not kept:
            return
        self._reserve(len(self._index))
        with np.errstate(over="ignore"):
            vectors = block if len(kept) == len(words) else block[kept]
            vectors = vectors.astype(np.float32, copy=False)
        bad_row = first_not_finite(vectors)
        if bad_row is not None:
            number = self._offered - len(words) + kept[bad_row] + 1
            raise FormatError(f"The vector of word {number:,} holds a value that is not a finite number.")
        self._matrix[targets] = vectors

    def _select(self, words: list[str]) -> tuple[list[int], list[int]]:
        """Return the indices of the words to keep, and the rows of the matrix for their vectors."""
        index_by_row: dict[int, int] = {}
        for index, original in enumerate(words):
            if not is_plain_word(original):
                self._leave_out("unprintable", "is blank, too long or holds control characters")
                continue
            word = original.lower() if self._options.lowercase else original
            if self._options.only is not None and word not in self._options.only:
                continue
            if original in self._seen:
                self._leave_out("repeated", "is a repeat")
                continue
            self._seen.add(original)
            if word in self._index:
                self._counts["merged"] += 1
                if word != original:
                    continue
            index_by_row[self._index.setdefault(word, len(self._index))] = index
        return list(index_by_row.values()), list(index_by_row)

    def _leave_out(self, kind: str, reason: str) -> None:
        if self._options.strict:
            raise FormatError(
                f"A word of the source {reason}, and --strict (strict=True) refuses that. "
                "Hint: without it such words are left out and counted."
            )
        self._counts[kind] += 1

    def _reserve(self, rows: int) -> None:
        if rows > len(self._matrix):
            self._resize(max(rows, int(len(self._matrix) * _GROWTH)))

    def _resize(self, rows: int) -> None:
        # In place: realloc remaps the pages instead of copying them, so memory peaks at one matrix.
        self._matrix.resize((rows, self.dim), refcheck=False)

    def finish(self, provenance: Provenance, *, public: bool = False) -> tuple[Embedding, Summary]:
        """Return the embedding, and what was left out; warn unless it is declared `public`."""
        if len(self._index) < 2:
            raise FormatError(
                f"An embedding must have at least 2 words; only {len(self._index)} would be left. "
                "Hint: check the file, the word list and the options."
            )
        self._resize(len(self._index))
        words = tuple(self._index)
        if self._options.unit:
            _scale_to_unit(self._matrix)
        only = self._options.only
        missing = 0 if only is None else len(only) - len(words)
        embedding = Embedding._adopt(words, locked(self._matrix), provenance, public=public)
        return warn_unless_public(embedding, stacklevel=5), Summary(**self._counts, missing=missing)


def _scale_to_unit(matrix: NDArray[np.float32]) -> None:
    norms = row_norms(matrix)
    if not norms.all():
        raise FormatError(
            f"The vector of word {int(norms.argmin()) + 1:,} of those that are kept is zero and can't be "
            "scaled to length 1. Hint: leave the word out with a word list."
        )
    np.divide(matrix, norms[:, None], out=matrix, casting="same_kind")
