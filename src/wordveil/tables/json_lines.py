"""JSON Lines: an object a line. What a record does not hold stays absent, and null stays null."""

import json
from collections.abc import Iterator
from typing import Any, Final, NoReturn

from wordveil.errors import FormatError
from wordveil.tables.base import Answers, Chunk, Source, Table, cut
from wordveil.tables.blocks import blocks_of_lines, lines_of
from wordveil.tables.columns import missing_column

__all__ = ["JsonLines"]

_Record = dict[str, Any]


def _refuse(_: str) -> NoReturn:
    raise ValueError


_READ: Final = json.JSONDecoder(parse_constant=_refuse).decode  # NaN and Infinity are not JSON
_WRITE: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode


class JsonLines(Table):
    """Objects, of which the chosen members are written, in the order in which each has them."""

    def __init__(self, source: Source, text: list[str], keep: list[str]) -> None:
        super().__init__(source)
        self.text, self.kept = tuple(text), tuple(keep)
        self._chosen = {*text, *keep}
        self._groups = self._parsed()
        self._first = next(self._groups, [])
        known = dict.fromkeys(name for record in self._first for name in record)
        for name in (*text, *keep):
            if self._first and name not in known:
                raise missing_column(name, known, source.name)
        self.left_out = tuple(name for name in known if name not in self._chosen)

    def _parsed(self) -> Iterator[list[_Record]]:
        """Yield the records; the first group is where the columns are looked for."""
        for block in blocks_of_lines(self._source.file, self._source.name, prompt=self._source.prompt):
            records = []
            for number, line in enumerate(lines_of(block), block.line):
                if line and not line.isspace():
                    records.append(self._record(line, number))
            if records:
                yield records

    def _record(self, line: str, number: int) -> _Record:
        where = f"{self._source.name}, line {number}"
        try:
            record = _READ(line)
        except (ValueError, RecursionError):
            raise FormatError(f"{where}: is not valid JSON.") from None
        if not isinstance(record, dict):
            raise FormatError(f"{where}: is not a JSON object. Hint: each line must be one {{…}}.")
        for name in self.text:
            if not isinstance(record.get(name), str | None):
                raise FormatError(
                    f"{where}: '{name}' is not text. Hint: only text (or null) can be perturbed."
                )
        return record

    def chunks(self) -> Iterator[Chunk]:
        """Yield the records with their chosen members only."""
        for records in cut(self._all_groups(), self._letters, prompt=self._source.prompt):
            chosen = [{name: record[name] for name in record if name in self._chosen} for record in records]
            texts: Answers = {name: [record.get(name) for record in chosen] for name in self.text}
            yield Chunk(len(chosen), texts, chosen)

    def _all_groups(self) -> Iterator[list[_Record]]:
        yield self._first
        self._first = []
        yield from self._groups

    def _letters(self, record: _Record) -> int:
        return sum(len(record.get(name) or "") for name in self.text)

    def encode(self, chunk: Chunk, answers: Answers) -> bytes:
        """Return an object a line; what is absent in a record stays absent."""
        lines = []
        for number, record in enumerate(chunk.rest):
            changed = {name: answers[name][number] for name in answers if name in record}
            lines.append(self._line(record | changed))
        return "".join(lines).encode("utf-8")

    def _line(self, record: _Record) -> str:
        try:
            line = f"{_WRITE(record)}\n"
            line.encode("utf-8")
        except UnicodeEncodeError:  # half of a surrogate pair, which only an escape can tell
            return f"{json.dumps(record)}\n"
        except ValueError:
            raise FormatError(
                f"{self._source.name}: a number in a kept column is too large for JSON."
            ) from None
        return line
