"""Bytes to lines, and lines to chunks."""

import io
import zlib
from pathlib import Path
from typing import BinaryIO, cast

import hypothesis.strategies as st
import pytest
from hypothesis import given

import wordveil as wv
from wordveil.tables import Layout, open_table
from wordveil.tables.base import cut

from .samples import Slowly


@given(st.lists(st.lists(st.integers(0, 70_000), max_size=5)), st.data())
def test_where_a_chunk_ends_depends_on_the_rows_alone(groups: list[list[int]], data: st.DataObject) -> None:
    flat = [row for group in groups for row in group]
    chunks_of_all = list(cut([flat], lambda row: row, lambda row: 1))
    assert list(cut(groups, lambda row: row, lambda row: 1)) == chunks_of_all
    assert [row for chunk in chunks_of_all for row in chunk] == flat
    unbuffered = list(cut(groups, lambda row: row, lambda row: 1, unbuffered=True))
    assert [row for chunk in unbuffered for row in chunk] == flat
    assert all(sum(chunk[:-1]) < 1 << 16 for chunk in chunks_of_all)


def test_chunks_are_bounded_by_rows_and_by_what_they_hold() -> None:
    assert [len(chunk) for chunk in cut([[1] * 2500], lambda row: row, lambda row: row)] == [1024, 1024, 452]
    assert [len(chunk) for chunk in cut([[1] * 10], lambda row: row, lambda row: 1 << 18)] == [4, 4, 2]


def test_a_byte_order_mark_is_left_out(tmp_path: Path, same: wv.Perturber) -> None:
    (tmp_path / "in.csv").write_bytes(b"\xef\xbb\xbfmessage\ntea\n")
    wv.perturb_file(tmp_path / "in.csv", tmp_path / "out.csv", perturber=same, text="message")
    assert (tmp_path / "out.csv").read_bytes() == b"message\ntea\n"


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


def test_a_file_of_a_mark_alone_has_no_lines() -> None:
    for data in (b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"):
        table = open_table(io.BytesIO(data), "in", Layout("text"))
        assert sum(chunk.rows for chunk in table.chunks()) == data.count(b"\n")
    with pytest.raises(wv.FormatError, match="line 1: is not valid UTF-8"):
        list(open_table(io.BytesIO(b"\xef\xbb"), "in", Layout("text")).chunks())


def test_a_bomb_is_unpacked_little_by_little() -> None:
    packer = zlib.compressobj(9, wbits=31)
    bomb = b"".join(packer.compress(b"\n" * (1 << 20)) for _ in range(64)) + packer.flush()
    table = open_table(io.BytesIO(bomb), "in", Layout("text"), compression="gz")
    assert next(iter(table.chunks())).rows == 1024
