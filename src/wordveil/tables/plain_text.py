"""Plain text: one record per line."""

from collections.abc import Iterator
from typing import Final

import numpy as np

from wordveil.tables.base import Chunk, Columns, Group, Source, Table, cut, lengths_of
from wordveil.tables.blocks import blocks_of_lines, lines_of
from wordveil.tables.layout import Layout
from wordveil.tables.registry import Format, register_format

__all__ = ["LINE", "PlainText"]

LINE: Final = "line"
"""The name of the only column, where one is needed."""


class PlainText(Table):
    """Lines, each of them a text; there is nothing to keep and nothing to leave out."""

    text, kept = (LINE,), ()

    def chunks(self) -> Iterator[Chunk]:
        """Yield the lines."""
        blocks = blocks_of_lines(self._source.file, self._source.name, unbuffered=self._source.unbuffered)
        padding = self._source.padding
        groups = (self._group(lines_of(block), padding) for block in blocks)
        for lines in cut(groups, unbuffered=self._source.unbuffered):
            yield Chunk(len(lines), {LINE: [*lines]}, None)

    @staticmethod
    def _group(lines: list[str], padding: int) -> Group[str]:
        lengths = lengths_of(lines)
        return Group(lines, np.maximum(lengths, padding), lengths)

    def encode(self, chunk: Chunk, answers: Columns) -> bytes:  # noqa: ARG002  # the contract
        """Return one text per line."""
        return "".join(f"{line}\n" for line in answers[LINE]).encode("utf-8")


def _open(source: Source, _layout: Layout, _text: list[str], _keep: list[str]) -> Table:
    return PlainText(source)


register_format(Format("text", "plain text", (".txt", ".text"), _open, has_columns=False))
