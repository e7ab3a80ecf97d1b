"""Every format, plain and packed: the same table comes out, but for what is left out."""

import base64
import csv
import gzip
import io
import json
import random
import re
import zlib
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

import hypothesis.strategies as st
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard
from hypothesis import given

import wordveil as wv
from wordveil.tables import Layout, open_table
from wordveil.tables import blocks as blocks_module
from wordveil.tables.base import cut
from wordveil.tables.files import recognised

ROWS = [
    {"id": "1", "message": "Book a flight, please!", "label": "ham"},
    {"id": "2", "message": 'the "red"\nhouse', "label": 'x, "y"\nz'},
    {"id": "3", "message": "", "label": ""},
    {"id": "4", "message": "tea at noon", "label": "späm"},
]
PRIVATE = ["book a flight please", "the red house", "", "tea at noon"]


def write(rows: list[dict[str, Any]], path: Path, format: str) -> None:
    data = io.BytesIO()
    match format:
        case "csv" | "tsv":
            text = io.StringIO(newline="")
            writer = csv.DictWriter(text, list(rows[0]), delimiter="," if format == "csv" else "\t")
            writer.writeheader()
            writer.writerows(rows)
            data.write(text.getvalue().encode())
        case "jsonl":
            data.write("".join(json.dumps(row) + "\n" for row in rows).encode())
        case "parquet":
            pq.write_table(pa.Table.from_pylist(rows), data, row_group_size=3)
        case "text":
            data.write("".join(row["message"].replace("\n", " ") + "\r\n" for row in rows).encode())
    path.write_bytes(packed(data.getvalue(), path.suffix))


def packed(data: bytes, suffix: str) -> bytes:
    match suffix:
        case ".gz":
            return gzip.compress(data[:10]) + gzip.compress(data[10:]) + b"\0" * 5000
        case ".zst":
            return zstandard.compress(data[:10]) + zstandard.compress(data[10:])
        case _:
            return data


def unpacked(path: Path) -> bytes:
    data = path.read_bytes()
    match path.suffix:
        case ".gz":
            return gzip.decompress(data)
        case ".zst":
            return zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).read()
        case _:
            return data


def read(path: Path, format: str) -> list[dict[str, Any]]:
    data = unpacked(path)
    match format:
        case "csv" | "tsv":
            text = io.StringIO(data.decode(), newline="")
            return list(csv.DictReader(text, delimiter="," if format == "csv" else "\t"))
        case "jsonl":
            return [json.loads(line) for line in data.splitlines()]
        case "parquet":
            return pq.read_table(io.BytesIO(data)).to_pylist()  # type: ignore[no-any-return]
        case _:
            return [{"message": line} for line in data.decode().split("\n")[:-1]]


@pytest.mark.parametrize("packing", ["", ".gz", ".zst"])
@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl", "parquet", "text"])
def test_the_same_table_comes_out(format: str, packing: str, tmp_path: Path, same: wv.Perturber) -> None:
    suffix = ("txt" if format == "text" else format) + packing
    source, target = tmp_path / f"in.{suffix}", tmp_path / f"out.{suffix}"
    write(ROWS, source, format)
    chosen: dict[str, Any] = {} if format == "text" else {"text": "message", "keep": ["label"]}
    run = wv.perturb_file(source, target, perturber=same, **chosen)
    assert (run.rows, run.words) == (4, 10)
    kept = [{} if format == "text" else {"label": row["label"]} for row in ROWS]
    expected = [{"message": text} | rest for text, rest in zip(PRIVATE, kept, strict=True)]
    assert read(target, format) == expected
    assert run.left_out == (() if format == "text" else ("id",))


def test_formats_may_be_named(tmp_path: Path, same: wv.Perturber) -> None:
    write(ROWS, tmp_path / "in.data", "jsonl")
    wv.perturb_file(
        tmp_path / "in.data", tmp_path / "out.gz", perturber=same, text="message", layout=Layout("jsonl")
    )
    assert [row["message"] for row in read(tmp_path / "out.gz", "jsonl")] == PRIVATE


