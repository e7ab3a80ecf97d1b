"""CSV, TSV and other delimited files: quotes as spreadsheets write them, or none at all."""

import csv
import io
from collections.abc import Iterator
from itertools import chain
from operator import itemgetter
from typing import Any, Final

import numpy as np

from wordveil.errors import FormatError
from wordveil.tables.base import Chunk, Columns, Group, Source, Table, cut, lengths_of
from wordveil.tables.blocks import TOO_LONG, LineError, blocks_of_lines
from wordveil.tables.columns import missing_column, positions
from wordveil.tables.layout import Layout
from wordveil.tables.registry import Format, register_format
from wordveil.tokens import LARGEST_TEXT

__all__ = ["Delimited", "open_delimited"]

_DEFAULT_DELIMITER: Final = ","
_QUOTE: Final = '"'
_INCOMPLETE: Final = "unexpected end of data"  # what the csv module calls an open quote
_NO_QUOTES: Final = "Hint: --no-quotes (quotes=False) reads quotes as ordinary characters."
_ENDLESS: Final = "is over 16 MiB, or a quote in it is never closed."
_NO_HEADER: Final = "the first row names the columns; --no-header (header=False) numbers them from 1."
_OTHER_DELIMITERS: Final = {
    ";": "its fields seem to be separated by semicolons: --delimiter ';' (delimiter=';').",
    "\t": "its fields seem to be separated by tabs: --format tsv (format='tsv').",
    "|": "its fields seem to be separated by vertical bars: --delimiter '|' (delimiter='|').",
    ",": "its fields seem to be separated by commas: --format csv (format='csv').",
}


