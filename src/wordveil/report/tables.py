"""One table as terminal output, CSV, Markdown, LaTeX and HTML."""

import csv
import html
import io
import math
import re
from dataclasses import dataclass
from typing import Any, Final

from rich.table import Table as RichTable
from rich.text import Text

__all__ = ["StatTable", "facts_csv", "finite"]


def finite(value: float) -> float | None:
    """Return a number that JSON can hold: None in place of an infinity or a NaN."""
    return value if math.isfinite(value) else None


def facts_csv(facts: list[dict[str, Any]]) -> str:
    """Return rows of facts as CSV for machines: numbers unrounded, and an empty cell for None."""
    rows = tuple(tuple("" if value is None else str(value) for value in row.values()) for row in facts)
    return StatTable("", tuple(facts[0]), rows).csv()


@dataclass(frozen=True, slots=True)
class StatTable:
    """A table of text cells under named columns; the first column names the rows.

    Examples
    --------
    >>> print(StatTable("N_w", ("λ", "ε = 1"), (("0", "0.2 ± 0.5"),)).markdown())
    **N_w**
    <BLANKLINE>
    | λ | ε = 1 |
    |---|---|
    | 0 | 0.2 ± 0.5 |
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def rich(self) -> RichTable:
        """Return the table for a terminal."""
        table = RichTable(title=Text(self.title), title_justify="left", title_style="bold")
        for number, name in enumerate(self.columns):
            table.add_column(Text(name), justify="right" if number else "left")
        for row in self.rows:
            table.add_row(*(Text(cell) for cell in row))
        return table

    def csv(self) -> str:
        """Return the table as CSV."""
        out = io.StringIO(newline="")
        csv.writer(out, lineterminator="\n").writerows([self.columns, *self.rows])
        return out.getvalue()

    def markdown(self) -> str:
        """Return the table as Markdown."""
        lines = [self.columns, ("---",) * len(self.columns), *self.rows]
        cells = [
            [cell if cell == "---" else f" {cell.replace('|', chr(92) + '|')} " for cell in row]
            for row in lines
        ]
        bars = "\n".join(f"|{'|'.join(row)}|" for row in cells)
        return f"**{self.title}**\n\n{bars}"

    def latex(self) -> str:
        """Return the table as a LaTeX table (booktabs)."""
        lines = [" & ".join(map(_latex, row)) + r" \\" for row in (self.columns, *self.rows)]
        body = "\n".join([r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule"])
        shape = "l" + "r" * (len(self.columns) - 1)
        return (
            f"\\begin{{table}}\n\\caption{{{_latex(self.title)}}}\n\\begin{{tabular}}{{{shape}}}\n{body}\n"
            "\\end{tabular}\n\\end{table}"
        )

    def html(self) -> str:
        """Return the table as HTML."""
        head = "".join(f"<th>{html.escape(cell)}</th>" for cell in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in self.rows
        )
        return (
            f'<p class="title">{html.escape(self.title)}</p><div class="wide"><table>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        )


_SYMBOLS: Final = {
    "N_w": r"$N_w$",
    "S_w": r"$S_w$",
    "ε": r"$\varepsilon$",
    "λ": r"$\lambda$",
    "±": r"$\pm$",
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{symbol: f"\\{symbol}" for symbol in "&%$#_{}"},
}
_SPECIAL: Final = re.compile("|".join(map(re.escape, _SYMBOLS)))


def _latex(cell: str) -> str:
    return _SPECIAL.sub(lambda match: _SYMBOLS[match[0]], cell)