@pytest.mark.parametrize(
    ("name", "format", "packing"),
    [
        ("a.b.CSV", "csv", ""),
        ("a.tab.GZ", "tsv", "gz"),
        ("a.ndjson.zst", "jsonl", "zst"),
        ("a.pq", "parquet", ""),
        ("a.text", "text", ""),
    ],
)
def test_names_tell_formats(name: str, format: str, packing: str) -> None:
    layout, compression = recognised(Path(name), Layout())
    assert (layout.format, compression) == (format, packing)


def parsed(data: bytes, layout: Layout, text: list[str], keep: list[str], **options: Any) -> list[list[Any]]:
    table = open_table(io.BytesIO(data), "in", layout, text, keep, **options)
    rows: list[list[Any]] = []
    for chunk in table.chunks():
        columns = [chunk.texts[name] if name in chunk.texts else chunk.rest[name] for name in (*text, *keep)]
        rows += [list(row) for row in zip(*columns, strict=True)]
    return rows


FIELDS = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from(',;"\n\r\t'), max_size=12)


@given(
    st.lists(st.tuples(FIELDS, FIELDS), max_size=20),
    st.sampled_from(",;\t|"),
    st.integers(1, 40),
    st.sampled_from(["\n", "\r\n"]),
)
def test_csv_is_read_as_the_csv_module_writes_it(
    rows: list[tuple[str, str]], delimiter: str, block: int, end: str
) -> None:
    out = io.StringIO(newline="")
    # With a line feed as the end of lines the csv module leaves carriage returns without quotes.
    quoting: Literal[0, 1] = csv.QUOTE_ALL if end == "\n" else csv.QUOTE_MINIMAL
    csv.writer(out, delimiter=delimiter, lineterminator=end, quoting=quoting).writerows([("a", "b"), *rows])
    data = out.getvalue().encode()
    before = blocks_module._BLOCK_BYTES
    try:
        blocks_module._BLOCK_BYTES = block  # type: ignore[misc]
        expected = [list(row) for row in rows]
        assert parsed(data, Layout("csv", delimiter), ["a"], ["b"]) == expected
        table = open_table(io.BytesIO(data), "in", Layout("csv", delimiter), ["a"], ["b"])
        written = table.head() + b"".join(table.encode(chunk, chunk.texts) for chunk in table.chunks())
        assert parsed(written, Layout("csv", delimiter), ["a"], ["b"]) == expected
    finally:
        blocks_module._BLOCK_BYTES = before  # type: ignore[misc]


@given(
    st.lists(
        st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r\t"), max_size=9), min_size=1
    ),
    st.integers(1, 9),
)
def test_without_quotes_quotes_are_letters(texts: list[str], block: int) -> None:
    data = "".join(f"{text}\tx\n" for text in texts).encode()
    layout = Layout("tsv", header=False, quotes=False)
    # A mark at the very beginning is not part of the text.
    expected = [text.removeprefix("\ufeff") if i == 0 else text for i, text in enumerate(texts)]
    assert parsed(data, layout, ["1"], ["2"]) == [[text, "x"] for text in expected]
    table = open_table(io.BytesIO(data), "in", layout, ["1"], ["2"])
    if texts:
        written = b"".join(table.encode(chunk, chunk.texts) for chunk in table.chunks())
        assert written.decode() == "".join(f"{text}\tx\n" for text in expected)


@given(st.lists(st.lists(st.integers(0, 70_000), max_size=5)), st.data())
def test_where_a_chunk_ends_depends_on_the_rows_alone(groups: list[list[int]], data: st.DataObject) -> None:
    flat = [row for group in groups for row in group]
    whole = list(cut([flat], lambda row: row, lambda row: 1))
    assert list(cut(groups, lambda row: row, lambda row: 1)) == whole
    assert [row for chunk in whole for row in chunk] == flat
    unbuffered = list(cut(groups, lambda row: row, lambda row: 1, unbuffered=True))
    assert [row for chunk in unbuffered for row in chunk] == flat
    assert all(sum(chunk[:-1]) < 1 << 16 for chunk in whole)


