"""The threads of this process. The search leaves Python's lock alone, so they run at the same time."""

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

_MOST_WORKERS: Final = 1024
_AHEAD: Final = 2


def checked_workers(workers: int | None) -> int:
    """Return the number of threads that is asked for; by default as many as there are cores."""
    if workers is None:
        return all_cores()
    return check_whole(workers, "workers", "LocalEngine", 1, _MOST_WORKERS)


class _Task:
    """A chunk on its way through a thread."""

    def __init__(self, ordinal: int, chunk: Chunk) -> None:
        self.ordinal, self.chunk = ordinal, chunk
        self.ended = threading.Event()
        self.result: Perturbed | BaseException | None = None

    def outcome(self) -> Perturbed:
        self.ended.wait()
        if isinstance(self.result, Perturbed):
            return self.result
        assert self.result is not None
        raise self.result


class LocalEngine(Engine):
    """Threads, each with chunks of its own.

    The linear algebra below is held to one thread each meanwhile, which is faster than many threads in turn.

    Parameters
    ----------
    perturber : Perturber
        What makes text private.
    key : RunKey
        Where the noise comes from.
    workers : int, optional
        How many threads; by default as many as there are cores.
    """

    def __init__(self, perturber: Perturber, key: RunKey, workers: int | None = None) -> None:
        self._perturber, self._key = perturber, key
        self.workers: Final = checked_workers(workers)
        self._limits: Any = threadpool_limits(1, user_api="blas")
        self._tasks: queue.SimpleQueue[_Task | None] = queue.SimpleQueue()
        self._room = threading.Semaphore(self.workers * _AHEAD)
        self._ordinal = 0
        self._closed = False
        self._threads: list[threading.Thread] = []
        perturber.mechanism.perturb_ids([-1], stream=key.stream("prepare"))  # once, not once a thread
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
            task.ended.set()

    def perturb(self, chunks: Iterable[Chunk], *, waits: bool = False) -> Iterator[Perturbed]:
        """Yield each chunk with its answers, in the order of the chunks, each as soon as it is there.

        A thread of its own takes the chunks, so that a slow reader holds no answer back.
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
        """Tell the threads to stop, and wait for them to finish the chunk that they are at."""
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
