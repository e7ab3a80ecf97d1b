"""What commands write on a terminal: tables on standard output, progress on standard error."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

from wordveil.embedding.formats.selection import Progress as Report

__all__ = ["output", "reading_progress"]

_PIPE_WIDTH: Final = 120


def output() -> Console:
    """Return the console for results: as wide as the terminal, or of one fixed width in a pipe."""
    console = Console(highlight=False)
    return console if console.is_terminal else Console(highlight=False, width=_PIPE_WIDTH)


@contextmanager
def reading_progress(what: str) -> Iterator[Report]:
    """Yield a function to report bytes to; its bar is shown on a terminal only, and vanishes at the end."""
    console = Console(stderr=True)
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeRemainingColumn()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task(what, total=None)

        def report(done: int, total: int | None) -> None:
            bar.update(task, completed=done, total=total)

        yield report