def test_chunks_are_bounded_by_rows_and_by_what_they_hold() -> None:
    assert [len(chunk) for chunk in cut([[1] * 2500], lambda row: row, len_of)] == [1024, 1024, 452]
    assert [len(chunk) for chunk in cut([[1] * 10], lambda row: row, lambda row: 1 << 18)] == [4, 4, 2]


def len_of(row: int) -> int:
    return row


def test_a_blank_line_is_no_row_unless_there_is_one_column() -> None:
    assert parsed(b"\na,b\n1,2\n\n3,4\n\n", Layout("csv"), ["b"], ["a"]) == [["2", "1"], ["4", "3"]]
    assert parsed(b"a\n1\n\n3\n", Layout("csv"), ["a"], []) == [["1"], [""], ["3"]]


def test_columns_come_out_in_the_order_of_the_input(tmp_path: Path, same: wv.Perturber) -> None:
    (tmp_path / "in.csv").write_text("c,b,a\ntea,noon,x\n")
    wv.perturb_file(tmp_path / "in.csv", tmp_path / "out.csv", perturber=same, text=["b", "c"], keep="a")
    assert (tmp_path / "out.csv").read_text() == "c,b,a\ntea,noon,x\n"


def test_a_byte_order_mark_is_left_out(tmp_path: Path, same: wv.Perturber) -> None:
    (tmp_path / "in.csv").write_bytes(b"\xef\xbb\xbfmessage\ntea\n")
    wv.perturb_file(tmp_path / "in.csv", tmp_path / "out.csv", perturber=same, text="message")
    assert (tmp_path / "out.csv").read_bytes() == b"message\ntea\n"


def test_long_fields_work(tmp_path: Path, same: wv.Perturber) -> None:
    long = "tea " * 50_000
    (tmp_path / "in.csv").write_text(f'message,kept\n"{long}\n",{"k" * 200_000}\n')
    run = wv.perturb_file(
        tmp_path / "in.csv", tmp_path / "out.csv", perturber=same, text="message", keep="kept"
    )
    assert run.words == 50_000
    assert (tmp_path / "out.csv").read_text() == f"message,kept\n{long.strip()},{'k' * 200_000}\n"


@pytest.mark.parametrize("format", ["csv", "tsv", "jsonl", "parquet", "text"])
@pytest.mark.parametrize("packing", ["", ".gz", ".zst"])
def test_an_empty_file_is_refused(format: str, packing: str, tmp_path: Path, same: wv.Perturber) -> None:
    name = f"{'txt' if format == 'text' else format}{packing}"
    source, target = tmp_path / f"in.{name}", tmp_path / f"out.{name}"
    for content in (b"", packed(b"", packing)):
        source.write_bytes(content)
        chosen = {} if format == "text" else {"text": "message"}
        with pytest.raises(wv.FormatError, match="is empty"):
            wv.perturb_file(source, target, perturber=same, **chosen)  # type: ignore[arg-type]
        assert [path.name for path in tmp_path.iterdir()] == [source.name]


@pytest.mark.parametrize("name", ["in.csv", "in.csv.gz", "in.parquet"])
def test_a_table_without_rows_gives_the_same(name: str, tmp_path: Path, same: wv.Perturber) -> None:
    source, target = tmp_path / name, tmp_path / name.replace("in", "out")
    if name.endswith("parquet"):
        pq.write_table(pa.table({"message": pa.array([], pa.string())}), source)
    else:
        source.write_bytes(packed(b"message\n", source.suffix))
    assert wv.perturb_file(source, target, perturber=same, text="message").rows == 0
    if name.endswith("parquet"):
        assert pq.read_table(target).schema.names == ["message"]
    else:
        assert unpacked(target) == b"message\n"


