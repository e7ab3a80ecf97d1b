"""One table, in every form that people ask for: on a terminal, CSV, Markdown, LaTeX and HTML."""

import csv
import html
import io
from dataclasses import dataclass

from rich.table import Table as RichTable
from rich.text import Text

__all__ = ["StatTable"]


@dataclass(frozen=True, slots=True)
class StatTable:
    """Cells under named columns; the first column names the rows.

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
        """Return it for a terminal."""
        table = RichTable(title=self.title, title_justify="left", title_style="bold")
        for number, name in enumerate(self.columns):
            table.add_column(name, justify="right" if number else "left")
        for row in self.rows:
            table.add_row(*(Text(cell) for cell in row))
        return table

    def csv(self) -> str:
        """Return it as CSV."""
        out = io.StringIO(newline="")
        csv.writer(out, lineterminator="\n").writerows([self.columns, *self.rows])
        return out.getvalue()

    def markdown(self) -> str:
        """Return it as Markdown."""
        lines = [self.columns, ("---",) * len(self.columns), *self.rows]
        bars = "\n".join("|" + "|".join(c if c == "---" else f" {c} " for c in row) + "|" for row in lines)
        return f"**{self.title}**\n\n{bars}"

    def latex(self) -> str:
        """Return it as a LaTeX table (booktabs)."""
        lines = [" & ".join(map(_latex, row)) + r" \\" for row in (self.columns, *self.rows)]
        body = "\n".join([r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule"])
        shape = "l" + "r" * (len(self.columns) - 1)
        return (
            f"\\begin{{table}}\n\\caption{{{_latex(self.title)}}}\n\\begin{{tabular}}{{{shape}}}\n{body}\n"
            "\\end{tabular}\n\\end{table}"
        )

    def html(self) -> str:
        """Return it as HTML."""
        head = "".join(f"<th>{html.escape(cell)}</th>" for cell in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in self.rows
        )
        return (
            f'<div class="wide"><table><caption>{html.escape(self.title)}</caption>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
        )


_SYMBOLS = {
    "ε": r"$\varepsilon$",
    "λ": r"$\lambda$",
    "±": r"$\pm$",
    "N_w": r"$N_w$",
    "S_w": r"$S_w$",
    "%": r"\%",
    "&": r"\&",
    "#": r"\#",
}


def _latex(cell: str) -> str:
    for symbol, written in _SYMBOLS.items():
        cell = cell.replace(symbol, written)
    return cell
