"""What commands print: tables on standard output, notes and progress on standard error."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from wordveil.cli import stopping

# rich is imported where it is used: `wordveil --version` needs none of it.
if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress, ProgressColumn
    from rich.table import Table

    from wordveil.embedding.formats.selection import ReadProgress as Report
    from wordveil.runs.perturb_file import Watcher

__all__ = ["count_progress", "facts_table", "note", "output", "reading_progress", "row_progress", "waiting"]

_PIPE_WIDTH: Final = 120  # wide enough for the tables of `ledger` and `experiment` on one line per row


def output() -> "Console":
    """Return the console for results: as wide as the terminal, or of one fixed width in a pipe."""
    from rich.console import Console

    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_PIPE_WIDTH)


def facts_table() -> "Table":
    """Return an empty table for the facts about one thing: a name in bold and a value in each row."""
    from rich.table import Table

    table = Table(box=None, show_header=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    return table


def note(message: str) -> None:
    """Write one line to standard error, with unprintable characters replaced; ignore a closed one."""
    line = "".join(letter if letter.isprintable() else " " for letter in message)
    with suppress(OSError, ValueError):
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


@contextmanager
def reading_progress(what: str) -> Iterator["Report"]:
    """Yield a function that reports (bytes read, total); its bar is shown on a terminal, until the end."""
    from rich.progress import BarColumn, DownloadColumn, TextColumn, TimeRemainingColumn

    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
    with _bar(*columns) as bar:
        task = bar.add_task(what, total=None)

        def report(done: int, total: int | None) -> None:
            bar.update(task, completed=done, total=total)

        yield report


@contextmanager
def count_progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function that reports (done, total); its bar is shown on a terminal only."""
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed:g} of {task.total:g}"),
        TimeRemainingColumn(),
    )
    with _bar(*columns) as bar:
        task = bar.add_task(what, total=1)

        def watch(done: int, total: int) -> None:
            stopping.check()
            bar.update(task, completed=done, total=total)

        yield watch


@contextmanager
def row_progress(what: str) -> Iterator["Watcher"]:
    """Yield a function that reports (rows, words, share done); its bar is shown on a terminal only."""
    from rich.progress import BarColumn, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with _bar(*columns) as bar:
        task = bar.add_task(what, total=1.0, rate="")
        started, resumed_words = time.monotonic(), 0

        def watch(rows: int, words: int, done: float) -> None:
            nonlocal started, resumed_words
            stopping.check()
            if not resumed_words:  # a resumed run counts the words of the interrupted one too
                started, resumed_words = time.monotonic(), words
            speed = (words - resumed_words) / max(1e-9, time.monotonic() - started)
            rate = f"{rows:,} rows, {speed:,.0f} words/s" if words > resumed_words else f"{rows:,} rows"
            bar.update(task, completed=done, rate=rate)

        yield watch


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show on a terminal that something of unknown length is being done, and for how long."""
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

    with _bar(SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn()) as bar:
        bar.add_task(what, total=None)
        yield


def _bar(*columns: "ProgressColumn") -> "Progress":
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    console.quiet = (
        not console.is_terminal
    )  # before rich 14.3, a disabled bar prints an empty line at its end
    return Progress(*columns, console=console, transient=True, disable=console.quiet)