def test_json_keeps_what_is_absent_null_odd_and_exact(tmp_path: Path, same: wv.Perturber) -> None:
    lines = [
        '{"k": {"b": [1, 2.5, null, true]}, "message": "Tea!", "x": 1}',
        '{"message": null, "k": [123456789012345678901234567890, 0.10, -0, 1E5, 1e400, 1.5]}',
        "  ",
        '{"k": "\\ud800 \\u00e9"}',
        '{"message": "call \\ud83d\\ude00 me", "k": "\\ud83d\\ude00"}',
    ]
    (tmp_path / "in.jsonl").write_text("\n".join(lines))
    run = wv.perturb_file(
        tmp_path / "in.jsonl", tmp_path / "out.jsonl", perturber=same, text="message", keep=["k"]
    )
    got = (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line) for line in got[:3]] == [
        {"k": {"b": [1, 2.5, None, True]}, "message": "tea"},
        {"message": None, "k": [123456789012345678901234567890, 0.1, 0, 1e5, float("inf"), 1.5]},
        {"k": "\ud800 é"},
    ]
    assert list(json.loads(got[0])) == ["k", "message"]
    assert "[123456789012345678901234567890, 0.10, -0, 1E5, 1e400, 1.5]" in got[1]  # digit by digit
    assert '"k": "😀"' in got[3]
    assert run.rows == 4
    private = json.loads((tmp_path / "out.jsonl.private.json").read_text())
    assert private["nulls"] == 2


def test_parquet_keeps_types_groups_and_compression(tmp_path: Path, same: wv.Perturber) -> None:
    kept = pa.array([{"a": [1]}, None, {"a": []}] * 2, pa.struct([("a", pa.list_(pa.int8()))]))
    large = pa.array(["tea", None, "noon"] * 2, pa.large_string())
    table = pa.table(
        {
            "big": large,
            "day": pa.array(range(6), pa.date32()),
            "cat": large.cast(pa.string()).dictionary_encode(),
            "nested": kept,
            "none": pa.nulls(6),
        }
    ).replace_schema_metadata({"secret": "Zanzibar"})
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=4, compression={"big": "gzip"})
    wv.perturb_file(
        tmp_path / "in.parquet",
        tmp_path / "out.parquet",
        perturber=same,
        text=["big", "cat", "none"],
        keep=["nested", "day"],
    )
    got = pq.ParquetFile(tmp_path / "out.parquet")
    assert got.schema_arrow.names == table.schema.names
    assert got.schema_arrow.field("big").type == pa.large_string()
    assert got.schema_arrow.field("cat").type == pa.string()
    assert got.schema_arrow.field("nested").type == kept.type
    assert got.schema_arrow.metadata is None
    assert [got.metadata.row_group(i).num_rows for i in range(got.num_row_groups)] == [4, 2]
    assert got.metadata.row_group(0).column(0).compression == "GZIP"
    assert got.metadata.row_group(0).column(1).compression == "UNCOMPRESSED"
    assert got.read().to_pylist() == table.to_pylist()
    assert b"Zanzibar" not in (tmp_path / "out.parquet").read_bytes()


def test_parquet_over_several_chunks(tmp_path: Path, same: wv.Perturber) -> None:
    texts = [random.Random(i).choice(["tea", "noon", None, "call me"]) for i in range(5000)]
    table = pa.table({"message": texts, "id": range(5000)})
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=2300, compression="none")
    wv.perturb_file(
        tmp_path / "in.parquet", tmp_path / "out.parquet", perturber=same, text="message", keep="id"
    )
    got = pq.ParquetFile(tmp_path / "out.parquet")
    assert got.read().to_pylist() == table.to_pylist()
    assert [got.metadata.row_group(i).num_rows for i in range(got.num_row_groups)] == [2300, 2300, 400]


def parquet_of(column: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table({"message": column}), out)
    return out.getvalue()


