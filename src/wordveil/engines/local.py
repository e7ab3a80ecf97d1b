"""Threads of this process. The search releases Python's global lock, so they run at the same time."""

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from threadpoolctl import threadpool_limits

from wordveil.engines.base import Engine, Perturbed, perturbed_texts
from wordveil.errors import check_whole
from wordveil.nearest.threads import all_cores, join_all, one_thread
from wordveil.perturber import Perturber
from wordveil.randomness import RunKey
from wordveil.tables.base import Chunk

__all__ = ["LocalEngine", "checked_workers"]

_MOST_WORKERS: Final = 1024  # far more than any machine has cores: it only catches typing mistakes
# Chunks in flight per thread: the one it works on and the next, so no thread idles while chunks are read in
# order. More would only hold more rows in memory.
_CHUNKS_PER_WORKER: Final = 2


def checked_workers(workers: int | None) -> int:
    """Return the number of threads to use (default: one per core)."""
    if workers is None:
        return all_cores()
    return check_whole(workers, "workers", "LocalEngine", 1, _MOST_WORKERS)


class _Task:
    """A chunk that is waiting for a thread, in progress, or done."""

    def __init__(self, ordinal: int, chunk: Chunk) -> None:
        self.ordinal, self.chunk = ordinal, chunk
        self.done = threading.Event()
        self.result: Perturbed | BaseException | None = None

    def outcome(self) -> Perturbed:
        self.done.wait()
        if isinstance(self.result, Perturbed):
            return self.result
        assert self.result is not None
        raise self.result


class LocalEngine(Engine):
    """Threads, each of which takes one chunk at a time.

    Meanwhile the linear algebra library is limited to one thread per call: many chunks at once on one thread
    each are faster than one chunk after the other on many.

    Parameters
    ----------
    perturber : Perturber
        Perturbs the texts.
    key : RunKey
        The key that the noise is derived from.
    workers : int, optional
        Threads (default: one per core).
    """

    def __init__(self, perturber: Perturber, key: RunKey, workers: int | None = None) -> None:
        self._perturber, self._key = perturber, key
        self.workers: Final = checked_workers(workers)
        self._limits: Any = threadpool_limits(1, user_api="blas")
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._room = threading.Semaphore(self.workers * _CHUNKS_PER_WORKER)
        self._ordinal = 0
        self._closed = False
        self._threads: list[threading.Thread] = []
        perturber.mechanism.perturb_ids(
            [-1], stream=key.stream("prepare")
        )  # prepares the search once, not once per thread
        for _ in range(self.workers):
            self._start(self._work)

    def _start(self, work: Callable[..., None], *args: object, joined: bool = True) -> None:
        thread = threading.Thread(target=work, args=args, daemon=True)
        if joined:
            self._threads.append(thread)
        thread.start()

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            if self._closed:
                continue
            try:
                with one_thread():
                    answers, report = perturbed_texts(
                        self._perturber, self._key, 0, task.ordinal, task.chunk.texts
                    )
                task.result = Perturbed(task.chunk, answers, report)
            except BaseException as error:
                task.result = error
            task.done.set()

    def perturb(self, chunks: Iterable[Chunk], *, waits: bool = False) -> Iterator[Perturbed]:
        """Yield each chunk with its answers, in the order of the chunks, each as soon as it is ready.

        A separate thread reads the chunks, so a slow reader does not hold back any answer.
        """
        order: queue.SimpleQueue[_Task | BaseException | None] = queue.SimpleQueue()
        self._start(self._feed, chunks, order, joined=not waits)
        while (task := order.get()) is not None:
            if isinstance(task, BaseException):
                raise task
            result = task.outcome()
            self._room.release()
            yield result

    def _feed(
        self, chunks: Iterable[Chunk], order: "queue.SimpleQueue[_Task | BaseException | None]"
    ) -> None:
        try:
            for chunk in chunks:
                self._room.acquire()
                if self._closed:
                    break
                task = _Task(self._ordinal, chunk)
                self._ordinal += 1
                self._tasks.put(task)
                order.put(task)
        except BaseException as error:
            order.put(error)
        order.put(None)

    def close(self) -> None:
        """Stop the threads, and wait until each has finished its current chunk."""
        if self._limits is None:
            return
        self._closed = True
        self._room.release()
        for _ in range(self.workers):
            self._tasks.put(None)
        try:
            join_all(thread for thread in self._threads if thread.ident is not None)
        finally:
            limits, self._limits = self._limits, None
            limits.restore_original_limits()
