"""The Vickrey mechanism is a function of the noisy point, between the two words nearest to it."""

import numpy as np
import pytest

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


def test_the_answer_does_not_depend_on_the_word_beside_the_point(embedding: wv.Embedding) -> None:
    """Two inputs with one noisy point have one answer: w is no special candidate."""
    mechanism = Vickrey(embedding, 3.0, t=0.6)
    points = mechanism._noisy_points(np.arange(100), wv.insecure_stream(2))
    uniforms = wv.insecure_stream(3).uniforms((100,))
    channel = mechanism.channel()
    seen = np.column_stack((points, uniforms))
    np.testing.assert_array_equal(channel.answers(seen), mechanism._chosen(points, uniforms))
    assert (channel.answers(seen) == np.arange(100)).any()  # w itself can be the answer


def test_the_attacker_sees_as_much_as_with_the_nearest_word(embedding: wv.Embedding) -> None:
    prior = default_prior(embedding)
    nearest = guess_rate(wv.Laplace(embedding, 4.0), prior).success.share
    assert guess_rate(Vickrey(embedding, 4.0, t=0.5), prior).success.share == pytest.approx(nearest, abs=0.03)


def test_blocks_change_no_answer(embedding: wv.Embedding) -> None:
    ids = np.random.default_rng(1).integers(-1, 200, 5000)
    mechanism = Vickrey(embedding, 3.0)
    stream = wv.insecure_stream(1)
    parts = [mechanism.perturb_ids(part, stream=stream) for part in np.array_split(ids, 7)]
    expected = mechanism.perturb_ids(ids, stream=wv.insecure_stream(1))
    np.testing.assert_array_equal(np.concatenate(parts), expected)