SECRET = b"Zanzibar"
HUGE = b"x" * (17 << 20)
NO_QUOTES = "Hint: --no-quotes"
CASES: list[tuple[str, bytes, str]] = [
    ("in.csv", b"id,messages\n1,Zanzibar\n", "in.csv: has no column 'message'. Hint: did you mean 'messages'?"),
    ("in.csv", b"Zanzibar,x\n", "in.csv: has no column 'message'. Hint: the first row names the columns"),
    ("in.csv", b"message,message\n1,2\n", "more than one column 'message'"),
    ("in.csv", b'message,b\nok,1\n"Zanzibar,2\n', f"row 2 (line 3): a quote is opened and never closed. {NO_QUOTES}"),
    ("in.csv", b'message,b\n"Zanzibar"x,2\n', f"row 1 (line 2): something follows a closing quote. {NO_QUOTES}"),
    ("in.csv", b'message,b\n"a\nb",1\nZanzibar\n', "row 2 (line 4): has 1 fields, but there are 2 columns."),
    ("in.csv", b"message,b\n\nZanzibar,1,2\n", "row 1 (line 3): has 3 fields, but there are 2 columns."),
    ("in.csv", b'message,b\n"a\nb",1\nZanzibar\xff,1\n', "row 2 (line 4): is not valid UTF-8."),
    ("in.csv", b"\xff\n", "the header (line 1): is not valid UTF-8."),
    ("in.csv", b"message,b\rZanzibar,1\r", "carriage return stands outside of quotes"),
    ("in.csv", b"message\n" + HUGE, "row 1 (line 2): is over 16 MiB. Hint: cut it"),
    ("in.csv", b"message,b\n1,2\n" + HUGE[: 9 << 20] + b"," + HUGE[: 9 << 20], "row 2 (line 3): is over 16 MiB."),
    ("in.csv", b'message\n"' + b"x\n" * (9 << 20), f"row 1 (line 2): is over 16 MiB, or a quote in it is never closed. {NO_QUOTES}"),
    ("in.csv", b'message,b\n"' + b"x\n" * (5 << 20) + b'","' + b"x\n" * (5 << 20) + b'"\n', "row 1 (line 2): is over 16 MiB"),
    ("in.tsv", b"message\tb\nZanzibar\n", "row 1 (line 2): has 1 fields"),
    ("in.txt", b"ok\nZanzibar\xff\n", "in.txt, line 2: is not valid UTF-8."),
    ("in.txt", b"ok\n" + HUGE, "line 2: is over 16 MiB."),
    ("in.jsonl", b'{"message": "x"}\n{"message": "Zanzibar"\n', "in.jsonl, line 2: is not valid JSON."),
    ("in.jsonl", b'{"message": "x", "k": NaN}\n', "line 1: is not valid JSON."),
    ("in.jsonl", b"[" * 100_000 + b"\n", "line 1: is nested too deeply."),
    ("in.csv", b"mesage,b\nZanzibar\n", "did you mean column 1?"),
    ("in.jsonl", b'["Zanzibar"]\n', "line 1: is not a JSON object."),
    ("in.jsonl", b'{"message": "x"}\n\n{"message": 4711}\n', "line 3: 'message' is not text."),
    ("in.jsonl", b'{"massage": "Zanzibar"}\n', "did you mean column 1?"),
    ("in.jsonl", b'{"message": "Zanzibar\xff"}\n', "line 1: is not valid UTF-8."),
    ("in.parquet", b"PAR1Zanzibar", "is no Parquet file, or is damaged."),
    ("in.parquet", parquet_of([4711]), "column 'message' is not text but int64"),
    ("in.parquet", parquet_of([b"Zanzibar"]), "column 'message' is not text but binary"),
    ("in.parquet", parquet_of(["ok", HUGE.decode()]), "row 2: 'message' is over 16 MiB."),
    ("in.parquet", parquet_of(["tea"]).replace(b"tea", b"te\xff"), "row 1: is not valid UTF-8."),
    ("in.csv.gz", b"message\nZanzibar\n", "in.csv.gz: is no gzip file, or is damaged."),
    ("in.csv.gz", gzip.compress(b"message\nZanzibar\n")[:-3], "in.csv.gz: is cut short."),
    ("in.csv.gz", gzip.compress(b"message\nZanzibar\n") + b"more", "is no gzip file, or is damaged."),
    ("in.parquet.gz", b"Zanzibar", "in.parquet.gz: is no gzip file, or is damaged."),
    ("in.parquet.gz", gzip.compress(b"PAR1Zanzibar"), "is no Parquet file, or is damaged."),
    ("in.csv.zst", b"message\nZanzibar\n", "in.csv.zst: is no Zstandard file, or is damaged."),
    ("in.csv.zst", zstandard.compress(b"message\nZanzibar\n")[:-3], "in.csv.zst: is cut short."),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "told"), CASES, ids=[f"{i}-{case[0]}" for i, case in enumerate(CASES)]
)
def test_bad_input_is_one_line_without_the_text(
    name: str, content: bytes, told: str, tmp_path: Path, same: wv.Perturber
) -> None:
    (tmp_path / name).write_bytes(content)
    chosen = {} if name == "in.txt" else {"text": "message"}
    with pytest.raises(wv.FormatError) as caught:
        wv.perturb_file(
            tmp_path / name,
            tmp_path / name.replace("in", "out"),
            perturber=same,
            **chosen,  # type: ignore[arg-type]
        )
    assert told in str(caught.value)
    assert str(caught.value).count("\n") == 0
    assert SECRET.decode() not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_bomb_is_unpacked_little_by_little() -> None:
    packer = zlib.compressobj(9, wbits=31)
    bomb = b"".join(packer.compress(b"\n" * (1 << 20)) for _ in range(64)) + packer.flush()
    table = open_table(io.BytesIO(bomb), "in", Layout("text"), compression="gz")
    assert next(iter(table.chunks())).rows == 1024


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"format": "xml"}, "must be one of csv"),
        ({"delimiter": "ab"}, "must be one character"),
        ({"delimiter": '"'}, "must be one character"),
        ({"delimiter": "\n"}, "must be one character"),
        ({"delimiter": ""}, "must be one character"),
    ],
)
def test_layouts_are_checked(options: dict[str, Any], told: str) -> None:
    with pytest.raises(wv.ParameterError, match=told):
        Layout(**options)


