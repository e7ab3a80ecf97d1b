"""The law of the noise in full dimension, n = 1e5, for `sample_noise` and for the points that are searched."""

import multiprocessing

import numpy as np
import pytest

import wordveil as wv
from wordveil.nearest import BruteSearch

from .laws import check_noise, matrix_of, root_of

N = 100_000


def synthetic(dim: int) -> wv.Embedding:
    """Return vectors with a steep spectrum, rotated so no axis is special."""
    draws = np.random.default_rng(dim)
    rotation = np.linalg.qr(draws.normal(size=(dim, dim)))[0]
    spread = np.geomspace(0.3, 5.0, dim)
    rows = draws.normal(size=(40 * dim + 50, dim)) * spread @ rotation + draws.normal(size=dim)
    return wv.Embedding([f"w{i}" for i in range(len(rows))], rows, public=True)


@pytest.mark.parametrize("dim", [1, 2, 3, 20])
@pytest.mark.parametrize("lam", [0.0, 0.3, 1.0])
def test_synthetic_spectra(dim: int, lam: float) -> None:
    embedding = synthetic(dim)
    metric = wv.Metric.from_embedding(embedding, lam)
    noise = wv.sample_noise(metric, 2.0, N, wv.insecure_stream(10 * dim + 1))
    check_noise(noise, matrix_of(embedding.vectors, lam), 2.0)


@pytest.mark.parametrize(("lam", "epsilon"), [(0.0, 1.0), (0.3, 2.0), (1.0, 2.0), (1.0, 10.0)])
def test_the_default_vectors(glove: wv.Embedding, lam: float, epsilon: float) -> None:
    metric = wv.Metric.from_embedding(glove, lam)
    noise = wv.sample_noise(metric, epsilon, N, wv.insecure_stream(3))
    check_noise(noise, matrix_of(glove.vectors, lam), epsilon)


@pytest.mark.parametrize("dim", [1, 2, 3, 20])
def test_the_searched_points_with_synthetic_spectra(dim: int) -> None:
    embedding = synthetic(dim)
    mechanism = wv.Mahalanobis(embedding, 2.0, 0.3)
    ids = np.arange(N) % len(embedding)
    points = mechanism._noisy_points(ids, wv.insecure_stream(5))
    noise = points @ mechanism.metric.axes.T - embedding.vectors[ids]
    check_noise(noise, matrix_of(embedding.vectors, 0.3), 2.0)


@pytest.mark.parametrize("lam", [0.3, 1.0])
def test_the_points_that_are_searched(glove: wv.Embedding, lam: float) -> None:
    """The points are in the eigenbasis: rotated back and minus the word, they are the noise."""
    mechanism = wv.Mahalanobis(glove, 2.0, lam)
    ids = np.arange(N) % len(glove)
    points = mechanism._noisy_points(ids, wv.insecure_stream(4))
    noise = points @ mechanism.metric.axes.T - glove.vectors[ids]
    check_noise(noise, matrix_of(glove.vectors, lam), 2.0)


def test_a_secure_stream_follows_the_same_law() -> None:
    """The only test here without a seed: it fails by chance one time in 10^5."""
    embedding = synthetic(5)
    noise = wv.sample_noise(wv.Metric.from_embedding(embedding, 1.0), 2.0, N, wv.secure_stream())
    check_noise(noise, matrix_of(embedding.vectors, 1.0), 2.0)


