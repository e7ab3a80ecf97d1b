"""Which words of a source stay, and how they are changed: one rule for every reader."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wordveil.embedding.arrays import first_not_finite, locked, row_norms
from wordveil.embedding.vectors import Embedding, Provenance, is_plain_word, warn_unless_public
from wordveil.errors import FormatError, check_whole

__all__ = ["Collector", "Progress", "ReadOptions", "Summary"]

Progress = Callable[[int, int | None], None]
"""Called with the bytes read so far and their total, None where nobody knows it."""

_GROWTH: Final = 1.25


def _silent(done: int, total: int | None) -> None:
    """Report to nobody."""


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """What to keep of a source.

    Attributes
    ----------
    first : int, optional
        Read only so many words from the start of the source.
    only : frozenset of str, optional
        Keep only these words (after lower-casing, if that is asked for).
    lowercase : bool
        Lower-case the words. Where several become the same, the one that is lower-case in the source
        stays; if none is, the first.
    unit : bool
        Scale every vector to length 1.
    strict : bool
        Refuse repeated words and unprintable ones, instead of leaving them out and counting them.
    progress : callable
        Called now and then with bytes done and bytes in all.
    """

    first: int | None = None
    only: frozenset[str] | None = None
    lowercase: bool = False
    unit: bool = False
    strict: bool = False
    progress: Progress = field(default=_silent, repr=False)

    def __post_init__(self) -> None:
        if self.first is not None:
            check_whole(self.first, "first", "ReadOptions", 2)
        if self.only is not None and self.lowercase:
            object.__setattr__(self, "only", frozenset(word.lower() for word in self.only))


@dataclass(frozen=True, slots=True)
class Summary:
    """What reading left out or changed, in counts."""

    repeated: int = 0
    unprintable: int = 0
    merged: int = 0
    missing: int = 0

    def sentences(self) -> list[str]:
        """Return a sentence for each count that is not zero."""
        told = {
            "repeated words were left out; the first of each stayed": self.repeated,
            "words that are blank, overlong or hold control characters were left out": self.unprintable,
            "words became equal to another by lower-casing and were merged": self.merged,
            "words of the list are not in the source": self.missing,
        }
        return [f"{count:,} {what}." for what, count in told.items() if count]


class Collector:
    """Takes blocks of words and vectors, keeps what the options ask for, and makes the embedding.

    The matrix grows in place, so that reading needs little more memory than the result.
    """

    def __init__(self, dim: int, options: ReadOptions, expected: int | None = None) -> None:
        self._options = options
        self._index: dict[str, int] = {}
        self._seen: set[str] = set()
        rows = expected or 1024
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
        """Whether the first N words, if N was given, have all been offered."""
        return self._options.first is not None and self._offered >= self._options.first

    @property
    def offered(self) -> int:
        """How many words have been offered so far."""
        return self._offered

    def add(self, words: list[str], block: NDArray[np.floating]) -> None:
        """Take the next words of the source and their vectors, float32 or float64."""
        if self._options.first is not None:
            room = self._options.first - self._offered
            words, block = words[:room], block[:room]
        self._offered += len(words)
        sources, targets = self._places(words)
        if not sources:
            return
        self._reserve(len(self._index))
        with np.errstate(over="ignore"):
            kept = block if len(sources) == len(words) else block[sources]
            kept = kept.astype(np.float32, copy=False)
        bad = first_not_finite(kept)
        if bad is not None:
            number = self._offered - len(words) + sources[bad] + 1
            raise FormatError(f"The vector of word {number:,} holds a value that is not a finite number.")
        self._matrix[targets] = kept

    def _places(self, words: list[str]) -> tuple[list[int], list[int]]:
        """Return which of `words` to copy, and the rows of the matrix to copy them to."""
        chosen: dict[int, int] = {}
        for source, original in enumerate(words):
            if not is_plain_word(original):
                self._leave_out("unprintable", "is blank, overlong or holds control characters")
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
            chosen[self._index.setdefault(word, len(self._index))] = source
        return list(chosen.values()), list(chosen)

    def _leave_out(self, kind: str, why: str) -> None:
        if self._options.strict:
            raise FormatError(
                f"A word of the source {why}, and --strict (strict=True) refuses that. "
                "Hint: without it such words are left out and counted."
            )
        self._counts[kind] += 1

    def _reserve(self, rows: int) -> None:
        if rows > len(self._matrix):
            self._resize(max(rows, int(len(self._matrix) * _GROWTH)))

    def _resize(self, rows: int) -> None:
        # In place: realloc moves pages, it does not copy them, so the peak stays at one matrix.
        self._matrix.resize((rows, self.dim), refcheck=False)

    def finish(self, provenance: Provenance, *, public: bool = False) -> tuple[Embedding, Summary]:
        """Return the embedding and what was left out; warn unless it is declared `public`."""
        if len(self._index) < 2:
            raise FormatError(
                f"An embedding must have at least 2 words; {len(self._index)} would be left. "
                "Hint: check the file, the word list and the options."
            )
        self._resize(len(self._index))
        words = tuple(self._index)
        if self._options.unit:
            _scale_to_unit(self._matrix)
        wanted = self._options.only
        missing = 0 if wanted is None else len(wanted) - len(words)
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
