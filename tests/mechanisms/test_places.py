"""What does not depend on ε is computed once per embedding, and freed with it."""

import gc
import os
import pickle
import signal
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import wordveil as wv
from wordveil import metric, neighbours
from wordveil.mechanisms import places
from wordveil.shared import PerEmbedding


def make_embedding() -> wv.Embedding:
    vectors = np.random.default_rng(5).normal(size=(500, 6))
    return wv.Embedding([f"w{i}" for i in range(500)], vectors, public=True)


class Counter:
    """Counts the calls of what it wraps."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
        self.calls = 0
        real = getattr(owner, name)

        def counted(*args: Any, **options: Any) -> Any:
            self.calls += 1
            return real(*args, **options)

        monkeypatch.setattr(owner, name, counted)


@pytest.fixture
def preparations(monkeypatch: pytest.MonkeyPatch) -> dict[str, Counter]:
    return {
        "rotations": Counter(monkeypatch, places, "_rotated"),
        "searches": Counter(monkeypatch, places, "AutomaticSearch"),
        "diameters": Counter(monkeypatch, metric.Metric, "_bracket"),
        "neighbours": Counter(monkeypatch, neighbours, "_computed"),
    }


def counts(preparations: dict[str, Counter]) -> list[int]:
    return [counter.calls for counter in preparations.values()]


def test_another_epsilon_prepares_nothing(preparations: dict[str, Counter]) -> None:
    embedding = make_embedding()
    for epsilon in (1.0, 2.0, 3.0):
        mechanism = wv.Mahalanobis(embedding, epsilon, 0.5)
        mechanism.perturb_ids([1, 2, -1])
        str(mechanism.guarantee)
        del mechanism  # as in a loop over a grid
    assert counts(preparations) == [1, 1, 1, 1]
    wv.Laplace(embedding, 1.0).perturb_ids([1])
    str(wv.Laplace(embedding, 1.0).guarantee)
    assert counts(preparations) == [1, 1, 2, 2]  # another λ is another metric, of the same places


def test_threads_share_one_preparation(preparations: dict[str, Counter]) -> None:
    embedding = make_embedding()
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda i: wv.Laplace(embedding, 1.0 + i).perturb_ids([1]), range(16)))
    assert counts(preparations)[:2] == [1, 1]


def test_equal_answers_with_and_without_sharing() -> None:
    ids = np.arange(-1, 500)
    embedding = make_embedding()
    wv.Laplace(embedding, 9.0).perturb_ids(ids)
    shared = wv.Mahalanobis(embedding, 2.0, 0.5).perturb_ids(ids, stream=wv.insecure_stream(1))
    alone = wv.Mahalanobis(make_embedding(), 2.0, 0.5).perturb_ids(ids, stream=wv.insecure_stream(1))
    np.testing.assert_array_equal(shared, alone)


def test_a_pickle_includes_the_places(preparations: dict[str, Counter]) -> None:
    mechanisms = [wv.Laplace(embedding := make_embedding(), 1.0), wv.Mahalanobis(embedding, 2.0, 0.5)]
    again = pickle.loads(pickle.dumps(mechanisms))
    assert again[0]._places is again[1]._places
    assert not again[0]._places.flags.writeable
    for mechanism in again:
        mechanism.perturb_ids([1])
    assert preparations["rotations"].calls == 1


def test_the_places_are_freed_with_the_embedding() -> None:
    embedding = make_embedding()
    mechanism = wv.Laplace(embedding, 1.0)
    mechanism.perturb_ids([1])
    str(mechanism.guarantee)
    gone = weakref.ref(embedding)
    rows = weakref.ref(mechanism._places)
    del mechanism, embedding
    gc.collect()
    assert gone() is None
    assert rows() is None


def test_only_the_last_results_are_kept() -> None:
    embedding, results = make_embedding(), PerEmbedding[int](most=3)
    computed: list[int] = []

    def get(key: int) -> None:
        def compute() -> int:
            computed.append(key)
            return key

        assert results.get(embedding, key, compute) == key

    for key in (1, 2, 3, 1, 4, 1, 3, 4, 2):
        get(key)
    assert computed == [1, 2, 3, 4, 2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_fork_during_a_computation_does_not_hang() -> None:
    embedding, results = make_embedding(), PerEmbedding[int](most=3)
    started, finish = threading.Event(), threading.Event()

    def slow() -> int:
        started.set()
        finish.wait(60)
        return 1

    thread = threading.Thread(target=lambda: results.get(embedding, "a", slow))
    thread.start()
    started.wait(60)
    child = os.fork()
    if child == 0:
        signal.alarm(30)  # ends a child that hangs
        os._exit(0 if results.get(embedding, "b", lambda: 7) == 7 else 1)
    try:
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    finally:
        finish.set()
        thread.join()