@pytest.mark.parametrize("lam", [0.0, 0.3, 1.0])
def test_a_reference_on_the_same_stream_agrees(glove: wv.Embedding, lam: float) -> None:
    """Algorithm 1 written independently, on the same deviates: equal to 1e-12 of the size of the noise."""
    metric = wv.Metric.from_embedding(glove, lam)
    noise = wv.sample_noise(metric, 7.0, 200, wv.insecure_stream(8))
    stream = wv.insecure_stream(8)
    normals, gammas = stream.normals((200, 300)), stream.gammas(300, 200)
    directions = normals / np.linalg.norm(normals, axis=1, keepdims=True)
    # The deviates belong to the eigenvectors in ascending order, each with its largest entry positive.
    root = root_of(matrix_of(glove.vectors, 1.0))
    axes = root.axes * np.sign(root.axes[np.abs(root.axes).argmax(axis=0), np.arange(300)])
    values = np.einsum("ij,ij->j", axes, matrix_of(glove.vectors, lam) @ axes)
    expected = (gammas / 7.0)[:, None] * directions * np.sqrt(values) @ axes.T
    largest = np.abs(expected).max()
    np.testing.assert_allclose(noise, expected, rtol=0, atol=1e-9 * largest)
    same_basis = (gammas / 7.0)[:, None] * directions * np.sqrt(metric.scales) @ metric.axes.T
    np.testing.assert_allclose(noise, same_basis, rtol=0, atol=1e-12 * largest)


def test_no_noise_is_used_twice_across_calls_blocks_and_threads(glove: wv.Embedding) -> None:
    from concurrent.futures import ThreadPoolExecutor

    small = glove.project(3)
    metric = wv.Metric.from_embedding(small, 1.0)

    def draw(size: int) -> np.ndarray:
        return wv.sample_noise(metric, 2.0, size, wv.secure_stream())

    with ThreadPoolExecutor(4) as pool:
        parts = list(pool.map(draw, [1, 10, 1000, 9_000] * 10))
    rows = np.concatenate(parts)
    assert len(rows) == 100_110
    assert len(np.unique(rows, axis=0)) == len(rows)


def _draw_in_child(metric: wv.Metric, channel: "multiprocessing.SimpleQueue[bytes]") -> None:
    channel.put(wv.sample_noise(metric, 2.0, 1000, wv.secure_stream()).tobytes())


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_no_noise_is_used_twice_across_forks() -> None:
    metric, context = wv.Metric.euclidean(3), multiprocessing.get_context("fork")
    channel = context.SimpleQueue()
    children = [context.Process(target=_draw_in_child, args=(metric, channel)) for _ in range(4)]
    for child in children:
        child.start()
    rows = np.concatenate([np.frombuffer(channel.get()).reshape(-1, 3) for _ in children])
    for child in children:
        child.join()
    assert len(np.unique(rows, axis=0)) == len(rows) == 4000


def test_no_noise_is_used_twice_across_the_blocks_of_a_mechanism(glove: wv.Embedding) -> None:
    class Recorder(BruteSearch):
        block, threaded = 1000, True

        def __init__(self) -> None:
            super().__init__(np.zeros((1, 3)))
            self.points: list[np.ndarray] = []

        def _find(self, points: np.ndarray, norms: np.ndarray) -> np.ndarray:
            self.points.append(points.copy())
            return np.zeros(len(points), dtype=np.int64)

    recorder = Recorder()

    class Recorded(wv.Laplace):
        _search = property(lambda _: recorder)

    mechanism = Recorded(glove.project(3), 2.0)
    for _ in range(2):
        mechanism.perturb_ids(np.zeros(50_000, dtype=int))
    rows = np.concatenate(recorder.points)
    assert len(recorder.points) > 20
    assert len(np.unique(rows, axis=0)) == len(rows) == 100_000


def test_refuses() -> None:
    metric = wv.Metric.euclidean(2)
    for epsilon in (0.0, -1.0, float("nan"), float("inf"), "1", True, None):
        with pytest.raises(wv.ParameterError, match="finite and positive"):
            wv.sample_noise(metric, epsilon, 1, wv.insecure_stream(1))  # type: ignore[arg-type]  # the test
    with pytest.raises(wv.ParameterError, match="'size'"):
        wv.sample_noise(metric, 1.0, -1, wv.insecure_stream(1))
    assert wv.sample_noise(metric, 1.0, 0, wv.insecure_stream(1)).shape == (0, 2)
