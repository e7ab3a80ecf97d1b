"""Work on parts of an array, shared between threads."""

import threading
from collections.abc import Callable, Iterator
from typing import TypeVar

from wordveil.nearest.threads import in_threads

__all__ = ["draw_in_slices", "in_slices"]

_Drawn = TypeVar("_Drawn")


def draw_in_slices(
    count: int, size: int, draw: Callable[[slice], _Drawn], work: Callable[[slice, _Drawn], None]
) -> None:
    """Call `work(part, draw(part))` for each `size` of `count` rows, in threads.

    Only one thread draws at a time, and the parts are drawn in order, so a stream gives each its own numbers.

    Examples
    --------
    >>> names = [""] * 5
    >>> def work(part: slice, number: int) -> None:
    ...     names[part] = [f"part {number}"] * len(names[part])
    >>> numbers = iter(range(3))
    >>> draw_in_slices(5, 2, lambda _: next(numbers), work)
    >>> names
    ['part 0', 'part 0', 'part 1', 'part 1', 'part 2']
    """

    def drawn_parts() -> Iterator[tuple[slice, _Drawn]]:
        for start in range(0, count, size):
            part = slice(start, start + size)
            yield part, draw(part)

    parts, turn = drawn_parts(), threading.Lock()

    def work_on_next() -> bool:
        with turn:
            drawn = next(parts, None)
        if drawn is not None:
            work(*drawn)
        return drawn is not None

    in_threads(work_on_next, -(-count // size))


def in_slices(count: int, size: int, work: Callable[[slice], None]) -> None:
    """Call `work(part)` for each `size` of `count` rows, in threads."""
    draw_in_slices(count, size, lambda _: None, lambda part, _: work(part))
