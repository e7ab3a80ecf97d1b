"""Tables in files, pipes and memory."""

import io
import shutil
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import strategies as st

import wordveil as wv
from wordveil.runs import perturb_pipe
from wordveil.runs import run as run_module
from wordveil.tables import Format, base, registered_formats

from .budget import Budget
from .mutations import NASTY, damaged, packed
from .rules import SECRET, Rules, check_silent

pytestmark = pytest.mark.fuzz

_CSV: Final = (
    f"label,message,{SECRET}\nham,Book a flight to {SECRET},7\n"
    f'"a ""b""","call me,\nat noon, {SECRET}",{SECRET}\r\n,,\n'
)
_TEXTS: Final[dict[str, list[str]]] = {
    "csv": [_CSV, f"message\ntea\n\n{SECRET}\n", f"{SECRET},ham\nmessage,tea\n"],
    "tsv": [_CSV.replace(",", "\t"), f"message\tlabel\n{SECRET} 'tea\t\"ham\n"],
    "jsonl": [
        f'{{"label": 1.50, "message": "tea {SECRET}", "{SECRET}": [{{"a": null}}]}}\n'
        f'{{"message": null, "label": {{"{SECRET}": "\\ud83c\\udf0d"}}}}\n\n{{"label": "{SECRET}"}}\n',
        f'{{"message": "{SECRET}"}}',
    ],
    "text": [f"Book a flight to {SECRET}\n\n{SECRET}, at noon!\n", SECRET],
}


_NEARLY: Final = SECRET[2:-1]
"""A column that is called almost like the secret."""


@dataclass(frozen=True)
class Case:
    """A file, and what is asked of it."""

    data: bytes
    format: Any
    packing: Any = ""
    text: tuple[str, ...] = ("message",)
    keep: tuple[str, ...] = ()
    header: bool = True
    quotes: bool = True
    delimiter: str | None = None
    pad_to: int | None = None

    @property
    def layout(self) -> wv.Layout:
        return wv.Layout(self.format, self.delimiter, self.header, self.quotes)

    @property
    def columns(self) -> dict[str, Any]:
        return {"text": self.text, "keep": self.keep} if self.layout.find_format().has_columns else {}

    def perturber(self, like: wv.Perturber) -> wv.Perturber:
        return wv.Perturber(like.mechanism, wv.Policy(pad_to=self.pad_to))


def parquet_files() -> list[bytes]:
    files = []
    for table, options in (
        (pa.table({"label": [1, 2, None], "message": ["tea", SECRET, None], SECRET: ["a", "b", "c"]}), {}),
        (
            pa.table(
                {"message": pa.array([SECRET, "tea", None] * 4).dictionary_encode(), "label": [0.5] * 12}
            ),
            {"row_group_size": 5, "compression": "zstd", "data_page_version": "2.0"},
        ),
        (
            pa.table(
                {
                    "message": pa.array([SECRET, "call me"], pa.large_string()),
                    "label": [{"a": [1, 2], SECRET: SECRET}, None],
                }
            ).replace_schema_metadata({SECRET: SECRET}),
            {"compression": "none", "use_dictionary": False},
        ),
        (
            pa.table({"message": pa.nulls(3), "label": pa.array([b"\xff", b"", None])}),
            {"compression": "gzip"},
        ),
        (pa.table({"message": texts_of([b"tea", b"\xff" + SECRET.encode()]), "label": [1, 2]}), {}),
        (pa.table({"message": pa.array([], pa.string()), "label": pa.array([], pa.int8())}), {}),
    ):
        out = io.BytesIO()
        pq.write_table(table, out, **options)
        files.append(out.getvalue())
    return files


def texts_of(values: list[bytes | None]) -> Any:
    """Return bytes as Arrow's text, which nobody has checked."""
    raw = pa.array(values, pa.binary())
    return pa.StringArray.from_buffers(len(raw), *(raw.buffers()[place] for place in (1, 2, 0)))


@cache
def content(format: str) -> st.SearchStrategy[bytes]:
    return damaged(parquet_files() if format == "parquet" else [text.encode() for text in _TEXTS[format]])


@st.composite
def cases(draw: st.DrawFn, formats: list[Format]) -> Case:
    drawn = draw(st.sampled_from(formats))
    kind = drawn.name
    packing = draw(st.sampled_from(["", "gz", "zst"]))
    data = draw(packed(content(kind), packing))
    pad_to = draw(st.sampled_from([None, None, 3]))
    keep = draw(st.sampled_from([(), ("label",)]))
    text = draw(st.sampled_from([("message",)] * 9 + [(_NEARLY,)]))
    if drawn.delimiter is None:
        return Case(data, kind, packing, text, keep, pad_to=pad_to)
    header, quotes = draw(st.booleans()), draw(st.booleans())
    delimiter = draw(st.sampled_from([None, None, ";", "|", "a", "\u2028", "\x85"]))
    if not header:
        return Case(data, kind, packing, ("1",), ("2",) if keep else (), False, quotes, delimiter, pad_to)
    return Case(data, kind, packing, text, keep, header, quotes, delimiter, pad_to)


