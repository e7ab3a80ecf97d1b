"""Writes tables into pages of the documentation, between two comments with the name of the table."""

from collections.abc import Mapping, Sequence
from pathlib import Path

__all__ = ["write_tables"]


def write_tables(page: Path, tables: Mapping[str, Sequence[str]]) -> None:
    """Replace the lines between `<!-- NAME -->` and `<!-- end of NAME -->`; sentences are not changed."""
    text = page.read_text(encoding="utf-8")
    for name, lines in tables.items():
        before, start, rest = text.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition(f"<!-- end of {name} -->")
        assert "" not in (start, end), name
        text = before + start + "\n" + "\n".join(lines) + "\n\n" + end + after
    page.write_text(text, encoding="utf-8")
    print(page)
