import dataclasses
import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import wordveil as wv
from wordveil.nearest import BruteSearch, SingleSearch
from wordveil.noise import eigen_noise

RNG = np.random.default_rng(21)
EMB = wv.Embedding(
    [f"w{i}" for i in range(300)], RNG.normal(size=(300, 6)) * [0.5, 1, 1, 2, 3, 4], public=True
)


@pytest.fixture
def mechanism() -> wv.Mahalanobis:
    return wv.Mahalanobis(EMB, epsilon=3.0, lam=0.3)


def test_same_noise_for_every_word_and_float64_sums(mechanism: wv.Mahalanobis) -> None:
    """The word changes neither the noise nor how much of the stream is used."""
    streams = [wv.insecure_stream(9) for _ in range(3)]
    noise = eigen_noise(mechanism.metric.scales, 3.0, 50, streams[0])
    for word, stream in zip((0, 299), streams[1:], strict=True):
        points = mechanism._noisy_points(np.full(50, word), stream)
        np.testing.assert_array_equal(points, mechanism._places[word] + noise)
        assert points.dtype == np.float64
    states = [
        {kind: generator.bit_generator.state for kind, generator in stream._generators.items()}
        for stream in streams
    ]
    assert states[0] == states[1] == states[2]


def test_the_search_gets_the_exact_sums(mechanism: wv.Mahalanobis) -> None:
    class Recorder(BruteSearch):
        def _find(self, points: np.ndarray, norms: np.ndarray) -> np.ndarray:
            self.points = points
            return np.zeros(len(points), dtype=np.int64)

    recorder = Recorder(np.zeros((1, 6)))

    class Recorded(wv.Mahalanobis):
        _search = property(lambda _: recorder)

    mechanism = Recorded(mechanism.embedding, mechanism.epsilon, mechanism.lam)
    ids = RNG.integers(-1, 300, 100)
    mechanism.perturb_ids(ids, stream=wv.insecure_stream(9))
    assert recorder.points.dtype == np.float64
    np.testing.assert_array_equal(recorder.points, mechanism._noisy_points(ids, wv.insecure_stream(9)))


def test_places_are_the_rotated_vectors(mechanism: wv.Mahalanobis) -> None:
    places, axes = mechanism._places, mechanism.metric.axes
    np.testing.assert_allclose(places[:-1] @ axes.T, EMB.vectors, atol=1e-12)
    np.testing.assert_allclose(places[-1] @ axes.T, EMB.vectors.mean(axis=0, dtype=np.float64), atol=1e-12)
    with pytest.raises(ValueError, match="read-only"):
        places[0, 0] = 1.0


def test_answers_are_the_nearest_words_of_the_noisy_points(mechanism: wv.Mahalanobis) -> None:
    ids = RNG.integers(-1, 300, 1000)
    points = mechanism._noisy_points(ids, wv.insecure_stream(2))
    answers = mechanism.perturb_ids(ids, stream=wv.insecure_stream(2))
    np.testing.assert_array_equal(answers, BruteSearch(mechanism._places[:-1]).nearest(points))


