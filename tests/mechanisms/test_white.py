"""The distance of each word to its nearest other word: exact, shared between threads, usable after a fork."""

import os
import signal
import threading

import numpy as np
import pytest
from scipy.spatial.distance import cdist

import wordveil as wv
from wordveil.mechanisms.white import White, white_of


def random_words(count: int, dim: int) -> wv.Embedding:
    vectors = np.random.default_rng(3).normal(size=(count, dim)) * np.linspace(0.5, 2.0, dim)
    vectors[7] = vectors[3]
    return wv.Embedding([f"w{i}" for i in range(count)], vectors, public=True)


@pytest.mark.parametrize(("count", "dim"), [(700, 4), (2000, 4), (2000, 60)])
def test_the_distance_to_the_nearest_other_word(count: int, dim: int) -> None:
    embedding = random_words(count, dim)
    white = white_of(embedding, wv.Metric.from_embedding(embedding, 1.0))
    distances = cdist(white.places, white.places[:-1])
    np.fill_diagonal(distances, np.inf)
    ids = np.arange(-1, count)
    np.testing.assert_allclose(white.to_nearest_other(ids), distances[ids].min(axis=1), rtol=1e-12)
    assert white.to_nearest_other(np.array([3, 7])).tolist() == [0.0, 0.0]
    some = np.append(np.arange(50), -1)
    measured = np.stack([white.distances(np.full(count, i), np.arange(count)) for i in some])
    measured[np.arange(50), np.arange(50)] = np.inf
    np.testing.assert_array_equal(measured.min(axis=1), white.to_nearest_other(some))  # exactly: no slack


def test_few_words_at_a_time_have_the_same_distances() -> None:
    rows = np.random.default_rng(1).normal(size=(2001, 5))
    every = White(rows).to_nearest_other(np.arange(-1, 2000))
    white = White(rows)
    parts = [white.to_nearest_other(ids) for ids in np.array_split(np.arange(-1, 2000), 300)]
    np.testing.assert_array_equal(np.concatenate(parts), every)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_process_does_not_wait_for_threads_of_its_parent() -> None:
    white = White(np.random.default_rng(2).normal(size=(701, 4)))
    ids, ended = np.arange(-1, 700), threading.Event()
    expected = white.to_nearest_other(ids)

    def work() -> None:
        while not ended.is_set():
            white.to_nearest_other(ids)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        for _ in range(20):
            child = os.fork()
            if child == 0:
                signal.alarm(5)  # ends a process that waits for a thread that it does not have
                os._exit(0 if np.array_equal(white.to_nearest_other(ids), expected) else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        ended.set()
        thread.join()
