"""How many threads a call may use, and work shared between threads."""

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = [
    "Scratch",
    "all_cores",
    "draw_in_slices",
    "in_slices",
    "in_threads",
    "join_all",
    "one_thread",
    "threads_here",
]

_Drawn = TypeVar("_Drawn")

_this_thread = threading.local()


class Scratch(threading.local):
    """Buffers that each thread reuses: allocating fresh memory costs more than filling it."""

    def __init__(self) -> None:
        self._arrays: dict[str, NDArray[Any]] = {}

    def array(self, name: str, size: int, dtype: DTypeLike) -> NDArray[Any]:
        """Return a flat array of at least that size. Its contents are arbitrary."""
        if name not in self._arrays or len(self._arrays[name]) < size:
            self._arrays[name] = np.empty(size, dtype=dtype)
        return self._arrays[name]


def all_cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def threads_here() -> int:
    """Return how many threads a call from this thread may use: one per core, or one inside of `one_thread`.

    Examples
    --------
    >>> with one_thread():
    ...     threads_here()
    1
    """
    return 1 if getattr(_this_thread, "alone", False) else all_cores()


@contextmanager
def one_thread() -> Iterator[None]:
    """Make `in_threads` use only the calling thread, for callers that run several threads themselves."""
    before = getattr(_this_thread, "alone", False)
    _this_thread.alone = True
    try:
        yield
    finally:
        _this_thread.alone = before


def in_threads(work: Callable[[], bool], most: int) -> None:
    """Call `work` until it returns False, in up to `most` threads (at most one per core).

    The calling thread is one of them. The first error stops the work in all threads and is raised here.

    Examples
    --------
    >>> remaining = [3, 2, 1]
    >>> def work() -> bool:
    ...     return bool(remaining and remaining.pop())
    >>> in_threads(work, 3)
    >>> remaining
    []
    """
    ended = threading.Event()
    errors: list[BaseException] = []

    def run() -> None:
        with one_thread():
            try:
                while not ended.is_set() and work():
                    pass
            except BaseException as error:
                errors.append(error)
            ended.set()

    count = min(threads_here(), most)
    helpers: list[threading.Thread] = []
    try:
        for _ in range(count - 1):
            helpers.append(threading.Thread(target=run, daemon=True))
            helpers[-1].start()
        run()
    finally:
        ended.set()
        join_all(helpers)
    if errors:
        raise next((error for error in errors if isinstance(error, KeyboardInterrupt)), errors[0])


def join_all(threads: Iterable[threading.Thread]) -> None:
    """Wait for threads that have been asked to stop. A Ctrl-C in the meantime is raised afterwards.

    A thread that is still inside a C++ library when the interpreter shuts down would abort the process.

    Examples
    --------
    >>> thread = threading.Thread(target=lambda: None)
    >>> thread.start()
    >>> join_all([thread])
    >>> thread.is_alive()
    False
    """
    interrupt: KeyboardInterrupt | None = None
    for thread in threads:
        ended = False
        while not ended:
            try:
                thread.join()
                ended = True
            except KeyboardInterrupt as error:
                interrupt = error
    if interrupt is not None:
        raise interrupt


def draw_in_slices(
    count: int,
    size: int,
    draw: Callable[[slice], _Drawn],
    work: Callable[[slice, _Drawn], None],
    threads: int | None = None,
) -> None:
    """Call `work(part, draw(part))` for each `size` of `count` rows, in threads (default: one per core).

    Only one thread draws at a time, and the parts are drawn in order, so a stream gives each its own numbers.
    A single part is worked on by the calling thread, and `work` may use threads of its own.

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
    if 0 < count <= size:
        everything = slice(0, count)
        work(everything, draw(everything))
        return

    def drawn_parts() -> Iterator[tuple[slice, _Drawn]]:
        for start in range(0, count, size):
            part = slice(start, min(start + size, count))
            yield part, draw(part)

    parts, turn = drawn_parts(), threading.Lock()

    def work_on_next() -> bool:
        with turn:
            drawn = next(parts, None)
        if drawn is not None:
            work(*drawn)
        return drawn is not None

    in_threads(work_on_next, threads or -(-count // size))


def in_slices(count: int, size: int, work: Callable[[slice], None]) -> None:
    """Call `work(part)` for each `size` of `count` rows, in threads."""
    draw_in_slices(count, size, lambda _: None, lambda part, _: work(part))
