"""Paragraphs, columns and bars for a terminal."""

import textwrap
from collections.abc import Sequence
from typing import Any, Final

from rich.cells import cell_len

from wordveil.intervals import Share
from wordveil.rounding import percent_range

__all__ = ["bars", "in_columns", "in_rows", "wrapped"]

_WIDTH: Final = 100
_BAR: Final = 40


def wrapped(text: str, name: str = "") -> str:
    """Return a paragraph of at most 100 characters per line, indented if it has a name before it.

    Options such as --pad-to are not broken at their hyphens.
    """
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=name,
        subsequent_indent=" " * len(name),
        break_on_hyphens=False,
        break_long_words=False,
    )


def in_rows(rows: dict[str, str]) -> str:
    """Return paragraphs with their names before them."""
    width = max(15, *(len(name) + 2 for name in rows))
    return "\n".join(wrapped(text, f"{name + ':':{width}}") for name, text in rows.items())


def bars(rows: list[tuple[str, dict[str, Any]]]) -> str:
    """Return shares with their intervals and a bar for each."""
    longest = max(row["share"] for _, row in rows) or 1.0
    return in_columns(
        [
            (
                name,
                f"{row['share']:6.1%} ({percent_range(Share(row['share'], row['low'], row['high']))})",
                "█" * max(1, round(_BAR * row["share"] / longest)) if row["share"] else "",
            )
            for name, row in rows
        ]
    )


def in_columns(rows: Sequence[tuple[str, ...]]) -> str:
    """Return rows of columns, aligned as a terminal shows them."""
    widths = [max(cell_len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "".join(
            f"  {text}{' ' * (width - cell_len(text))}" for text, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in rows
    )
