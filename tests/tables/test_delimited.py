"""CSV and TSV."""

import csv
import io
import re
from pathlib import Path
from typing import Any, Literal

import hypothesis.strategies as st
import pytest
from hypothesis import given

import wordveil as wv
from wordveil.tables import Chunk, Layout, open_table
from wordveil.tables import blocks as blocks_module

from .samples import PACKINGS, packed, unpacked


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
        blocks_module._BLOCK_BYTES = block  # type: ignore[misc]  # it is Final; restored below
        expected = [list(row) for row in rows]
        assert parsed(data, Layout("csv", delimiter), ["a"], ["b"]) == expected
        table = open_table(io.BytesIO(data), "in", Layout("csv", delimiter), ["a"], ["b"])
        written = table.head() + b"".join(table.encode(chunk, chunk.texts) for chunk in table.chunks())
        assert parsed(written, Layout("csv", delimiter), ["a"], ["b"]) == expected
    finally:
        blocks_module._BLOCK_BYTES = before  # type: ignore[misc]  # the original


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


@given(st.lists(st.tuples(FIELDS, FIELDS), max_size=20), st.sampled_from(",;\t|"), st.integers(1, 2))
def test_rows_are_written_as_by_the_csv_module(
    rows: list[tuple[str, str]], delimiter: str, width: int
) -> None:
    names = ["text", "label"][:width]
    head = delimiter.join(names).encode()
    table = open_table(io.BytesIO(head), "in", Layout("csv", delimiter=delimiter), "text", names[1:])
    texts, labels = [row[0] for row in rows], [row[1] for row in rows]
    written = ""
    for row in rows:
        out = io.StringIO(newline="")
        csv.writer(out, delimiter=delimiter, lineterminator="\r\n").writerow(row[:width])
        written += out.getvalue().removesuffix("\r\n") + "\n"
    chunk = Chunk(len(rows), {"text": [*texts]}, {"label": labels})
    assert table.encode(chunk, {"text": [*texts]}).decode() == written


def test_a_blank_line_is_no_row_unless_there_is_one_column() -> None:
    assert parsed(b"\na,b\n1,2\n\n3,4\n\n", Layout("csv"), ["b"], ["a"]) == [["2", "1"], ["4", "3"]]
    assert parsed(b"a\n1\n\n3\n", Layout("csv"), ["a"], []) == [["1"], [""], ["3"]]


def test_columns_come_out_in_the_order_of_the_input(tmp_path: Path, same: wv.Perturber) -> None:
    (tmp_path / "in.csv").write_text("c,b,a\ntea,noon,x\n")
    wv.perturb_file(tmp_path / "in.csv", tmp_path / "out.csv", perturber=same, text=["b", "c"], keep="a")
    assert (tmp_path / "out.csv").read_text() == "c,b,a\ntea,noon,x\n"


def test_long_fields_work(tmp_path: Path, same: wv.Perturber) -> None:
    long = "tea " * 50_000
    (tmp_path / "in.csv").write_text(f'message,kept\n"{long}\n",{"k" * 200_000}\n')
    run = wv.perturb_file(
        tmp_path / "in.csv", tmp_path / "out.csv", perturber=same, text="message", keep="kept"
    )
    assert run.words == 50_000
    assert (tmp_path / "out.csv").read_text() == f"message,kept\n{long.strip()},{'k' * 200_000}\n"


def test_a_word_with_the_delimiter_needs_quotes(tmp_path: Path) -> None:
    comma = wv.Embedding(["1,000", "2,000"], [[1.0, 2.0], [2.0, 1.0]], public=True)
    perturber = wv.Perturber(wv.Laplace(comma, 1.0))
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("a,b\nx,y\n")
    with pytest.raises(wv.FormatError, match="contains the delimiter"):
        wv.perturb_file(source, target, perturber=perturber, text="a", layout=Layout(quotes=False))
    wv.perturb_file(source, target, perturber=perturber, text="a")
    assert target.read_text() in ('a\n"1,000"\n', 'a\n"2,000"\n')


@pytest.mark.parametrize(
    ("name", "content", "hint"),
    [
        ("in.csv", b"id;message\n1;tea\n", "its fields seem to be separated by semicolons: --delimiter ';'"),
        ("in.csv", b"id\tmessage\n1\ttea\n", "its fields seem to be separated by tabs: --format tsv"),
        (
            "in.csv",
            b"id|message\n1|tea\n",
            "its fields seem to be separated by vertical bars: --delimiter '|'",
        ),
        ("in.tsv", b"id,message\n1,tea\n", "its fields seem to be separated by commas: --format csv"),
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


@pytest.mark.parametrize("packing", PACKINGS)
def test_a_table_without_rows_gives_the_same(packing: str, tmp_path: Path, same: wv.Perturber) -> None:
    source, target = tmp_path / f"in.csv{packing}", tmp_path / f"out.csv{packing}"
    source.write_bytes(packed(b"message\n", packing))
    assert wv.perturb_file(source, target, perturber=same, text="message").rows == 0
    assert unpacked(target) == b"message\n"