class Delimited(Table):
    """A table with one character between the fields; the first row names the columns, or they are numbered.

    An empty line is skipped in a table with several columns, and is an empty field in a table with one. There
    are no nulls: an empty field is an empty text.
    """

    def __init__(self, source: Source, layout: Layout, text: list[str], keep: list[str]) -> None:
        super().__init__(source)
        # The limit belongs to the whole process, so it is only ever raised.
        csv.field_size_limit(max(csv.field_size_limit(), LARGEST_TEXT + 1))
        self._delimiter = layout.delimiter or _DEFAULT_DELIMITER
        quoting: dict[str, Any] = {"quoting": csv.QUOTE_NONE, "quotechar": None} if not layout.quotes else {}
        self._dialect: dict[str, Any] = {"delimiter": self._delimiter, "strict": True} | quoting
        self._header, self._quotes = layout.header, layout.quotes
        self._carry, self._line, self._rows, self._width = "", 1, 0, 0
        self.text, self.kept = tuple(text), tuple(keep)
        self._places: dict[str, int] = {}
        self._groups = self._parsed()
        self._first = next(self._groups, [])

    def _choose(self, first: list[str]) -> None:
        """Find the chosen columns in the first row, before anything else can go wrong."""
        text, keep = self.text, self.kept
        names = first if self._header else [str(number) for number in range(1, len(first) + 1)]
        chosen, where = [*text, *keep], self._source.name
        other = next((mark for mark in _OTHER_DELIMITERS if len(first) == 1 and mark in first[0]), None)
        if other is not None and not {*chosen} <= {*names}:
            raise missing_column(chosen[0], (), where, _OTHER_DELIMITERS[other])
        places = positions(names, chosen, where, _NO_HEADER if self._header else "")
        self._places = dict(sorted(places.items(), key=lambda place: place[1]))
        self.text = tuple(name for name in self._places if name in text)
        self.kept = tuple(name for name in self._places if name in keep)
        self.names = tuple(names)

    def _parsed(self) -> Iterator[list[list[str]]]:
        """Yield the rows in groups, the header included."""
        try:
            for block in blocks_of_lines(
                self._source.file, self._source.name, unbuffered=self._source.unbuffered
            ):
                if not self._carry:
                    self._line = block.line
                if rows := self._parse(self._carry + block.text):
                    yield rows
        except LineError as error:
            raise self._error(error.line, error.problem) from None
        if self._carry:
            raise self._error(self._line, f"a quote is opened and never closed. {_NO_QUOTES}")

    def _parse(self, text: str) -> list[list[str]]:
        """Return the complete rows of some lines; a row that may continue is kept for the next lines."""
        if (rows := self._simple_rows(text)) is not None:
            return rows
        rows = []
        reader = csv.reader(io.StringIO(text, newline="\n"), **self._dialect)
        first_line, parsed_lines = self._line, 0
        self._carry = ""
        try:
            for row in reader:
                if row or self._width == 1:
                    rows.append(self._checked(row or [""]))
                    self._rows += 1
                parsed_lines = reader.line_num
                self._line = first_line + parsed_lines
        except csv.Error as error:
            if _INCOMPLETE not in str(error):
                raise self._error(self._line, _problem(str(error))) from None
            self._carry = text.split("\n", parsed_lines)[-1]
        if len(self._carry) > LARGEST_TEXT // 4 and _size(self._carry) > LARGEST_TEXT:
            raise self._error(self._line, f"{_ENDLESS} {_NO_QUOTES}")
        return rows

    def _simple_rows(self, text: str) -> list[list[str]] | None:
        """Return the rows if all are as wide as the header and short, which is soon checked; else None.

        Without quotes and carriage returns, every line is a row and every delimiter ends a field.
        """
        if not self._width or len(text) > LARGEST_TEXT // 4:
            return None
        if "\r" in text or (self._quotes and _QUOTE in text):
            try:
                rows = list(csv.reader(io.StringIO(text, newline="\n"), **self._dialect))
            except csv.Error:  # an open quote, or a mistake: to say where, rows must be read one by one
                return None
        else:
            delimiter = self._delimiter
            rows = [line.split(delimiter) for line in text.removesuffix("\n").split("\n")]
        if {*map(len, rows)} != {self._width}:
            return None
        self._carry = ""
        self._line += text.count("\n")
        self._rows += len(rows)
        return rows

    def _checked(self, row: list[str]) -> list[str]:
        if not self._width:
            self._width = len(row)
            self._choose(row)
        if len(row) != self._width:
            raise self._error(self._line, f"has {len(row)} fields, but there are {self._width} columns.")
        if sum(map(len, row)) > LARGEST_TEXT // 4 and sum(map(_size, row)) > LARGEST_TEXT:
            raise self._error(self._line, TOO_LONG)
        return row

    def _error(self, line: int, problem: str) -> FormatError:
        row = self._rows + (0 if self._header else 1)
        place = f"row {row} (line {line})" if row else f"the header (line {line})"
        return FormatError(f"{self._source.name}, {place}: {problem}")

    def chunks(self) -> Iterator[Chunk]:
        """Yield the rows; a row with more or fewer fields than there are columns is an error."""
        for rows in cut(self._groups_of_rows(), unbuffered=self._source.unbuffered):
            columns = dict(zip(self._places, zip(*rows, strict=True), strict=True))
            texts: Columns = {name: list(columns[name]) for name in self.text}
            rest = {name: columns[name] for name in self.kept}
            yield Chunk(len(rows), texts, rest)

    def _groups_of_rows(self) -> Iterator[Group[tuple[str, ...]]]:
        """Yield the chosen fields of the rows; the others are dropped here, to save memory."""
        places = tuple(self._places.values())
        first = self._first[1:] if self._header else self._first
        self._first = []
        for group in chain([first], self._groups):
            columns = (map(itemgetter(place), group) for place in places)
            yield self._measured([*zip(*columns, strict=True)])

    def _measured(self, rows: list[tuple[str, ...]]) -> Group[tuple[str, ...]]:
        letters = np.zeros(len(rows), dtype=np.int64)
        sizes = np.zeros(len(rows), dtype=np.int64)
        for name, fields in zip(self._places, zip(*rows, strict=True), strict=False):  # no rows, no columns
            lengths = lengths_of(fields)
            sizes += lengths
            if name in self.text:
                letters += np.maximum(lengths, self._source.padding)
        return Group(rows, letters, sizes)

    def values(self, chunk: Chunk, name: str) -> list[str | None]:
        """Return a kept column of a chunk."""
        return list(chunk.rest[name])

    def head(self) -> bytes:
        """Return the names of the columns that are written."""
        return self._written([tuple(self._places)]) if self._header and self._places else b""

    def encode(self, chunk: Chunk, answers: Columns) -> bytes:
        """Return the rows, with quotes where they are needed."""
        columns = [answers[name] if name in answers else chunk.rest[name] for name in self._places]
        return self._written([*zip(*columns, strict=True)])

    def _written(self, rows: list[tuple[str, ...]]) -> bytes:
        if not self._quotes:
            return self._joined(rows).encode("utf-8")
        if (lines := self._unquoted(rows)) is not None:
            return lines.encode("utf-8")
        out = _LineFeeds()
        csv.writer(out, delimiter=self._delimiter, lineterminator="\r\n").writerows(rows)
        return "".join(out.lines).encode("utf-8")

    def _unquoted(self, rows: list[tuple[str, ...]]) -> str | None:
        """Return the rows as lines, or None if a field needs quotes.

        The fields have no delimiters and line feeds if the lines have no more of them than they need.
        """
        lines = "\n".join([*map(self._delimiter.join, rows), ""])
        separators = sum(map(len, rows)) - len(rows)
        if (
            _QUOTE in lines
            or "\r" in lines
            or lines.count("\n") != len(rows)
            or lines.count(self._delimiter) != separators
            or ("",) in rows  # as a line without anything it would be no row
        ):
            return None
        return lines

    def _joined(self, rows: list[tuple[str, ...]]) -> str:
        if any(self._delimiter in field for row in rows for field in row):
            raise FormatError(
                f"{self._source.name}: a word of the vocabulary contains the delimiter, and quotes are off."
            )
        return "".join(f"{self._delimiter.join(row)}\n" for row in rows)


class _LineFeeds:
    """Replaces the line ends of the csv module with line feeds.

    The module could write line feeds itself, but then it would not quote fields with carriage returns.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []

    def write(self, line: str) -> None:
        self.lines.append(f"{line[:-2]}\n")


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8"))


def _problem(error: str) -> str:
    """Return what an error of the csv module means."""
    if "new-line character" in error:
        return "a carriage return is outside of quotes. Hint: end the lines with a line feed."
    if "expected after" in error:
        return f"something follows a closing quote. {_NO_QUOTES}"
    return f"{_ENDLESS} {_NO_QUOTES}" if "larger than field limit" in error else "is not valid CSV."


def open_delimited(source: Source, layout: Layout, text: list[str], keep: list[str]) -> Table:
    """Return a table with the delimiter of its layout. Other delimited formats can use it as their `open`."""
    return Delimited(source, layout, text, keep)


register_format(Format("csv", "CSV", (".csv",), open_delimited, delimiter=_DEFAULT_DELIMITER))
register_format(Format("tsv", "TSV", (".tsv", ".tab"), open_delimited, delimiter="\t"))
