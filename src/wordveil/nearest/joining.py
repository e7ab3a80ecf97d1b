"""Small searches that several threads need at the same time, joined into one."""

import os
import threading
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wordveil.nearest.threads import all_cores

__all__ = ["JoinedSearch"]

# Seconds after which a waiting thread searches by itself. A search takes milliseconds, so this only matters
# if the thread that should have searched was interrupted at the worst moment.
_LONGEST_WAIT: Final = 5.0

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Find = Callable[[Floats, Floats], Ints]


class _Request:
    """The points of one call, and how it learns that its turn has come."""

    def __init__(self, points: Floats, norms: Floats) -> None:
        self.points, self.norms = points, norms
        self.answers: Ints | None = None
        self.others: list[_Request] = []  # searched for together with this one
        self.leads = False
        self.turn = threading.Lock()
        self.turn.acquire()


class _Calls:
    """The calls of one process: how many threads search, and which requests wait."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.lock = threading.Lock()
        self.searching = 0
        self.waiting: list[_Request] = []

    def begin(self, request: _Request) -> None:
        """Let a request search at once if a core is free; otherwise it waits."""
        with self.lock:
            request.leads = self.searching < all_cores()
            self.searching += request.leads
            if not request.leads:
                self.waiting.append(request)

    def end(self, most_points: int) -> None:
        """Let the first waiting request search, together with others that fit in."""
        with self.lock:
            if not self.waiting:
                self.searching -= 1
                return
            leader, count = self.waiting.pop(0), 0
            while self.waiting and count + len(self.waiting[0].points) + len(leader.points) <= most_points:
                leader.others.append(self.waiting.pop(0))
                count += len(leader.others[-1].points)
            leader.leads = True
        leader.turn.release()

    def withdraw(self, request: _Request) -> None:
        with self.lock:
            if request in self.waiting:
                self.waiting.remove(request)


class JoinedSearch:
    """Searches for the points of several callers at once while all cores are busy.

    A compiled search takes as long for 20 points as for 32, since points are in the lanes of registers of 16.
    Each caller gets the answers to its own points: the same as if it had searched alone.

    Parameters
    ----------
    find : callable
        Returns the answers to points with these norms. Called from several threads at a time.
    most_points : int
        How many points are joined.

    Examples
    --------
    >>> joined = JoinedSearch(lambda points, norms: points[:, 0].astype(np.int64), 64)
    >>> joined.find(np.array([[3.0], [5.0]]), np.array([3.0, 5.0]))
    array([3, 5])
    """

    def __init__(self, find: Find, most_points: int) -> None:
        self._find, self._most_points = find, most_points
        self._calls = _Calls()

    def __reduce__(self) -> Any:
        return type(self), (self._find, self._most_points)

    def find(self, points: Floats, norms: Floats) -> Ints:
        """Return the answer to each point."""
        calls = self._calls
        if calls.process != os.getpid():  # what was under way before a fork never ends here
            calls = self._calls = _Calls()
        request = _Request(points, norms)
        try:
            calls.begin(request)
            if not request.leads:
                request.turn.acquire(timeout=_LONGEST_WAIT)
            if request.answers is not None:
                return request.answers
            return self._search(request)
        finally:
            calls.withdraw(request)
            for other in request.others:
                other.turn.release()  # without answers after an error: it searches by itself
            if request.leads:
                calls.end(self._most_points)

    def _search(self, request: _Request) -> Ints:
        batch = [request, *request.others]
        if len(batch) == 1:
            return self._find(request.points, request.norms)
        points = np.concatenate([part.points for part in batch])
        answers = self._find(points, np.concatenate([part.norms for part in batch]))
        ends = np.cumsum([len(part.points) for part in batch])
        for part, own in zip(batch, np.split(answers, ends[:-1]), strict=True):
            part.answers = own
        assert request.answers is not None
        return request.answers
