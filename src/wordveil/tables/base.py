"""What every table has in common: it is read in chunks of rows, and written as bytes, in the same order."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sized
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final, Generic, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from wordveil.policy import Policy
from wordveil.tables.columns import described

__all__ = [
    "CHUNK_BYTES",
    "CHUNK_ROWS",
    "Chunk",
    "Columns",
    "Group",
    "Source",
    "Table",
    "cut",
    "lengths_of",
    "padded_letters",
]

# A chunk ends at the first of three limits. Larger chunks need more memory, since several are in progress at
# once. Smaller ones need more time, since each is searched and written separately. A resumed run must cut its
# input where the first one did: if a limit changes, older work folders can't be resumed.
CHUNK_ROWS: Final = 1024
"""The most rows in a chunk: a bound on what each row costs in Python objects, however short it is."""
CHUNK_BYTES: Final = 1 << 20
"""The most that the chosen columns of a chunk may hold, unless a single record is larger.

With several chunks per thread under way, this keeps a run under the 400 MB of tests/runs/test_memory.py.
"""
# The most characters to perturb: about 8,000 words, enough for a search to run at full speed.
_CHUNK_LETTERS: Final = 1 << 16
# The average word of the default vocabulary has 7.1 characters, and a space follows it.
_PADDED_WORD: Final = 8

Columns = dict[str, list[str | None]]
"""The texts of each perturbed column; None is a null."""


@dataclass(frozen=True, slots=True)
class Source:
    """The file that a table is read from, and how to read it."""

    file: BinaryIO
    name: str
    """What errors call the file."""
    raw: BinaryIO
    """The file without decompression: its position shows the progress."""
    size: int = 0
    """The size of `raw` in bytes; 0 if it is unknown."""
    unbuffered: bool = False
    """Whether rows are passed on as they arrive, as from a pipe."""
    policy: Policy = field(default_factory=Policy)
    """Determines how long the answers are at least, and whether missing texts are filled in."""
    owned: bool = False
    """Whether `file` was opened for this table alone; if so, closing the table closes it."""

    @property
    def padding(self) -> int:
        """Roughly how many characters the answer to a text has at least."""
        return padded_letters(self.policy)

    def close(self) -> None:
        """Close the file if it was opened for this table alone; the caller closes any other."""
        if self.owned:
            self.file.close()


@dataclass(frozen=True, slots=True)
class Chunk:
    """Consecutive rows: the texts to perturb, and the rest in a form that only the table knows."""

    rows: int
    texts: Columns
    rest: Any


class Table(ABC):
    """A table that is read once, in chunks, and whose chosen columns are written. A context manager.

    Attributes
    ----------
    names : tuple of str
        The columns of the input that its first rows show.
    text, kept : tuple of str
        The columns that are perturbed, and those that are written as they are.
    """

    names: tuple[str, ...] = ()
    text: tuple[str, ...]
    kept: tuple[str, ...]

    def __init__(self, source: Source) -> None:
        self._source = source

    @property
    def left_out(self) -> tuple[str, ...]:
        """The columns of the input that are not written. Private: without a header, the names are data."""
        return tuple(name for name in self.names if name not in (*self.text, *self.kept))

    @property
    def left_out_note(self) -> str:
        """The columns that are left out, in a form that is safe to show; empty if there are none."""
        return described(self.left_out, self.names)

    @property
    def done(self) -> float:
        """The share of the input that has been read, from 0 to 1; 0 if the size is unknown."""
        return min(1.0, self._source.raw.tell() / self._source.size) if self._source.size else 0.0

    @abstractmethod
    def chunks(self) -> Iterator[Chunk]:
        """Yield the rows in order. Unless unbuffered, the same content is always cut into the same chunks."""

    def head(self) -> bytes:
        """Return what the output has before its first row, such as a header."""
        return b""

    @abstractmethod
    def encode(self, chunk: Chunk, answers: Columns) -> bytes:
        """Return the rows of a chunk in this format, with the answers in place of its texts."""

    def values(self, chunk: Chunk, name: str) -> list[str | None]:
        """Return a kept column of a chunk as text. Formats without columns can't do it."""
        raise NotImplementedError

    def close(self) -> None:
        """Close what was opened for this table alone; the file that it was opened from stays open."""
        self._source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    assembled: bool = False
    """Whether `assemble` must make the output from what `encode` returned, which otherwise is the output."""

    def assemble(self, parts: BinaryIO, target: BinaryIO) -> None:
        """Write the output from what `encode` returned for all chunks."""
        raise NotImplementedError


def padded_letters(policy: Policy) -> int:
    """Return roughly how many characters an answer has at least, because of padding."""
    return _PADDED_WORD * (policy.pad_to or 0)


_Row = TypeVar("_Row")
Ints = NDArray[np.int64]


class Group(NamedTuple, Generic[_Row]):
    """Some rows; how many characters of each are perturbed; and how many each occupies."""

    rows: list[_Row]
    letters: Ints
    sizes: Ints


def lengths_of(texts: Iterable[Sized]) -> Ints:
    """Return the length of each text."""
    return np.fromiter(map(len, texts), dtype=np.int64)


def cut(groups: Iterable[Group[_Row]], *, unbuffered: bool = False) -> Iterator[list[_Row]]:
    """Yield rows in lists that are long enough for a fast search, and short enough to need little memory.

    Where a list ends depends on the rows alone and not on the groups, unless `unbuffered`, which holds
    nothing back.
    """
    held: list[_Row] = []
    held_letters = held_sizes = 0
    for rows, letters, sizes in groups:
        letter_sums, size_sums = np.cumsum(letters) + held_letters, np.cumsum(sizes) + held_sizes
        start = letters_before = sizes_before = 0
        while True:
            end = min(
                start + CHUNK_ROWS - len(held),
                1 + int(np.searchsorted(letter_sums, letters_before + _CHUNK_LETTERS)),
                1 + int(np.searchsorted(size_sums, sizes_before + CHUNK_BYTES)),
            )
            if end > len(rows):
                break
            yield held + rows[start:end]
            held, start = [], end
            letters_before, sizes_before = int(letter_sums[end - 1]), int(size_sums[end - 1])
        held += rows[start:]
        if unbuffered and held:
            yield held
            held, held_letters, held_sizes = [], 0, 0
        elif rows:
            held_letters = int(letter_sums[-1]) - letters_before
            held_sizes = int(size_sums[-1]) - sizes_before
    if held:
        yield held
