"""Small searches of several threads: joined, and each caller gets its own answers."""

import os
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.typing import NDArray

import wordveil as wv
from wordveil.kernels import has_codes
from wordveil.nearest import joining
from wordveil.nearest.joining import JoinedSearch
from wordveil.nearest.screened import ScreenedSearch

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class Slow:
    """Answers with the first coordinate, and remembers how many points came at once."""

    def __init__(self) -> None:
        self.sizes: list[int] = []
        self.fails_above = 1000

    def __call__(self, points: Floats, norms: Floats) -> Ints:
        assert len(points) == len(norms)
        self.sizes.append(len(points))
        time.sleep(0.02)
        if len(points) > self.fails_above:
            raise MemoryError
        return points[:, 0].astype(np.int64)


def request(number: int, count: int = 20) -> tuple[Floats, Floats]:
    points = np.full((count, 2), float(number))
    points[:, 0] += np.arange(count) / 100.0 + np.arange(count)
    return points, np.ones(count)


def ask(joined: JoinedSearch, numbers: range) -> None:
    def call(number: int) -> None:
        points, norms = request(1000 * number)
        assert joined.find(points, norms).tolist() == [1000 * number + i for i in range(20)]

    with ThreadPoolExecutor(len(numbers)) as pool:
        list(pool.map(call, numbers))


@pytest.fixture
def one_core(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "all_cores", lambda: 1)


@pytest.mark.usefixtures("one_core")
def test_each_caller_gets_its_own_answers_and_waiting_calls_are_joined() -> None:
    slow = Slow()
    ask(JoinedSearch(slow, 64), range(16))
    assert sum(slow.sizes) == 16 * 20
    assert max(slow.sizes) == 60  # three calls; four would be more than 64 points
    assert len(slow.sizes) < 12


@pytest.mark.usefixtures("one_core")
def test_a_failed_search_of_joined_points_is_repeated_by_each_caller_alone() -> None:
    slow = Slow()
    slow.fails_above = 20
    joined = JoinedSearch(slow, 64)
    failures: list[int] = []

    def call(number: int) -> None:
        points, norms = request(1000 * number)
        try:
            assert joined.find(points, norms)[0] == 1000 * number
        except MemoryError:
            failures.append(number)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(call, range(8)))
    assert failures  # those that searched for others as well, and only those
    assert len(failures) == sum(size > 20 for size in slow.sizes)
    slow.fails_above = 1000
    ask(joined, range(8))  # nothing is stuck afterwards


@pytest.mark.usefixtures("one_core")
def test_nobody_waits_for_a_search_that_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "_LONGEST_WAIT", 0.05)
    ended, is_first = threading.Event(), [True]

    def find(points: Floats, norms: Floats) -> Ints:
        if is_first:
            is_first.clear()
            ended.wait(10.0)
        return points[:, 0].astype(np.int64)

    joined = JoinedSearch(find, 64)
    stuck = threading.Thread(target=joined.find, args=request(1))
    stuck.start()
    while is_first:
        time.sleep(0.001)
    assert joined.find(*request(2))[0] == 2
    ended.set()
    stuck.join()
    assert joined._calls.searching == 0
    assert not joined._calls.waiting


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
@pytest.mark.usefixtures("one_core")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_does_not_wait_for_threads_of_its_parent() -> None:
    slow = Slow()
    joined = JoinedSearch(slow, 64)
    thread = threading.Thread(target=joined.find, args=request(1))
    thread.start()
    while not slow.sizes:
        time.sleep(0.001)
    child = os.fork()
    if child == 0:
        start = time.monotonic()
        is_right = joined.find(*request(2))[0] == 2
        os._exit(0 if is_right and time.monotonic() - start < 2.0 else 1)
    thread.join()
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.skipif(not has_codes(), reason="there are no products of integers")
def test_calls_from_many_threads_get_the_answers_of_one(glove: wv.Embedding) -> None:
    mechanism = wv.Laplace(glove, 10.0)
    search = pickle.loads(pickle.dumps(ScreenedSearch(mechanism._places[:-1])))
    points = mechanism._noisy_points(np.arange(0, 32_000, 100), wv.insecure_stream(3))
    expected = search.nearest(points)
    with ThreadPoolExecutor(16) as pool:
        parts = list(pool.map(search.nearest, np.split(points, 16)))
    assert np.array_equal(np.concatenate(parts), expected)
