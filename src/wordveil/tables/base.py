"""What every table is: chunks of rows in, bytes out, in an order that does not depend on how it was read."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Final, Self, TypeVar

from wordveil.policy import Policy
from wordveil.tables.columns import described

__all__ = ["CHUNK_BYTES", "CHUNK_ROWS", "Chunk", "Columns", "Source", "Table", "cut", "padded_letters"]

CHUNK_ROWS: Final = 1024
CHUNK_BYTES: Final = 1 << 20
"""How much of the chosen columns a chunk holds at most, unless a single record is larger."""

_CHUNK_LETTERS: Final = 1 << 16
_PADDED_WORD: Final = 8  # letters of a word and its space, about as many as in the default vocabulary

Columns = dict[str, list[str | None]]
"""The texts of each perturbed column; None is a null."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a table is read from, and what it is called in errors."""

    file: BinaryIO
    name: str
    raw: BinaryIO
    """The file below any compression: its position tells how far the reading is."""
    size: int = 0
    unbuffered: bool = False
    """Whether rows are handed on as they come, as from a pipe."""
    policy: Policy = field(default_factory=Policy)
    """Says how long the answers are at least, and whether missing texts are answered."""
    owned: bool = False
    """Whether `file` was opened for this table alone, so that closing the table closes it."""

    @property
    def padding(self) -> int:
        """How many letters the answer to a text has at least, roughly."""
        return padded_letters(self.policy)

    def close(self) -> None:
        """Close the file if it was opened for this table alone; the caller closes any other."""
        if self.owned:
            self.file.close()


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows in a row: the texts to perturb, and the rest as its table needs it."""

    rows: int
    texts: Columns
    rest: Any


class Table(ABC):
    """A table that is read once, in chunks, and whose chosen columns are written again.

    Attributes
    ----------
    names : tuple of str
        The columns of the input, as far as they are known from its beginning.
    text, kept : tuple of str
        Those that are perturbed, and those that are written as they are.
    """

    names: tuple[str, ...] = ()
    text: tuple[str, ...]
    kept: tuple[str, ...]

    def __init__(self, source: Source) -> None:
        self._source = source

    @property
    def left_out(self) -> tuple[str, ...]:
        """Columns of the input that are not written. They may be data: a table may lack a header."""
        return tuple(name for name in self.names if name not in (*self.text, *self.kept))

    @property
    def left_out_note(self) -> str:
        """What a person may be told of the columns that are left out; empty if there are none."""
        return described(self.left_out, self.names)

    @property
    def done(self) -> float:
        """Which share of the input has been read, as far as that is known: 0 to 1."""
        return min(1.0, self._source.raw.tell() / self._source.size) if self._source.size else 0.0

    @abstractmethod
    def chunks(self) -> Iterator[Chunk]:
        """Yield the rows in their order; equal content gives equal chunks, unless unbuffered."""

    def head(self) -> bytes:
        """Return what stands before the first row of the output."""
        return b""

    @abstractmethod
    def encode(self, chunk: Chunk, answers: Columns) -> bytes:
        """Return the rows of a chunk as they are written, with the answers in place of its texts."""

    def values(self, chunk: Chunk, name: str) -> list[str | None]:
        """Return a kept column of a chunk as it is written; only tables of text can tell."""
        raise NotImplementedError

    def close(self) -> None:
        """Close what was opened for this table alone; the file that it was opened from stays open."""
        self._source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    assembled: bool = False
    """Whether the output has to be put together from what `encode` gave; else that is the output already."""

    def assemble(self, parts: BinaryIO, target: BinaryIO) -> None:
        """Put the output together from what `encode` gave."""
        raise NotImplementedError


def padded_letters(policy: Policy) -> int:
    """Return how many letters an answer has at least, roughly, because it is padded."""
    return _PADDED_WORD * (policy.pad_to or 0)


_Row = TypeVar("_Row")


def cut(
    groups: Iterable[list[_Row]],
    letters: Callable[[_Row], int],
    size: Callable[[_Row], int],
    *,
    unbuffered: bool = False,
) -> Iterator[list[_Row]]:
    """Yield rows in lists that are long enough for a search to pay and short enough for memory to stay small.

    `letters` are those to be perturbed, `size` is what a row occupies. Where a list ends depends on the rows
    alone, not on the groups, unless `unbuffered`, which holds nothing back.
    """
    rows: list[_Row] = []
    text = held = 0
    for group in groups:
        for row in group:
            rows.append(row)
            text += letters(row)
            held += size(row)
            if len(rows) >= CHUNK_ROWS or text >= _CHUNK_LETTERS or held >= CHUNK_BYTES:
                yield rows
                rows, text, held = [], 0, 0
        if unbuffered and rows:
            yield rows
            rows, text, held = [], 0, 0
    if rows:
        yield rows
