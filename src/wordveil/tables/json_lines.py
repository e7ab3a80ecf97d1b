"""JSON Lines: an object per line. Unless padded, what a record lacks stays absent, and null stays null."""

import json
import re
import secrets
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Final, NoReturn

from wordveil.errors import FormatError
from wordveil.tables.base import Chunk, Columns, Source, Table, cut
from wordveil.tables.blocks import blocks_of_lines, lines_of
from wordveil.tables.columns import missing_column
from wordveil.tables.layout import Layout
from wordveil.tables.registry import Format, register_format

__all__ = ["JsonLines"]

_Record = dict[str, Any]
_Sized = tuple[_Record, int]
"""The chosen members of a record, and how long its line was."""


class _Number(str):
    """A number as it is written: kept, it must come out with the same digits."""

    __slots__ = ()


def _refuse(_: str) -> NoReturn:
    raise ValueError


# Nobody can know this mark, so that no text can pass for a number.
_MARK: Final = secrets.token_hex(16)
_MARKED: Final = re.compile(f'"{_MARK}([-+.0-9eE]+)"')


def _number(written: str) -> _Number:
    return _Number(_MARK + written)


_READ: Final = json.JSONDecoder(
    parse_constant=_refuse,  # NaN and Infinity are not JSON
    parse_float=_number,
    parse_int=_number,
).decode
_WRITE: Final = json.JSONEncoder(ensure_ascii=False).encode


class JsonLines(Table):
    """Objects, of which the chosen members are written, in the order in which each has them."""

    def __init__(self, source: Source, text: list[str], keep: list[str]) -> None:
        super().__init__(source)
        self.text, self.kept = tuple(text), tuple(keep)
        self._chosen = {*text, *keep}
        self._names: dict[str, None] | None = {}  # of the first records, in their order; None after them
        self._groups = self._parsed()
        self._first = next(self._groups, [])
        known, self._names = dict(self._names), None
        self._missing = {name for name in self._chosen if name not in known}
        if self._first and not source.unbuffered:  # what has come so far of a pipe may be one record
            self._check_columns(known)
        self.names = tuple(known)

    def _check_columns(self, known: Iterable[str]) -> None:
        if self._missing:
            raise missing_column(min(self._missing), known, self._source.name)

    def _parsed(self) -> Iterator[list[_Sized]]:
        """Yield the records; the first group is where the columns are looked for."""
        for block in blocks_of_lines(
            self._source.file, self._source.name, unbuffered=self._source.unbuffered
        ):
            records = []
            for number, line in enumerate(lines_of(block), block.line):
                if line and not line.isspace():
                    records.append((self._picked(self._record(line, number)), len(line)))
            if records:
                yield records

    def _picked(self, record: _Record) -> _Record:
        """Return the chosen members: what is left out is not held any longer."""
        if self._names is not None:
            self._names.update(dict.fromkeys(record))
        return {name: record[name] for name in record if name in self._chosen}

    def _record(self, line: str, number: int) -> _Record:
        where = f"{self._source.name}, line {number}"
        try:
            record = _READ(line)
        except ValueError:
            raise FormatError(f"{where}: is not valid JSON.") from None
        except RecursionError:
            raise FormatError(f"{where}: is nested too deeply.") from None
        if not isinstance(record, dict):
            raise FormatError(f"{where}: is not a JSON object. Hint: each line must be one {{…}}.")
        for name in self.text:
            if type(record.get(name)) not in (str, type(None)):
                raise FormatError(
                    f"{where}: '{name}' is not text. Hint: only text (or null) can be perturbed."
                )
        return record

    def chunks(self) -> Iterator[Chunk]:
        """Yield the records with their chosen members only."""
        for sized in cut(
            self._all_groups(), self._letters, lambda row: row[1], unbuffered=self._source.unbuffered
        ):
            records = [record for record, _ in sized]
            texts: Columns = {name: [record.get(name) for record in records] for name in self.text}
            yield Chunk(len(records), texts, records)

    def _all_groups(self) -> Iterator[list[_Sized]]:
        first, self._first = self._first, []
        for records in chain([first], self._groups):
            if self._missing:
                self._missing.difference_update(*(record for record, _ in records))
            yield records
        if self._source.unbuffered and first:
            self._check_columns(())

    def _letters(self, row: _Sized) -> int:
        return sum(max(self._source.padding, len(row[0].get(name) or "")) for name in self.text)

    def values(self, chunk: Chunk, name: str) -> list[str | None]:
        """Return a kept column of a chunk; what is no text, as it is written."""
        found = [record.get(name) for record in chunk.rest]
        return [each if each is None or type(each) is str else _written(each) for each in found]

    def encode(self, chunk: Chunk, answers: Columns) -> bytes:
        """Return an object a line; what is absent in a record stays absent, unless it is padded.

        If it is, the texts come first: the place of a member that was added would give it away.
        """
        fills = self._source.policy.pads_nulls
        first = dict.fromkeys(answers) if fills else {}
        lines = []
        for number, record in enumerate(chunk.rest):
            changed = {name: answers[name][number] for name in answers if fills or name in record}
            lines.append(f"{_written(first | record | changed)}\n")
        return "".join(lines).encode("utf-8")


def _written(value: Any) -> str:
    """Return a value as JSON, with every number as it was."""
    written = _WRITE(value)
    try:
        written.encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair, which only an escape can tell
        written = json.dumps(value)
    return _MARKED.sub(r"\1", written) if _MARK in written else written


def _open(source: Source, _: Layout, text: list[str], keep: list[str]) -> Table:
    return JsonLines(source, text, keep)


register_format(Format("jsonl", "JSON Lines", (".jsonl", ".ndjson"), _open))