@pytest.mark.parametrize("block", [1, 17, 4096])
def test_the_block_size_changes_no_answer(
    mechanism: wv.Mahalanobis, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = RNG.integers(-1, 300, 500)
    expected = mechanism.perturb_ids(ids, stream=wv.insecure_stream(4))
    monkeypatch.setattr(SingleSearch, "block", block)
    np.testing.assert_array_equal(mechanism.perturb_ids(ids, stream=wv.insecure_stream(4)), expected)


def test_without_a_stream_every_call_differs(mechanism: wv.Mahalanobis) -> None:
    ids = np.zeros(200, dtype=int)
    with ThreadPoolExecutor(4) as pool:
        seen = list(pool.map(lambda _: tuple(mechanism.perturb_ids(ids).tolist()), range(20)))
    assert len(set(seen)) == 20


def test_a_stream_continues_from_call_to_call(mechanism: wv.Mahalanobis) -> None:
    stream, ids = wv.insecure_stream(5), np.zeros(100, dtype=int)
    first, second = mechanism.perturb_ids(ids, stream=stream), mechanism.perturb_ids(ids, stream=stream)
    assert (first != second).any()
    expected = mechanism.perturb_ids(np.zeros(200, dtype=int), stream=wv.insecure_stream(5))
    np.testing.assert_array_equal(np.concatenate((first, second)), expected)


def test_shapes_and_types(mechanism: wv.Mahalanobis) -> None:
    answers = mechanism.perturb_ids(np.zeros((3, 4), dtype=np.uint8))
    assert answers.shape == (3, 4)
    assert answers.dtype == np.int64
    assert mechanism.perturb_ids([]).shape == (0,)
    assert mechanism.perturb_ids([0, -1]).min() >= 0


@pytest.mark.parametrize("words", [["w1", None], ["w1", 5], ["w1", b"w2"]])
def test_refuses_words_that_are_not_str(mechanism: wv.Mahalanobis, words: list[str]) -> None:
    with pytest.raises(wv.ParameterError, match="Word 1"):
        mechanism.perturb_words(words)


@pytest.mark.parametrize("ids", [[-2], [300], [0.0], [True], ["w1"], [2**62]])
def test_refuses_bad_ids_without_showing_them(mechanism: wv.Mahalanobis, ids: list[int]) -> None:
    with pytest.raises(wv.ParameterError, match="Word ids must be") as caught:
        mechanism.perturb_ids(ids)
    assert "4611686018427387904" not in str(caught.value)


def test_words(mechanism: wv.Mahalanobis) -> None:
    words = ["w1", "unknown", "w299"]
    answers = mechanism.perturb_words(words, stream=wv.insecure_stream(6))
    ids = mechanism.perturb_ids([1, -1, 299], stream=wv.insecure_stream(6))
    assert answers == [EMB.words[i] for i in ids]
    with pytest.raises(wv.ParameterError, match="list of words"):
        mechanism.perturb_words("w1")


@pytest.mark.parametrize("epsilon", [0.0, -1.0, float("nan"), float("inf"), None, "10", True])
def test_refuses_an_epsilon_that_is_not_finite_and_positive(epsilon: float) -> None:
    with pytest.raises(
        wv.ParameterError, match=r"'epsilon' parameter of Laplace must be finite and positive"
    ):
        wv.Laplace(EMB, epsilon)


def test_refuses_a_lam_outside_of_0_to_1() -> None:
    with pytest.raises(wv.ParameterError, match="'lam' parameter of Mahalanobis"):
        wv.Mahalanobis(EMB, 1.0, 1.5)


def test_laplace_is_lam_0() -> None:
    ids = RNG.integers(0, 300, 200)
    laplace, other = wv.Laplace(EMB, 3.0), wv.Mahalanobis(EMB, 3.0, 0.0)
    np.testing.assert_array_equal(
        laplace.perturb_ids(ids, stream=wv.insecure_stream(1)),
        other.perturb_ids(ids, stream=wv.insecure_stream(1)),
    )
    assert (laplace.lam, laplace.epsilon) == (0.0, 3.0)


@pytest.mark.parametrize("dim", [25, 300])
def test_equal_words_stay_equal(dim: int) -> None:
    """Rows of a matrix product may be rounded differently at the edge of a block; words may not."""
    rows = np.random.default_rng(1).normal(size=(4200, dim)).astype(np.float32)
    rows[4096:4099] = rows[0]
    rows[7, 0], rows[4100] = 0.0, rows[7]
    rows[4100, 0] = -0.0
    twins = wv.Embedding([f"w{i}" for i in range(len(rows))], rows, public=True)
    mechanism = wv.Mahalanobis(twins, 10_000.0, 1.0)
    for twin, first in ((4096, 0), (4097, 0), (4098, 0), (4100, 7)):
        np.testing.assert_array_equal(mechanism._places[twin], mechanism._places[first])
        assert set(mechanism.perturb_ids(np.full(50, twin)).tolist()) == {first}


def test_without_a_stream_a_secure_one_is_drawn(
    mechanism: wv.Mahalanobis, monkeypatch: pytest.MonkeyPatch
) -> None:
    streams: list[wv.Stream] = []

    def counted() -> wv.Stream:
        streams.append(wv.secure_stream())
        return streams[-1]

    monkeypatch.setattr("wordveil.mechanisms.base.thread_stream", counted)
    mechanism.perturb_ids([0, 1])
    assert [stream.secure for stream in streams] == [True]


def test_frozen(mechanism: wv.Mahalanobis) -> None:
    for copy in (mechanism, pickle.loads(pickle.dumps(mechanism))):
        for array in (copy.metric.scales, copy.metric.axes, copy.metric.eigenvalues, copy._places):
            with pytest.raises(ValueError, match="WRITEABLE"):
                array.flags.writeable = True
    with pytest.raises(dataclasses.FrozenInstanceError):
        mechanism.epsilon = 99.0  # type: ignore[misc]  # that is the test


def test_pickles_with_the_same_numbers_and_no_random_state(mechanism: wv.Mahalanobis) -> None:
    data = pickle.dumps(mechanism)
    assert b"randomgen" not in data
    assert b"numpy.random" not in data
    copy = pickle.loads(data)
    np.testing.assert_array_equal(copy._places, mechanism._places)
    ids = RNG.integers(-1, 300, 200)
    np.testing.assert_array_equal(
        copy.perturb_ids(ids, stream=wv.insecure_stream(3)),
        mechanism.perturb_ids(ids, stream=wv.insecure_stream(3)),
    )
    assert isinstance(pickle.loads(pickle.dumps(wv.Laplace(EMB, 1.0))), wv.Laplace)


def test_tampered_vectors_are_never_used(mechanism: wv.Mahalanobis) -> None:
    bad = wv.Embedding._adopt(EMB.words, EMB.vectors, EMB.provenance, fingerprint="0" * 64)
    with pytest.raises(wv.IntegrityError):
        wv.Mahalanobis(bad, 1.0).perturb_ids([0])
