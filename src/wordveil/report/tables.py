"""One table as terminal output, CSV, Markdown, LaTeX and HTML."""

import csv
import html
import io
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from wordveil.evaluation.verdicts import DOES_NOT_HOLD, HOLDS, UNDECIDED, Verdict
from wordveil.report.setting_labels import labelled_settings

__all__ = ["StatTable", "escaped", "facts_csv", "finite", "outcome_cell", "settings_table", "verdict_table"]


def finite(value: float) -> float | None:
    """Return a number that JSON can hold: None in place of an infinity or a NaN."""
    return value if math.isfinite(value) else None


def facts_csv(facts: Sequence[Mapping[str, Any]]) -> str:
    """Return rows of facts as CSV for machines: numbers unrounded, and an empty cell for None.

    Examples
    --------
    >>> print(facts_csv([{"ε": 1.5, "score": None}, {"ε": 2.5, "label": "ham"}]))
    ε,score,label
    1.5,,
    2.5,,ham
    """
    columns = tuple(dict.fromkeys(name for row in facts for name in row))
    values = ((row.get(name) for name in columns) for row in facts)
    rows = tuple(tuple("" if value is None else str(value) for value in row) for row in values)
    return StatTable("", columns, rows).csv()


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
    note: str = ""
    """What to know when reading it, written below the table."""
    is_detail: bool = False
    """Whether a terminal leaves it out."""
    is_text: bool = False
    """Whether its cells are sentences, in which lines may break; on a phone they stand below each other."""
    text_columns: tuple[str, ...] = ()
    """The columns of sentences among columns of numbers."""
    is_code: bool = False
    """Whether its rows are the lines of a file, to be copied as they are."""
    outcome_column: str | None = None
    """The column of the words of a verdict, which have a mark and a colour on a page."""

    def _is_text_column(self, number: int) -> bool:
        return number == 0 or self.is_text or self.columns[number] in self.text_columns

    def rich(self, width: int | None = None) -> list[RichTable]:
        """Return the table for a terminal; with a width, as several tables where its columns do not fit.

        Each of these has the first column. Columns of sentences stay together: their lines break.
        """
        numbers = list(range(1, len(self.columns)))
        if width is None or self.is_text or self.text_columns:
            return [self._rich(numbers, width)]
        parts: list[list[int]] = [[]]
        for number in numbers:
            if (
                parts[-1]
                and self._rich([*parts[-1], number], width).__rich_measure__(*_UNBOUNDED).maximum > width
            ):
                parts.append([])
            parts[-1].append(number)
        return [self._rich(part, width, is_first=part is parts[0]) for part in parts]

    def _rich(self, numbers: Sequence[int], width: int | None, *, is_first: bool = True) -> RichTable:
        """Return the first column and some others for a terminal; row names break only if they must."""
        title = self.title if is_first else f"{self.title} (continued)"
        table = RichTable(
            title=Text(title), title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False
        )
        names = max(cell_len(row[0]) for row in ((self.columns[0],), *self.rows))
        has_room = not self.is_text and (width is None or names <= width // 2)
        for number in (0, *numbers):
            justify: Literal["left", "right"] = "left" if self._is_text_column(number) else "right"
            is_whole = number == 0 and has_room
            # Broken, not cut.
            table.add_column(Text(self.columns[number]), justify=justify, overflow="fold", no_wrap=is_whole)
        for row in self.rows:
            table.add_row(*(Text(row[number]) for number in (0, *numbers)))
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
        note = f"\n\n{self.note}" if self.note else ""
        return f"**{self.title}**\n\n{bars}{note}"

    def latex(self) -> str:
        """Return the table as a LaTeX table (booktabs)."""
        lines = [" & ".join(map(_latex, row)) + r" \\" for row in (self.columns, *self.rows)]
        body = "\n".join([r"\toprule", lines[0], r"\midrule", *lines[1:], r"\bottomrule"])
        shape = "".join("l" if self._is_text_column(number) else "r" for number in range(len(self.columns)))
        return (
            f"\\begin{{table}}\n\\caption{{{_latex(self.title)}}}\n\\begin{{tabular}}{{{shape}}}\n{body}\n"
            "\\end{tabular}\n\\end{table}"
        )

    def html(self) -> str:
        """Return the table as HTML, in a box of its own that scrolls where the page is too narrow for it."""
        title = escaped(self.title)
        note = f'<p class="note">{escaped(self.note)}</p>' if self.note else ""
        if self.is_code:
            lines = html.escape("\n".join(cell for row in self.rows for cell in row))
            return f'<h3 class="title">{title}</h3><pre class="scroll" tabindex="0">{lines}</pre>{note}'
        head = "".join(
            f'<th scope="col"{self._attributes(number)}>{escaped(cell)}</th>'
            for number, cell in enumerate(self.columns)
        )
        body = "".join(
            "<tr>"
            + "".join(
                outcome_cell(cell, self._label(number))
                if self.columns[number] == self.outcome_column
                else f"<td{self._attributes(number, is_cell=True)}>{escaped(cell)}</td>"
                for number, cell in enumerate(row)
            )
            + "</tr>"
            for row in self.rows
        )
        has_long_names = any(len(row[0]) > _LONG_NAME for row in self.rows)
        box = "scroll sentences" if self.is_text else "scroll long-names" if has_long_names else "scroll"
        return (
            f'<h3 class="title">{title}</h3>{self._cue()}'
            f'<div class="{box}" tabindex="0" role="region" aria-label="{title}"><table>'
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>{note}"
        )

    def _attributes(self, number: int, *, is_cell: bool = False) -> str:
        """Return the class of a column of sentences; where cells stand below each other, their names too."""
        if self.is_text:
            return self._label(number) if is_cell and number else ""
        return ' class="text"' if number and self._is_text_column(number) else ""

    def _label(self, number: int) -> str:
        return f' data-label="{escaped(self.columns[number])}"'

    def _cue(self) -> str:
        """Return a hint that the table scrolls, shown on screens that are narrower than the table."""
        words = [max(name.split(), key=len, default="") for name in self.columns]  # lines break in names only
        widths = [
            max(_BOLD * _pixels(word), *map(_pixels, cells))
            for word, *cells in zip(words, *self.rows, strict=True)
        ]
        widths = [
            min(width, _SENTENCES) if self._is_text_column(number) and (number or self.is_text) else width
            for number, width in enumerate(widths)
        ]
        full, narrow = (
            _MARGIN + sum(max(_COLUMN, _PADDING + width) for width in (first, *widths[1:]))
            for first in (widths[0], min(widths[0], _FIRST_COLUMN))
        )
        stacked = 0.0 if self.is_text else narrow
        sizes = {name: full if name in _WIDE_SCREENS else stacked for name in _SCREENS}
        screen = next((name for name, pixels in _SCREENS.items() if sizes[name] > pixels), "")
        return f'<p class="cue {screen}" aria-hidden="true">scroll sideways →</p>' if screen else ""


def escaped(text: str) -> str:
    r"""Return a text for HTML, in which a line never breaks at "ε = 5", "1.5 ± 0.2" or "p < 0.001".

    Negative numbers have a minus, not a hyphen, and zero has neither.

    Examples
    --------
    >>> escaped("a < b at ε = 5").split(" ")
    ['a\xa0&lt;\xa0b', 'at', 'ε\xa0=\xa05']
    >>> escaped("N_w -0.9, S_w -0.0 and +0.0 of 7e-5").split(" ")
    ['N_w\xa0−0.9,', 'S_w', '0.0', 'and', '0.0', 'of', '7e-5']
    """
    text = _PLUS_ZERO.sub(r"\1", text)
    text = _NEGATIVE.sub(lambda match: f"−{match[1]}" if float(match[1]) else match[1], html.escape(text))
    return re.sub(r" (=|±|≤|≥|&lt;|&gt;) |(?<=\S) (?=[+−]\d)", _unbroken, text)


def _pixels(text: str) -> float:
    """Return about how wide a text is in a cell, in a wide font."""
    narrow = sum(letter in _NARROW_LETTERS for letter in text)
    return _NARROW_LETTER * narrow + _LETTER * (len(text) - narrow)


def _unbroken(match: re.Match[str]) -> str:
    return match[0].replace(" ", "\u00a0")


def outcome_cell(outcome: str, attributes: str = "") -> str:
    """Return the cell of a verdict, with its mark and the class of its colour.

    Examples
    --------
    >>> outcome_cell("does not hold")
    '<td class="outcome does-not-hold">✗ does not hold</td>'
    """
    return f'<td class="outcome {outcome.replace(" ", "-")}"{attributes}>{_MARKS[outcome]} {outcome}</td>'


def verdict_table(verdicts: Sequence[Verdict]) -> StatTable:
    """Return the claims, whether each holds here, and the numbers behind that."""
    rows = tuple((verdict.claim, verdict.outcome, verdict.evidence) for verdict in verdicts)
    return StatTable("Does it hold here?", ("claim", "verdict", "numbers"), rows, is_text=True)


def settings_table(settings: Mapping[str, Any]) -> StatTable:
    """Return the settings of a result, by name."""
    return StatTable("Settings", ("what", "value"), tuple(labelled_settings(settings)), is_text=True)


_MARKS: Final = {HOLDS: "✓", DOES_NOT_HOLD: "✗", UNDECIDED: "?"}

# Pixels, as the style of pages has them; a little more rather than less: a cue in vain does no harm. The
# letters are those of DejaVu Sans, which is wider than other fonts of systems.
_LETTER, _NARROW_LETTER = 9.0, 4.8
_BOLD: Final = 1.1  # how much wider the letters of a header are
_NARROW_LETTERS: Final = frozenset(" .,:;/'()|ijltfrI")
_PADDING, _MARGIN = 23.0, 44.0
_COLUMN, _FIRST_COLUMN = 78.0, 150.0  # the narrowest column, and the widest first one on a phone
_SENTENCES: Final = 130.0  # the narrowest column of sentences
_LONG_NAME: Final = 14  # letters; shorter names of rows fit into one line on a phone
# The screens on which a table that is wider than this does not fit; the next narrower ones would be too late.
_SCREENS: Final = {
    "always": 992.0, "below-desktop": 960.0, "below-page": 768.0, "below-tablet": 480.0, "below-phone": 350.0,
}  # fmt: skip
_WIDE_SCREENS: Final = (
    "always",
    "below-desktop",
    "below-page",
)  # on which lines do not break in the first column


_WIDE_CONSOLE: Final = Console(width=100_000)
_UNBOUNDED: Final = _WIDE_CONSOLE, _WIDE_CONSOLE.options  # to measure how wide a table would be

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
# Neither the hyphen of a word nor that of 7e-5, of a date or of an option.
_NEGATIVE: Final = re.compile(r"(?<![\w.)\]-])-(\d+(?:\.\d+)?)")
_PLUS_ZERO: Final = re.compile(r"\+(0+(?:\.0+)?)(?![\d.])")


def _latex(cell: str) -> str:
    return _SPECIAL.sub(lambda match: _SYMBOLS[match[0]], cell)
