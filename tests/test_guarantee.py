import json
import math

import numpy as np
import pytest

import wordveil as wv
from wordveil.guarantee import factor

RNG = np.random.default_rng(31)
EMB = wv.Embedding([f"w{i}" for i in range(400)], RNG.normal(size=(400, 5)) * [0.5, 1, 1, 2, 3])


@pytest.fixture
def promise() -> wv.Guarantee:
    return wv.Mahalanobis(EMB, epsilon=2.0, lam=0.3).guarantee


def test_neighbours_agree_with_brute_force(promise: wv.Guarantee) -> None:
    distances = np.sort(promise.metric.pairwise(EMB.vectors, EMB.vectors), axis=1)
    for rank, found in promise.neighbours.items():
        expected = 2.0 * np.quantile(distances[:, rank], [0.5, 0.05, 0.95])
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert list(promise.neighbours) == [1, 10, 100]


def test_ranks_that_do_not_exist_are_left_out() -> None:
    small = wv.Embedding(["a", "b", "c"], [[0.0], [1.0], [3.0]])
    assert list(wv.Laplace(small, 1.0).guarantee.neighbours) == [1]


def test_exponent_between_two_words(promise: wv.Guarantee) -> None:
    expected = 2.0 * float(promise.metric.distance(EMB.vectors[3], EMB.vectors[7]))
    assert promise.exponent("w3", "w7") == pytest.approx(expected)


def test_worst_case_composition_and_euclidean_epsilon(promise: wv.Guarantee) -> None:
    true = 2.0 * promise.metric.pairwise(EMB.vectors, EMB.vectors).max()
    assert promise.worst_case.lower <= true <= promise.worst_case.upper
    assert promise.composed(words=3, releases=2) == pytest.approx(6 * promise.worst_case.upper)
    bounds = promise.metric.euclidean_bounds()
    assert promise.euclidean_epsilon == pytest.approx((2.0 * bounds.lower, 2.0 * bounds.upper))
    for words, releases in ((0, 1), (1, 0), (1.5, 1)):
        with pytest.raises(wv.ParameterError, match="whole number"):
            promise.composed(words, releases)  # type: ignore[arg-type]  # that is the test


@pytest.mark.parametrize("epsilon", [float("nan"), -3.0, 0.0])
def test_refuses_a_senseless_epsilon(promise: wv.Guarantee, epsilon: float) -> None:
    with pytest.raises(wv.ParameterError, match="finite and positive"):
        wv.Guarantee(epsilon, promise.metric, EMB)


def test_for_machines(promise: wv.Guarantee) -> None:
    facts = json.loads(json.dumps(promise.to_dict()))
    assert (facts["epsilon"], facts["lam"], facts["dims"], facts["words"]) == (2.0, 0.3, 5, 400)
    assert facts["fingerprint"] == EMB.fingerprint
    assert facts["local_dp_epsilon_per_word"] == promise.worst_case.upper
    assert facts["exponent_to_neighbour"]["10"]["median"] == promise.neighbours[10].median
    assert facts["not_covered"][0] == "the number of words in a text"


def test_for_people(glove: wv.Embedding) -> None:
    text = str(wv.Mahalanobis(glove, 10.0, 1.0).guarantee)
    for part in (
        "ε = 10 per unit of Mahalanobis distance (λ = 1), 300 dimensions",
        "33,752 public words of glove-840b-300d",
        "at most exp(ε·d) times as likely",
        "its nearest word",
        "ordinary local differential privacy",
        "Exponents add up",
        "Not covered: the number of words",
    ):
        assert part in text
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize(
    ("epsilon", "told"), [(0.1, "strong"), (3.0, "moderate"), (20.0, "too weak to rely on")]
)
def test_the_verdict_follows_the_numbers(epsilon: float, told: str) -> None:
    promise = wv.Laplace(EMB, epsilon).guarantee
    assert told in str(promise)
    assert "Euclidean distance" in str(promise)
    assert factor(promise.neighbours[1].median) in str(promise)


def test_factor() -> None:
    assert factor(0.0) == "1.0"
    assert factor(math.log(12_345)) == "12,345"
    assert factor(54.2) == "10^23.5"
