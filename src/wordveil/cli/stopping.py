"""Ctrl-C, also where a library swallowed the exception that it raised."""

from collections.abc import Callable

__all__ = ["check", "interrupted"]

interrupted: Callable[[], bool] = lambda: False  # noqa: E731  # the entry of the command puts its own here


def check() -> None:
    """Raise KeyboardInterrupt if Ctrl-C was pressed.

    An exception that is raised inside of a finalizer or a callback from C is printed or lost, and the work
    would go on as if nothing had been said.
    """
    if interrupted():
        raise KeyboardInterrupt
