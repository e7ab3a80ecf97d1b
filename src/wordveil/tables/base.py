"""What every table is: chunks of rows in, bytes out, in an order that does not depend on how it was read."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, Final, TypeVar

__all__ = ["Answers", "Chunk", "Source", "Table", "cut"]

_CHUNK_ROWS: Final = 1024
_CHUNK_LETTERS: Final = 1 << 16

Answers = dict[str, list[str | None]]
"""The texts of each perturbed column; None is a null."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a table is read from, and what it is called in errors."""

    file: BinaryIO
    name: str
    raw: BinaryIO
    """The file below any compression: its position tells how far the reading is."""
    size: int = 0
    prompt: bool = False
    """Whether rows are handed on as they come, as from a pipe."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows in a row: the texts to perturb, and the rest as its table needs it."""

    rows: int
    texts: Answers
    rest: Any


class Table(ABC):
    """A table that is read once, in chunks, and whose chosen columns are written again.

    Attributes
    ----------
    left_out : tuple of str
        Columns of the input that are not written, as far as they are known from its beginning.
    """

    left_out: tuple[str, ...] = ()
    text: tuple[str, ...]
    kept: tuple[str, ...]

    def __init__(self, source: Source) -> None:
        self._source = source

    @property
    def done(self) -> float:
        """Which share of the input has been read, as far as that is known: 0 to 1."""
        return min(1.0, self._source.raw.tell() / self._source.size) if self._source.size else 0.0

    @abstractmethod
    def chunks(self) -> Iterator[Chunk]:
        """Yield the rows in their order; equal content gives equal chunks, unless the source is prompt."""

    def head(self) -> bytes:
        """Return what stands before the first row of the output."""
        return b""

    @abstractmethod
    def encode(self, chunk: Chunk, answers: Answers) -> bytes:
        """Return the rows of a chunk as they are written, with the answers in place of its texts."""

    def values(self, chunk: Chunk, name: str) -> list[str | None]:
        """Return a kept column of a chunk as it is written; only tables of text can tell."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of what the table opened itself; the file that it was given stays open."""
        return

    assembled: bool = False
    """Whether the output has to be put together from what `encode` gave; else that is the output already."""

    def assemble(self, parts: BinaryIO, target: BinaryIO) -> None:
        """Put the output together from what `encode` gave."""
        raise NotImplementedError


_Row = TypeVar("_Row")


def cut(
    groups: Iterable[list[_Row]], letters: Callable[[_Row], int], *, prompt: bool = False
) -> Iterator[list[_Row]]:
    """Yield rows in lists of so many that a search pays and memory stays small.

    Where a list ends depends on the rows alone, not on the groups, unless `prompt`, which holds nothing back.
    """
    rows: list[_Row] = []
    size = 0
    for group in groups:
        for row in group:
            rows.append(row)
            size += letters(row)
            if len(rows) >= _CHUNK_ROWS or size >= _CHUNK_LETTERS:
                yield rows
                rows, size = [], 0
        if prompt and rows:
            yield rows
            rows, size = [], 0
    if rows:
        yield rows
