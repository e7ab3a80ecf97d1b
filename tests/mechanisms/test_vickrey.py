"""The Vickrey mechanism is a function of the noisy point, between the two words nearest to it."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_info, threadpool_limits

import wordveil as wv
from wordveil.attacker import guess_rate
from wordveil.mechanisms import Vickrey
from wordveil.prior import default_prior


@pytest.fixture(scope="module")
def embedding() -> wv.Embedding:
    vectors = np.random.default_rng(5).normal(size=(200, 4))
    return wv.Embedding([f"w{i}" for i in range(200)], vectors, public=True)


def test_at_t_0_it_is_the_nearest_word(embedding: wv.Embedding) -> None:
    ids = np.random.default_rng(1).integers(-1, 200, 5000)
    for lam in (0.0, 1.0):
        nearest = wv.Mahalanobis(embedding, 3.0, lam).perturb_ids(ids, stream=wv.insecure_stream(1))
        answers = Vickrey(embedding, 3.0, lam, t=0.0).perturb_ids(ids, stream=wv.insecure_stream(1))
        np.testing.assert_array_equal(answers, nearest)


def test_at_t_1_it_is_the_second_nearest(embedding: wv.Embedding) -> None:
    mechanism = Vickrey(embedding, 3.0, t=1.0)
    ids = np.arange(200)
    points = mechanism._noisy_points(ids, wv.insecure_stream(2))
    distances = np.linalg.norm(points[:, None] - mechanism._places[None, :-1], axis=2)
    answers = mechanism.perturb_ids(ids, stream=wv.insecure_stream(2))
    np.testing.assert_array_equal(answers, np.argsort(distances, axis=1)[:, 1])


@pytest.mark.parametrize("t", [0.3, 0.75])
def test_the_choice_follows_its_formula(embedding: wv.Embedding, t: float) -> None:
    """At one point, n = 100,000, α = 1e-9 (six standard deviations)."""
    mechanism = Vickrey(embedding, 3.0, t=t)
    point = mechanism._noisy_points(np.array([3]), wv.insecure_stream(2))
    distances = np.linalg.norm(point - mechanism._places[:-1], axis=1)
    first, second = np.argsort(distances)[:2]
    uniforms = wv.insecure_stream(3).uniforms((100_000,))
    answers = mechanism._chosen(np.repeat(point, 100_000, axis=0), uniforms)
    assert set(answers.tolist()) == {int(first), int(second)}
    d1, d2 = distances[first], distances[second]
    share = (1.0 - t) * d2 / (t * d1 + (1.0 - t) * d2)
    assert abs((answers == first).mean() - share) < 6.0 * np.sqrt(share * (1.0 - share) / 100_000)


def test_the_answer_is_a_function_of_the_noisy_point(embedding: wv.Embedding) -> None:
    """`perturb_ids` gives the answers that follow from the points and numbers of its stream: w is nowhere else."""
    mechanism, ids = Vickrey(embedding, 3.0, t=0.6), np.random.default_rng(1).integers(-1, 200, 6000)
    stream = wv.insecure_stream(2)
    seen = np.column_stack((mechanism._noisy_points(ids, stream), stream.uniforms((len(ids),))))
    answers = mechanism.perturb_ids(ids, stream=wv.insecure_stream(2))
    np.testing.assert_array_equal(answers, by_formula(mechanism, seen))
    np.testing.assert_array_equal(answers, mechanism.channel().answers(seen))
    assert (answers == ids).any()  # w itself can be the answer


def by_formula(mechanism: Vickrey, seen: NDArray[np.float64]) -> NDArray[np.int64]:
    distances = cdist(seen[:, :-1], mechanism._places[:-1])
    first, second = np.argsort(distances, axis=1)[:, :2].T
    d1, d2 = np.sort(distances, axis=1)[:, :2].T
    near, far = mechanism.t * d1, (1.0 - mechanism.t) * d2
    return np.asarray(np.where(seen[:, -1] < far / (near + far), first, second))


def test_a_call_leaves_the_threads_of_others_alone(embedding: wv.Embedding) -> None:
    """A limit of BLAS is one of the whole process: calls that overlap would restore each other's."""
    inside = []

    class Watched(Vickrey):
        def _chosen(self, points: NDArray[np.float64], uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
            inside.append(threadpool_info())
            return super()._chosen(points, uniforms)

    with threadpool_limits(3, user_api="blas"):
        before = threadpool_info()
        Watched(embedding, 3.0).perturb_ids(np.zeros(5000, np.int64))
    assert len(inside) == 3
    assert all(info == before for info in inside)


def test_the_attacker_sees_as_much_as_with_the_nearest_word(embedding: wv.Embedding) -> None:
    prior = default_prior(embedding)
    nearest = guess_rate(wv.Laplace(embedding, 4.0), prior).success.share
    assert guess_rate(Vickrey(embedding, 4.0, t=0.5), prior).success.share == pytest.approx(nearest, abs=0.03)
