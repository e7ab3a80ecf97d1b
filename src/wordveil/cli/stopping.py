"""Notices Ctrl-C even if a library swallowed the KeyboardInterrupt."""

from collections.abc import Callable

__all__ = ["check", "interrupted"]

interrupted: Callable[[], bool] = lambda: False  # noqa: E731  # replaced by `main`


def check() -> None:
    """Raise KeyboardInterrupt if Ctrl-C was pressed.

    An exception that is raised inside a finalizer or a callback from C is printed or lost, and the work
    would simply continue.
    """
    if interrupted():
        raise KeyboardInterrupt
