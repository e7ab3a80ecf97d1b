"""One result as a report: a summary, verdicts, figures, tables and settings, in every format."""

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import singledispatch
from pathlib import Path
from typing import Any, Final

from wordveil.errors import ParameterError, named_type, parameter_error
from wordveil.evaluation.verdicts import Verdict
from wordveil.report.charts import Chart
from wordveil.report.output import json_lines, write_bytes
from wordveil.report.page import excerpt_html, page_html
from wordveil.report.tables import StatTable, facts_csv, settings_table, verdict_table

__all__ = ["FORMATS", "Report", "make_report"]

FORMATS: Final = ("html", "csv", "json", "md", "tex", "png", "svg")
"""The formats that a report can be written in."""

# Each registers the report of one kind of result when it is imported.
_BUILDERS: Final = (
    "privacy_report",
    "density_report",
    "utility_report",
    "paper_report",
    "audit_report",
    "attack_report",
    "frontier_report",
    "tuning_report",
)


@dataclass(frozen=True, slots=True, repr=False)
class Report:
    """What there is to say about one result.

    Attributes
    ----------
    name : str
        The stem of its files.
    title : str
    summary : three str
        One sentence each: what was done, what came out, and what to make of it.
    verdicts : sequence of Verdict
        Claims, and whether they hold here.
    charts : sequence of Chart
        The figures; the first is the main one.
    tables : sequence of StatTable
    facts : sequence of dict
        The numbers, one row each, for machines.
    settings : dict
        Everything that the result depends on.
    is_private : bool
        Whether it tells something about private texts. Its files are then readable by their owner only.
    data : dict
        The result itself, from which the report can be made again: the JSON file.
    claims : StatTable, optional
        What to show in place of the table of verdicts, if there is more to say about each.

    Examples
    --------
    >>> report = Report("coin", "A coin", ("Thrown twice.", "One head.", "It is fair."), facts=[{"heads": 1}])
    >>> print(report.text("csv"))
    heads
    1
    """

    name: str
    title: str
    summary: tuple[str, str, str]
    verdicts: Sequence[Verdict] = ()
    charts: Sequence[Chart] = ()
    tables: Sequence[StatTable] = ()
    facts: Sequence[Mapping[str, Any]] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    is_private: bool = False
    data: Mapping[str, Any] = field(default_factory=dict)
    claims: StatTable | None = None

    def __repr__(self) -> str:
        """Return the title and the size, in one line."""
        sizes = {"figure": self.charts, "table": self.tables, "verdict": self.verdicts}
        counts = [f"{len(items)} {name}{'s'[: len(items) != 1]}" for name, items in sizes.items()]
        return f"<Report {self.title!r}: {', '.join(counts)}{', private' if self.is_private else ''}>"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the summary, the verdicts and the main table."""
        return excerpt_html(self)

    def text(self, format: str) -> str:
        """Return the report as "html", "csv", "json", "md" or "tex"."""
        formats: dict[str, Callable[[], str]] = {
            "html": lambda: page_html(self),
            "csv": lambda: facts_csv(self.facts),
            "json": lambda: json_lines(self.data or self._as_data()),
            "md": self._markdown,
            "tex": lambda: "\n\n".join(table.latex() for table in self.all_tables()) + "\n",
        }
        return formats[_checked(format, tuple(formats), "Report.text")]()

    def _as_data(self) -> dict[str, Any]:
        verdicts = [verdict.to_dict() for verdict in self.verdicts]
        return {"settings": dict(self.settings), "rows": list(self.facts), "verdicts": verdicts}

    def all_tables(self) -> list[StatTable]:
        """Return the table of verdicts, if there are any, and those that follow."""
        claims = self.claims or (verdict_table(self.verdicts) if self.verdicts else None)
        return [*([claims] if claims else []), *self.tables]

    def _markdown(self) -> str:
        tables = [*self.all_tables(), settings_table(self.settings)]
        return (
            "\n\n".join([f"# {self.title}", " ".join(self.summary), *(t.markdown() for t in tables)]) + "\n"
        )

    def write(self, folder: str | Path, formats: Sequence[str] = FORMATS) -> list[Path]:
        """Write files in these formats into a folder, each completely or not at all; return their paths."""
        folder, endings = Path(folder), [_checked(name, FORMATS, "Report.write") for name in formats]
        folder.mkdir(parents=True, exist_ok=True)
        return [
            write_bytes(folder / name, data, private=self.is_private)
            for ending in endings
            for name, data in self._files(ending)
        ]

    def _files(self, format: str) -> Iterator[tuple[str, bytes]]:
        """Yield the names and contents of the files of one format; there is one picture for each figure."""
        if format not in ("png", "svg"):
            yield f"{self.name}.{format}", self.text(format).encode()
            return
        from wordveil.report.drawing import chart_png, chart_svg

        draw: Callable[[Chart], bytes] = chart_png if format == "png" else lambda c: chart_svg(c).encode()
        for chart in self.charts:
            yield f"{chart.name}.{format}", draw(chart)


def _checked(format: str, formats: Sequence[str], owner: str) -> str:
    if format not in formats:
        raise parameter_error("format", owner, f"be one of {', '.join(formats)}", format)
    return format


@singledispatch
def make_report(result: Any) -> Report:
    """Return the report of a result of `wordveil.evaluation`: figures, tables, verdicts and the page.

    Another kind of result gets a report by a function that is registered for its type with
    `make_report.register`.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Coin:
    ...     heads: int
    >>> @make_report.register
    ... def coin_report(coin: Coin) -> Report:
    ...     return Report("coin", "A coin", ("Thrown twice.", f"{coin.heads} head.", "It is fair."))
    >>> make_report(Coin(1)).title
    'A coin'
    """
    for name in _BUILDERS:
        importlib.import_module(f"wordveil.report.{name}")
    builder = make_report.dispatch(type(result))
    if builder is make_report.dispatch(object):
        raise ParameterError(
            f"There is no report for {named_type(result)}. Hint: register one with make_report.register."
        )
    return builder(result)
