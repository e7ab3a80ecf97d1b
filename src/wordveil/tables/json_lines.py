"""JSON Lines: one object per line. Unless padded, absent members stay absent, and nulls stay null."""

import json
import re
import secrets
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Final, NoReturn

import numpy as np

from wordveil.errors import FormatError
from wordveil.tables.base import Chunk, Columns, Group, Source, Table, cut, lengths_of
from wordveil.tables.blocks import blocks_of_lines, lines_of
from wordveil.tables.columns import missing_column
from wordveil.tables.layout import Layout
from wordveil.tables.registry import Format, register_format

__all__ = ["JsonLines"]

_Record = dict[str, Any]
_Sized = tuple[_Record, int]
"""The chosen members of a record, and how long its line was."""


class _Number(str):
    """A number as it is written in the file: if it is kept, its digits must not change."""

    __slots__ = ()


def _refuse(_: str) -> NoReturn:
    raise ValueError


# Numbers are read as text with this mark in front. It is random, so no text of a file can pass for a number.
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
    """Objects; the chosen members of each are written, in their own order."""

    def __init__(self, source: Source, text: list[str], keep: list[str]) -> None:
        super().__init__(source)
        self.text, self.kept = tuple(text), tuple(keep)
        self._chosen = {*text, *keep}
        self._names: dict[str, None] | None = {}  # of the first group of records; None after it
        self._groups = self._parsed()
        self._first = next(self._groups, [])
        self.names, self._names = tuple(self._names), None
        self._missing = self._chosen.difference(self.names)
        if self._first and not source.unbuffered:  # a pipe may have sent a single record so far
            self._check_columns(self.names)

    def _check_columns(self, names: Iterable[str]) -> None:
        if self._missing:
            raise missing_column(min(self._missing), names, self._source.name)

    def _parsed(self) -> Iterator[list[_Sized]]:
        """Yield the records in groups; the first group decides which columns there are."""
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
        """Return the chosen members; the others are dropped here, to save memory."""
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
        """Yield the chosen members of the records."""
        for records in cut(map(self._measured, self._all_groups()), unbuffered=self._source.unbuffered):
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

    def _measured(self, group: list[_Sized]) -> Group[_Record]:
        records = [record for record, _ in group]
        letters = np.zeros(len(records), dtype=np.int64)
        for name in self.text:
            texts = lengths_of(record.get(name) or "" for record in records)
            letters += np.maximum(texts, self._source.padding)
        return Group(records, letters, np.array([length for _, length in group], dtype=np.int64))

    def values(self, chunk: Chunk, name: str) -> list[str | None]:
        """Return a kept column of a chunk; values other than text as JSON."""
        values = [record.get(name) for record in chunk.rest]
        return [value if value is None or type(value) is str else _written(value) for value in values]

    def encode(self, chunk: Chunk, answers: Columns) -> bytes:
        """Return one object per line. Absent members stay absent, unless the policy pads.

        If it does, the texts come first in each object: otherwise the position of a member would show that it
        was added.
        """
        pads = self._source.policy.pads_nulls
        first = dict.fromkeys(answers) if pads else {}
        lines = []
        for number, record in enumerate(chunk.rest):
            changed = {name: answers[name][number] for name in answers if pads or name in record}
            lines.append(f"{_written(first | record | changed)}\n")
        return "".join(lines).encode("utf-8")


def _written(value: Any) -> str:
    """Return a value as JSON, with the digits of every number as they were."""
    written = _WRITE(value)
    try:
        written.encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair, which only an escape can express
        written = json.dumps(value)
    return _MARKED.sub(r"\1", written) if _MARK in written else written


def _open(source: Source, _: Layout, text: list[str], keep: list[str]) -> Table:
    return JsonLines(source, text, keep)


register_format(Format("jsonl", "JSON Lines", (".jsonl", ".ndjson"), _open))