@pytest.mark.parametrize(
    ("source", "chosen", "told"),
    [
        ("in.csv", {}, "which column is to be perturbed"),
        ("in.csv", {"text": ["a"], "keep": ["a"]}, "can't be both perturbed and kept"),
        ("in.csv", {"text": [3]}, "must be str"),
        ("in.txt", {"text": "a"}, "plain text has no columns"),
        ("in.dat", {"text": "a"}, "the name does not tell the format"),
    ],
)
def test_choices_are_checked(
    source: str, chosen: dict[str, Any], told: str, tmp_path: Path, same: wv.Perturber
) -> None:
    (tmp_path / source).write_text("a\nb\n")
    with pytest.raises(wv.ParameterError, match=told):
        wv.perturb_file(tmp_path / source, tmp_path / f"out{Path(source).suffix}", perturber=same, **chosen)


def test_a_word_with_the_delimiter_needs_quotes(tmp_path: Path) -> None:
    comma = wv.Embedding(["1,000", "2,000"], [[1.0, 2.0], [2.0, 1.0]], public=True)
    perturber = wv.Perturber(wv.Laplace(comma, 1.0))
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("a,b\nx,y\n")
    with pytest.raises(wv.FormatError, match="holds the delimiter"):
        wv.perturb_file(source, target, perturber=perturber, text="a", layout=Layout(quotes=False))
    wv.perturb_file(source, target, perturber=perturber, text="a")
    assert target.read_text() in ('a\n"1,000"\n', 'a\n"2,000"\n')


