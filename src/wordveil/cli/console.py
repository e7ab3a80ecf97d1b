"""What commands write on a terminal: tables on standard output, progress on standard error."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn

from wordveil.cli import stopping
from wordveil.embedding.formats.selection import Progress as Report
from wordveil.runs.perturb_file import Watcher

__all__ = ["count_progress", "note", "output", "reading_progress", "row_progress"]

_PIPE_WIDTH: Final = 120


def output() -> Console:
    """Return the console for results: as wide as the terminal, or of one fixed width in a pipe."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_PIPE_WIDTH)


def note(message: str) -> None:
    """Write one line to standard error, whatever is in it; that nobody can read it is no failure."""
    line = "".join(letter if letter.isprintable() else " " for letter in message)
    with suppress(OSError, ValueError):
        sys.stderr.write(f"{line}\n")
        sys.stderr.flush()


@contextmanager
def reading_progress(what: str) -> Iterator[Report]:
    """Yield a function to report bytes to; its bar is shown on a terminal only, and vanishes at the end."""
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
    with _bar(*columns) as bar:
        task = bar.add_task(what, total=None)

        def report(done: int, total: int | None) -> None:
            bar.update(task, completed=done, total=total)

        yield report


@contextmanager
def count_progress(what: str) -> Iterator[Callable[[int, int], None]]:
    """Yield a function to report (done, total) to; its bar is shown on a terminal only."""
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
def row_progress(what: str) -> Iterator[Watcher]:
    """Yield a function to report rows, words and the share that is done to; its bar is for terminals only."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with _bar(*columns) as bar:
        task = bar.add_task(what, total=1.0, rate="")
        begun, before = time.monotonic(), 0

        def watch(rows: int, words: int, done: float) -> None:
            nonlocal begun, before
            stopping.check()
            if not before:  # a resumed run begins with the words of the one before
                begun, before = time.monotonic(), words
            speed = (words - before) / max(1e-9, time.monotonic() - begun)
            rate = f"{rows:,} rows, {speed:,.0f} words/s" if words > before else f"{rows:,} rows"
            bar.update(task, completed=done, rate=rate)

        yield watch


def _bar(*columns: ProgressColumn) -> Progress:
    console = Console(stderr=True)
    console.quiet = not console.is_terminal  # before rich 14.3, a disabled bar ends in an empty line
    return Progress(*columns, console=console, transient=True, disable=console.quiet)