def test_files(
    budget: Budget, rules: Rules, folder: Path, noisy: wv.Perturber, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "CHUNK_ROWS", 1)  # so that rows are committed before the damage is reached
    monkeypatch.setattr(run_module, "_COMMIT_SECONDS", 0.0)

    def example(case: Case) -> str:
        end = f".{case.packing}" if case.packing else ""
        source, target = folder / f"in{end}", folder / f"out{end}"
        shutil.rmtree(folder)
        folder.mkdir()
        source.write_bytes(case.data)
        run = rules.call(
            lambda: wv.perturb_file(
                source, target, perturber=case.perturber(noisy), layout=case.layout, workers=1, **case.columns
            )
        )
        left = {path.name for path in folder.iterdir()} - {source.name}
        if isinstance(run, wv.WordveilError):
            assert not left
            return "refused"
        assert left == {path.name for path in (run.output, run.manifest, run.private)}
        check_silent(run.manifest.read_text())
        check_silent(run.left_out_note)
        if not case.keep:
            check_silent(run.output.read_bytes().decode("utf-8", "replace"))
        return "perturbed"

    budget.spend(cases([*registered_formats()]), example)


class Dribble(io.RawIOBase):
    """A pipe that gives a little at a time."""

    def __init__(self, data: bytes) -> None:
        self._file = io.BytesIO(data)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(min(7, len(buffer)))
        buffer[: len(data)] = data
        return len(data)


def test_pipes(budget: Budget, rules: Rules, noisy: wv.Perturber) -> None:
    def example(case: Case) -> str:
        source: Any = Dribble(case.data) if case.pad_to else io.BytesIO(case.data)
        target = io.BytesIO()
        note = rules.call(
            lambda: perturb_pipe(
                source, target, "in", perturber=case.perturber(noisy), layout=case.layout,
                compression=case.packing, workers=1, **case.columns,
            )
        )  # fmt: skip
        if not case.keep:
            check_silent(target.getvalue().decode("utf-8", "replace"))
        if isinstance(note, wv.WordveilError):
            return "refused"
        check_silent(note)
        return "perturbed"

    budget.spend(cases([known for known in registered_formats() if known.streams]), example)


@st.composite
def columns(draw: st.DrawFn) -> Any:
    """Columns of any type, most of them of text that nobody has checked."""
    raw = draw(st.lists(st.none() | st.sampled_from(NASTY) | st.binary(max_size=6), max_size=5))
    texts = texts_of(raw)
    match draw(st.integers(0, 9)):
        case 0:
            return pa.array(raw, pa.binary())
        case 1:
            return pa.nulls(len(raw))
        case 2:
            return pa.array([[SECRET] if each else None for each in raw], pa.list_(pa.string()))
        case 3:
            places = draw(st.lists(st.none() | st.integers(0, max(0, len(raw) - 1)), max_size=5))
            return pa.DictionaryArray.from_arrays(pa.array(places if raw else [], pa.int32()), texts)
        case 4:
            start = draw(st.integers(0, len(raw)))
            return texts.slice(start, draw(st.integers(0, 5)))
        case 5:
            return pa.chunked_array([texts, texts.slice(1), texts.slice(0, 0)])
        case 6:
            return pa.chunked_array([], pa.string())
        case 7:
            return pa.array([each and each.decode("utf-8", "replace") for each in raw], pa.string_view())
        case 8:
            return pa.array(range(len(raw)), pa.int64())
        case _:
            return texts


@st.composite
def frames(draw: st.DrawFn) -> Any:
    column = draw(columns())
    names = draw(st.permutations(["message", draw(st.sampled_from([SECRET, "label", "message"]))]))
    fields = [pa.field(name, column.type, metadata={SECRET: SECRET}) for name in names]
    return pa.Table.from_arrays([column, column], schema=pa.schema(fields, metadata={SECRET: SECRET}))


def test_frames(budget: Budget, rules: Rules, noisy: wv.Perturber) -> None:
    def example(frame: Any) -> str:
        private = rules.call(lambda: wv.perturb_frame(frame, perturber=noisy, text="message"))
        if isinstance(private, wv.WordveilError):
            return "refused"
        check_silent(str(private))
        return "perturbed"

    budget.spend(frames(), example)
