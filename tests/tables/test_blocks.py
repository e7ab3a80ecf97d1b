"""Bytes to lines, and lines to chunks."""

import io
import zlib
from pathlib import Path
from typing import BinaryIO, cast

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

import wordveil as wv
from wordveil.tables import Layout, open_table
from wordveil.tables.base import Group, cut

from .samples import Slowly

Rows = list[tuple[int, int]]


def grouped(rows: Rows) -> Group[tuple[int, int]]:
    """Return rows that say themselves how many letters they have, and how many bytes."""
    sizes = np.array(rows, dtype=np.int64).reshape(-1, 2)
    return Group(rows, sizes[:, 0], sizes[:, 1])


def cut_one_by_one(rows: Rows) -> list[Rows]:
    """Return what `cut` must: how it was written before it counted by arrays."""
    chunks: list[Rows] = [[]]
    for row in rows:
        chunks[-1].append(row)
        letters, size = (sum(numbers) for numbers in zip(*chunks[-1], strict=True))
        if len(chunks[-1]) >= 1024 or letters >= 1 << 16 or size >= 1 << 20:
            chunks.append([])
    return [chunk for chunk in chunks if chunk]


@given(st.lists(st.lists(st.tuples(st.integers(0, 70_000), st.integers(0, 600_000)), max_size=5)))
def test_where_a_chunk_ends_depends_on_the_rows_alone(groups: list[Rows]) -> None:
    flat = [row for group in groups for row in group]
    assert list(cut(map(grouped, groups))) == list(cut([grouped(flat)])) == cut_one_by_one(flat)
    unbuffered = list(cut(map(grouped, groups), unbuffered=True))
    assert [row for chunk in unbuffered for row in chunk] == flat
    assert unbuffered == [chunk for group in groups for chunk in cut_one_by_one(group)]


def test_chunks_are_bounded_by_rows_and_by_what_they_hold() -> None:
    short, long = [(1, 1)] * 500, [(1, 1 << 18)] * 10
    assert [len(chunk) for chunk in cut(map(grouped, [short] * 5))] == [1024, 1024, 452]
    assert [len(chunk) for chunk in cut([grouped(long)])] == [4, 4, 2]


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
