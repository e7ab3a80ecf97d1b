"""A report on a terminal."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.text import Text

from wordveil.report.layout import wrapped
from wordveil.report.report import Report

__all__ = ["show_report"]


def show_report(console: Console, report: Report, paths: Sequence[Path] = ()) -> None:
    """Print a report: its summary, tables and verdicts, and the paths of the files that it was written to.

    Examples
    --------
    >>> report = Report("coin", "A coin", ("Thrown twice.", "One head.", "It is fair."))
    >>> show_report(Console(width=60), report)
    A coin
    Thrown twice. One head. It is fair.
    """
    console.print(Text(report.title, style="bold"))
    console.print(Text(wrapped(" ".join(report.summary))), soft_wrap=True)
    for table in report.tables:
        if table.is_detail:
            continue
        console.print(*table.rich(console.width))
        if table.note:
            console.print(Text(wrapped(table.note)), soft_wrap=True)
    if report.claims is not None:
        console.print(*report.claims.rich(console.width))
    for verdict in report.verdicts if report.claims is None else ():
        console.print(Text(str(verdict)), soft_wrap=True)
    details = sum(table.is_detail for table in report.tables)
    if details and not paths:
        console.print(f"{details} more table{'s'[: details > 1]} in the files that --out writes.")
    for path in paths:
        console.print(Text(str(path)), soft_wrap=True)
