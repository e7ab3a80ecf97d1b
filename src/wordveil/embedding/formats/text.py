"""GloVe text, word2vec text and fastText .vec: a word and its numbers a line.

The last m fields of a line are its vector, so a word may hold spaces, as some of GloVe 840B do.
"""

from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wordveil.embedding.formats.archives import Source
from wordveil.embedding.formats.numbers import is_number, is_space, parse_numbers
from wordveil.embedding.formats.selection import Collector, ReadOptions
from wordveil.errors import FormatError

__all__ = ["parse_header", "read_text"]

_BLOCK: Final = 2 << 20
_LONGEST_LINE: Final = 16 << 20
_NEWLINE: Final = 10
_BOM: Final = b"\xef\xbb\xbf"
_SPACE: Final = 32


def parse_header(line: bytes) -> tuple[int, int] | None:
    """Return (words, dimensions) if `line` is the header of a word2vec file, else None."""
    fields = line.split()
    if len(fields) != 2 or not all(field.isdigit() and len(field) < 16 for field in fields):
        return None
    return int(fields[0]), int(fields[1])


def read_text(source: Source, options: ReadOptions, *, header: bool) -> Collector:
    """Read a text file of vectors; with `header`, its first line says how many words and dimensions."""
    if source.head.startswith(_BOM):
        source.stream.read(len(_BOM))
    reader = _TextReader(source, options)
    if header:
        reader.take_header()
    for block in reader.blocks():
        reader.take(block)
        if reader.full:
            break
    return reader.finish()


class _TextReader:
    def __init__(self, source: Source, options: ReadOptions) -> None:
        self._source, self._options = source, options
        self._line = 1
        self._promised: int | None = None
        self._dim: int | None = None
        self._collector: Collector | None = None

    @property
    def full(self) -> bool:
        return self._collector is not None and self._collector.full

    @property
    def _offered(self) -> int:
        return 0 if self._collector is None else self._collector.offered

    def take_header(self) -> None:
        line = self._source.stream.readline(1024)
        parsed = parse_header(line)
        if parsed is None:
            raise FormatError(
                f"{self._source.name}, line 1: is not a header of two whole numbers. "
                "Hint: a file without one is of the format 'glove'."
            )
        self._promised, self._dim = parsed
        if self._dim < 1:
            raise FormatError(f"{self._source.name}, line 1: the header says 0 dimensions.")
        self._line = 2

    def blocks(self) -> Iterator[bytes]:
        """Yield the rest of the file in blocks of whole lines."""
        rest = b""
        while data := self._source.stream.read(_BLOCK):
            if not self._source.stream.peek(1):
                data = data.rstrip() + b"\n"  # blank lines at the end say nothing
            self._options.progress(self._source.done(), self._source.raw_size)
            cut = data.rfind(b"\n") + 1
            if not cut:
                rest += data
                if len(rest) > _LONGEST_LINE:
                    raise FormatError(
                        f"{self._source.name}: has a line of over 16 MiB; these are not vectors."
                    )
                continue
            yield rest + data[:cut]
            rest = data[cut:]
        if rest.strip():
            yield rest + b"\n"

    def take(self, block: bytes) -> None:
        data = np.frombuffer(block, dtype=np.uint8)
        ends = np.flatnonzero(data == _NEWLINE)
        if self._dim is None:
            self._dim = self._dim_of(block[: ends[0]])
        expected = self._expected(block, len(ends))
        if self._options.first is not None:
            ends = ends[: self._options.first - self._offered]
            data = data[: ends[-1] + 1]
        words, vectors = self._parse(block, data, ends, self._dim)
        if self._collector is None:
            self._collector = Collector(self._dim, self._options, expected)
        self._collector.add(words, vectors)
        self._line += len(ends)

    def _dim_of(self, line: bytes) -> int:
        dim = len(line.split()) - 1
        if dim < 1:
            raise self._error(0, "has no numbers")
        return dim

    def _expected(self, block: bytes, lines: int) -> int | None:
        if self._source.size is None:
            return None
        return int(self._source.size / len(block) * lines * 1.02) + 16

    def _parse(
        self, block: bytes, data: NDArray[np.uint8], ends: NDArray[np.intp], dim: int
    ) -> tuple[list[str], NDArray[np.float64]]:
        blank = is_space(data)
        starts = np.flatnonzero(blank[:-1] & ~blank[1:]) + 1
        if not blank[0]:
            starts = np.concatenate(([0], starts))
        upto = np.searchsorted(starts, ends)
        counts = np.diff(upto, prepend=0)
        if (counts <= dim).any():
            self._refuse_short(counts, dim)
        splits = starts[upto - dim]
        begins = np.concatenate(([0], ends[:-1] + 1))
        words = self._words(block, begins.tolist(), splits.tolist())
        self._refuse_long(np.flatnonzero(counts > dim + 1), words)
        numbers = data.copy()
        for begin, split in zip(begins.tolist(), splits.tolist(), strict=True):
            numbers[begin:split] = _SPACE
        parsed = parse_numbers(numbers)
        if parsed is None or parsed.size != dim * len(ends):
            parsed = self._carefully(block, splits.tolist(), ends.tolist())
        return words, parsed.reshape(len(ends), dim)

    def _refuse_short(self, counts: NDArray[np.intp], dim: int) -> None:
        line = int((counts <= dim).argmax())
        what = f"has {counts[line]} fields" if counts[line] else "is empty"
        raise self._error(line, f"{what} where a word and {dim} numbers are expected")

    def _refuse_long(self, lines: NDArray[np.intp], words: list[str]) -> None:
        """Refuse words that end in a number: a word may hold spaces, but that is too long a vector."""
        for line in lines.tolist():
            parts = words[line].encode().split()
            if len(parts) > 1 and is_number(parts[-1]):
                raise self._error(line, "has more numbers than the lines before it")

    def _words(self, block: bytes, begins: list[int], splits: list[int]) -> list[str]:
        pairs = list(zip(begins, splits, strict=True))
        try:
            return [block[a:b].rstrip(b" \t").decode("utf-8") for a, b in pairs]
        except UnicodeDecodeError:
            for line, (a, b) in enumerate(pairs):
                try:
                    block[a:b].decode("utf-8")
                except UnicodeDecodeError:
                    raise self._error(line, "is not valid UTF-8") from None
            raise

    def _carefully(self, block: bytes, splits: list[int], ends: list[int]) -> NDArray[np.float64]:
        """Read field by field what the fast way refused, to accept it or to say which line is wrong."""
        rows = []
        for line, (split, end) in enumerate(zip(splits, ends, strict=True)):
            fields = block[split:end].split()
            for place, field in enumerate(fields, start=1):
                if not is_number(field):
                    raise self._error(line, f"value {place} is not a decimal number")
            rows.append([float(field) for field in fields])
        return np.array(rows, dtype=np.float64)

    def _error(self, line: int, what: str) -> FormatError:
        return FormatError(f"{self._source.name}, line {self._line + line}: {what}.")

    def finish(self) -> Collector:
        if self._collector is None:
            raise FormatError(f"{self._source.name}: holds no vectors.")
        found = self._offered
        if self._promised is not None and not self.full and found != self._promised:
            raise FormatError(
                f"{self._source.name}, line 1: the header says {self._promised:,} words, "
                f"and the file has {found:,}."
            )
        return self._collector
