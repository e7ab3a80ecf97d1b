"""GloVe text, word2vec text and fastText .vec: one word and its numbers per line.

The last m fields of a line are the vector, so a word may contain spaces, as some in GloVe 840B do.
"""

import codecs
from collections.abc import Iterator
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wordveil.embedding.formats.archives import OpenedFile
from wordveil.embedding.formats.numbers import is_number, is_space, parse_numbers
from wordveil.embedding.formats.selection import Collector, ReadOptions
from wordveil.errors import FormatError

__all__ = ["LONGEST_HEADER", "parse_header", "read_text"]

# Bytes parsed at a time. Parsing needs several arrays of that size, so larger blocks would raise the peak of
# memory; smaller ones would spend more time in Python.
_BLOCK: Final = 2 << 20
_LONGEST_LINE: Final = 16 << 20  # a million numbers: a longer "line" is a file of another kind
LONGEST_HEADER: Final = 1024  # two numbers need far less
# The number of words is estimated from the first block. Some spare rows are cheaper than growing the matrix.
_SPARE_SHARE: Final = 1.02
_SPARE_ROWS: Final = 16
_NEWLINE: Final = ord("\n")
_SPACE: Final = ord(" ")


def parse_header(line: bytes) -> tuple[int, int] | None:
    """Return (words, dimensions) if `line` is the header of a word2vec file, else None."""
    fields = line.split()
    if len(fields) != 2 or not all(field.isdigit() and len(field) < 16 for field in fields):
        return None
    return int(fields[0]), int(fields[1])


def read_text(source: OpenedFile, options: ReadOptions, *, header: bool) -> Collector:
    """Read a text file of vectors; with `header`, its first line holds the number of words and dimensions."""
    if source.head.startswith(codecs.BOM_UTF8):
        source.stream.read(len(codecs.BOM_UTF8))
    reader = _TextReader(source, options)
    if header:
        reader.read_header()
    for block in reader.blocks():
        reader.read_block(block)
        if reader.full:
            break
    return reader.finish()


class _TextReader:
    def __init__(self, source: OpenedFile, options: ReadOptions) -> None:
        self._source, self._options = source, options
        self._line = 1
        self._stated_words: int | None = None
        self._dim: int | None = None
        self._collector: Collector | None = None

    @property
    def full(self) -> bool:
        return self._collector is not None and self._collector.full

    @property
    def _offered(self) -> int:
        return 0 if self._collector is None else self._collector.offered

    def read_header(self) -> None:
        line = self._source.stream.readline(LONGEST_HEADER)
        parsed = parse_header(line)
        if parsed is None:
            raise FormatError(
                f"{self._source.name}, line 1: is not a header of two whole numbers. "
                "Hint: the format of a file without one is 'glove'."
            )
        self._stated_words, self._dim = parsed
        if self._dim < 1:
            raise FormatError(f"{self._source.name}, line 1: the header says 0 dimensions.")
        self._line = 2

    def blocks(self) -> Iterator[bytes]:
        """Yield the rest of the file in blocks of whole lines."""
        unfinished = b""
        while data := self._source.stream.read(_BLOCK):
            if not self._source.stream.peek(1):
                data = data.rstrip() + b"\n"  # ignore blank lines at the end
            self._options.progress(self._source.done(), self._source.raw_size)
            cut = data.rfind(b"\n") + 1
            if not cut:
                unfinished += data
                if len(unfinished) > _LONGEST_LINE:
                    raise FormatError(
                        f"{self._source.name}: has a line of over 16 MiB; these are not vectors."
                    )
                continue
            yield unfinished + data[:cut]
            unfinished = data[cut:]
        if unfinished.strip():
            yield unfinished + b"\n"

    def read_block(self, block: bytes) -> None:
        data = np.frombuffer(block, dtype=np.uint8)
        ends = np.flatnonzero(data == _NEWLINE)
        if self._dim is None:
            self._dim = self._dim_of(block[: ends[0]])
        expected = self._expected_words(block, len(ends))
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

    def _expected_words(self, block: bytes, lines: int) -> int | None:
        if self._source.size is None:
            return None
        return int(self._source.size / len(block) * lines * _SPARE_SHARE) + _SPARE_ROWS

    def _parse(
        self, block: bytes, data: NDArray[np.uint8], ends: NDArray[np.intp], dim: int
    ) -> tuple[list[str], NDArray[np.float64]]:
        space = is_space(data)
        field_starts = np.flatnonzero(space[:-1] & ~space[1:]) + 1
        if not space[0]:
            field_starts = np.concatenate(([0], field_starts))
        fields_so_far = np.searchsorted(field_starts, ends)
        field_counts = np.diff(fields_so_far, prepend=0)
        if (field_counts <= dim).any():
            self._refuse_short(field_counts, dim)
        vector_starts = field_starts[fields_so_far - dim]
        line_starts = np.concatenate(([0], ends[:-1] + 1))
        words = self._words(block, line_starts.tolist(), vector_starts.tolist())
        self._refuse_long(np.flatnonzero(field_counts > dim + 1), words)
        numbers = data.copy()
        for line_start, vector_start in zip(line_starts.tolist(), vector_starts.tolist(), strict=True):
            numbers[line_start:vector_start] = _SPACE
        parsed = parse_numbers(numbers)
        if parsed is None or parsed.size != dim * len(ends):
            parsed = self._parse_fields(block, vector_starts.tolist(), ends.tolist())
        return words, parsed.reshape(len(ends), dim)

    def _refuse_short(self, field_counts: NDArray[np.intp], dim: int) -> None:
        line = int((field_counts <= dim).argmax())
        problem = f"has {field_counts[line]} fields" if field_counts[line] else "is empty"
        raise self._error(line, f"{problem} where a word and {dim} numbers are expected")

    def _refuse_long(self, lines: NDArray[np.intp], words: list[str]) -> None:
        """Refuse words of several parts that end in a number: the vector is more likely to be too long."""
        for line in lines.tolist():
            parts = words[line].encode().split()
            if len(parts) > 1 and is_number(parts[-1]):
                raise self._error(line, "has more numbers than the lines before it")

    def _words(self, block: bytes, line_starts: list[int], vector_starts: list[int]) -> list[str]:
        spans = list(zip(line_starts, vector_starts, strict=True))
        try:
            return [block[start:end].rstrip(b" \t").decode("utf-8") for start, end in spans]
        except UnicodeDecodeError:
            for line, (start, end) in enumerate(spans):
                try:
                    block[start:end].decode("utf-8")
                except UnicodeDecodeError:
                    raise self._error(line, "is not valid UTF-8") from None
            raise

    def _parse_fields(self, block: bytes, starts: list[int], ends: list[int]) -> NDArray[np.float64]:
        """Parse field by field what the fast parser refused, to accept it or to report the line."""
        rows = []
        for line, (start, end) in enumerate(zip(starts, ends, strict=True)):
            fields = block[start:end].split()
            for position, field in enumerate(fields, start=1):
                if not is_number(field):
                    raise self._error(line, f"value {position} is not a decimal number")
            rows.append([float(field) for field in fields])
        return np.array(rows, dtype=np.float64)

    def _error(self, line: int, problem: str) -> FormatError:
        return FormatError(f"{self._source.name}, line {self._line + line}: {problem}.")

    def finish(self) -> Collector:
        if self._collector is None:
            raise FormatError(f"{self._source.name}: holds no vectors.")
        if self._stated_words is not None and not self.full and self._offered != self._stated_words:
            raise FormatError(
                f"{self._source.name}, line 1: the header says {self._stated_words:,} words, "
                f"and the file has {self._offered:,}."
            )
        return self._collector