@pytest.mark.parametrize(
    ("name", "content", "hint"),
    [
        ("in.csv", b"id;message\n1;tea\n", "semicolons separate its fields, it seems: --delimiter ';'"),
        ("in.csv", b"id\tmessage\n1\ttea\n", "tabs separate its fields, it seems: --format tsv"),
        ("in.csv", b"id|message\n1|tea\n", "vertical bars separate its fields, it seems: --delimiter '|'"),
        ("in.tsv", b"id,message\n1,tea\n", "commas separate its fields, it seems: --format csv"),
    ],
)
def test_another_delimiter_is_recognised(
    name: str, content: bytes, hint: str, tmp_path: Path, same: wv.Perturber
) -> None:
    (tmp_path / name).write_bytes(content)
    options: dict[str, Any] = {"perturber": same, "text": "message"}
    target = tmp_path / name.replace("in", "out")
    with pytest.raises(wv.FormatError) as caught:
        wv.perturb_file(tmp_path / name, target, **options)
    assert f"has no column 'message'. Hint: {hint}" in str(caught.value)
    layout = re.search(r"--(format|delimiter) '?([^' ]+)", hint)
    assert layout is not None
    kind: dict[str, Any] = {layout[1]: layout[2]}
    assert wv.perturb_file(tmp_path / name, target, layout=Layout(**kind), **options).rows == 1


@pytest.mark.parametrize("sizes", [[1, 1, 1], [2, 1], [1, 2], [3], [1, 1], [2]])
@pytest.mark.parametrize("unbuffered", [False, True])
def test_a_byte_order_mark_that_comes_in_pieces(sizes: list[int], unbuffered: bool) -> None:
    data = b"\xef\xbb\xbfmessage\ntea\n"
    pieces = []
    for size in sizes:
        pieces.append(data[:size])
        data = data[size:]
    file = Slowly([*pieces, data])
    table = open_table(cast(BinaryIO, file), "in", Layout("csv"), "message", unbuffered=unbuffered)
    assert [chunk.texts for chunk in table.chunks()] == [{"message": ["tea"]}]


class Slowly(io.RawIOBase):
    """A pipe that hands out one piece per read, however many bytes are asked for."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = pieces

    def read(self, size: int = -1) -> bytes:
        return self._pieces.pop(0) if self._pieces else b""


def test_a_file_of_a_mark_alone_has_no_lines() -> None:
    for data in (b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"):
        table = open_table(io.BytesIO(data), "in", Layout("text"))
        assert sum(chunk.rows for chunk in table.chunks()) == data.count(b"\n")
    with pytest.raises(wv.FormatError, match="line 1: is not valid UTF-8"):
        list(open_table(io.BytesIO(b"\xef\xbb"), "in", Layout("text")).chunks())


def write_encrypted(path: Path, **options: Any) -> None:
    encryption = pytest.importorskip("pyarrow.parquet.encryption")  # not in every build of pyarrow

    class Plain(encryption.KmsClient):  # type: ignore[misc, name-defined]  # pyarrow has no types
        def wrap_key(self, key: bytes, name: str) -> bytes:
            return base64.b64encode(key)

        def unwrap_key(self, key: bytes, name: str) -> bytes:
            return base64.b64decode(key)

    factory = encryption.CryptoFactory(lambda _: Plain())
    config = encryption.EncryptionConfiguration(footer_key="f", **options)
    properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), config)
    table = pa.table({"message": ["tea"], "secret": ["x"]})
    with pq.ParquetWriter(path, table.schema, encryption_properties=properties) as writer:
        writer.write_table(table)


@pytest.mark.parametrize("plaintext_footer", [False, True])
def test_encrypted_parquet_is_called_encrypted(
    plaintext_footer: bool, tmp_path: Path, same: wv.Perturber
) -> None:
    write_encrypted(
        tmp_path / "in.parquet", column_keys={"k": ["message"]}, plaintext_footer=plaintext_footer
    )
    with pytest.raises(wv.FormatError, match=r"in\.parquet: is encrypted\. Hint: decrypt it first"):
        wv.perturb_file(tmp_path / "in.parquet", tmp_path / "out.parquet", perturber=same, text="message")


def test_an_encrypted_column_that_is_left_out_is_in_nobodys_way(tmp_path: Path, same: wv.Perturber) -> None:
    write_encrypted(tmp_path / "in.parquet", column_keys={"k": ["secret"]}, plaintext_footer=True)
    run = wv.perturb_file(tmp_path / "in.parquet", tmp_path / "o.parquet", perturber=same, text="message")
    assert pq.read_table(run.output).to_pylist() == [{"message": "tea"}]
