import json
import math
import re
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import wordveil as wv
from wordveil.rounding import at_least, at_most, factor

RNG = np.random.default_rng(31)
EMB = wv.Embedding([f"w{i}" for i in range(400)], RNG.normal(size=(400, 5)) * [0.5, 1, 1, 2, 3], public=True)


@pytest.fixture
def promise() -> wv.MetricGuarantee:
    return wv.Mahalanobis(EMB, epsilon=2.0, lam=0.3).guarantee


def test_neighbours_agree_with_brute_force(promise: wv.MetricGuarantee) -> None:
    distances = np.sort(promise.metric.pairwise(EMB.vectors, EMB.vectors), axis=1)
    for rank, exponents in promise.neighbours.items():
        expected = 2.0 * np.quantile(distances[:, rank], [0.5, 0.05, 0.95])
        np.testing.assert_allclose(exponents, expected, rtol=1e-6)
    assert list(promise.neighbours) == [1, 10, 100]


def test_ranks_that_do_not_exist_are_left_out() -> None:
    small = wv.Embedding(["a", "b", "c"], [[0.0], [1.0], [3.0]], public=True)
    assert list(wv.Laplace(small, 1.0).guarantee.neighbours) == [1]


def test_exponent_between_two_words(promise: wv.MetricGuarantee) -> None:
    expected = 2.0 * float(promise.metric.distance(EMB.vectors[3], EMB.vectors[7]))
    assert promise.exponent("w3", "w7") == pytest.approx(expected)


def test_worst_case_composition_and_euclidean_epsilon(promise: wv.MetricGuarantee) -> None:
    true = 2.0 * promise.metric.pairwise(EMB.vectors, EMB.vectors).max()
    assert promise.worst_case.lower <= true <= promise.worst_case.upper
    assert promise.composed(words=3, releases=2) == pytest.approx(6 * promise.worst_case.upper)
    bounds = promise.metric.euclidean_bounds()
    assert promise.euclidean_epsilon == pytest.approx((2.0 * bounds.lower, 2.0 * bounds.upper))
    for words, releases in ((0, 1), (1, 0), (1.5, 1)):
        with pytest.raises(wv.ParameterError, match="whole number"):
            promise.composed(words, releases)  # type: ignore[arg-type]  # that is the test


@pytest.mark.parametrize("epsilon", [float("nan"), -3.0, 0.0])
def test_refuses_a_bad_epsilon(promise: wv.MetricGuarantee, epsilon: float) -> None:
    with pytest.raises(wv.ParameterError, match="finite and positive"):
        wv.MetricGuarantee(epsilon, promise.metric, EMB)


def test_to_dict(promise: wv.MetricGuarantee) -> None:
    facts = json.loads(json.dumps(promise.to_dict()))
    assert (facts["epsilon"], facts["lam"], facts["dims"], facts["words"]) == (2.0, 0.3, 5, 400)
    assert facts["fingerprint"] == EMB.fingerprint
    assert facts["local_dp_epsilon_per_word"] == promise.worst_case.upper
    assert facts["exponent_to_neighbour"]["10"]["median"] == promise.neighbours[10].median
    assert facts["not_covered"][0] == "the number of words in a text"


def test_the_readable_form(glove: wv.Embedding) -> None:
    text = str(wv.Mahalanobis(glove, 10.0, 1.0).guarantee)
    for part in (
        "ε = 10 per unit of Mahalanobis distance (λ = 1), 300 dimensions",
        "33,752 words, called glove-840b-300d",
        "at most exp(ε·d) times as likely",
        "its nearest word",
        "ordinary local differential privacy",
        "Exponents add up",
        "Not covered: the number of words",
    ):
        assert part in text
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize(
    ("epsilon", "verdict"), [(0.1, "strong"), (3.0, "moderate"), (20.0, "too weak to rely on")]
)
def test_the_verdict_follows_the_numbers(epsilon: float, verdict: str) -> None:
    promise = wv.Laplace(EMB, epsilon).guarantee
    assert verdict in str(promise)
    assert "Euclidean distance" in str(promise)
    assert factor(promise.neighbours[1].median) in str(promise)


def test_factor() -> None:
    assert factor(0.0) == "1.0"
    assert factor(math.log(12_344.5)) == "12,345"
    assert factor(54.2) == "10^23.6"


@given(st.floats(0.0, 1e12), st.integers(0, 3))
def test_bounds_are_rounded_to_their_safe_side(number: float, digits: int) -> None:
    upper, lower = (
        Fraction(at_most(number, digits).replace(",", "")),
        Fraction(at_least(number, digits).replace(",", "")),
    )
    assert lower <= Fraction(number) <= upper
    assert upper - lower <= Fraction(1, 10**digits)


@given(st.floats(0.0, 600.0))
def test_a_factor_is_never_below_the_exponential(exponent: float) -> None:
    shown = factor(exponent).replace(",", "")
    if shown.startswith("10^"):
        assert Fraction(shown[3:]) >= Fraction(exponent) / Fraction(math.log(10.0)) * Fraction(1 - 2**-50)
    else:
        assert Fraction(shown) >= Fraction(math.exp(exponent))


def test_every_printed_bound_is_on_its_safe_side(glove: wv.Embedding) -> None:
    """142.726 was once printed as "at most 142.7"."""
    for epsilon in (0.7, 3.0, 6.0, 6.01, 17.3):
        promise = wv.Mahalanobis(glove.project(5), epsilon, 0.5).guarantee
        text = " ".join(str(promise).split())
        worst = re.search(r"at most ([0-9.,]+) \*", text)
        low, high = re.search(r"lies between ([0-9.]+) and ([0-9.]+)", text).groups()  # type: ignore[union-attr]  # it is there
        ten, twenty = re.search(r"is at most ([0-9,]+) in all, and ([0-9,]+) if", text).groups()  # type: ignore[union-attr]  # it is there
        some = re.search(r"some pair of words has ([0-9.,]+)\.", text)
        assert worst is not None
        assert some is not None
        assert float(worst[1]) >= promise.worst_case.upper
        assert float(some[1]) <= promise.worst_case.lower
        assert float(low) <= promise.euclidean_epsilon.lower <= promise.euclidean_epsilon.upper <= float(high)
        assert float(ten.replace(",", "")) >= 10 * promise.worst_case.upper
        assert float(twenty.replace(",", "")) >= 20 * promise.worst_case.upper


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e7])
def test_neighbours_do_not_depend_on_where_the_origin_is(offset: float) -> None:
    """Differences of squares cancel far from the origin: at 1e7 they were understated."""
    grid = np.random.default_rng(5).integers(-4, 5, (300, 64)).astype(np.float64)  # exact in float32 at 1e7
    emb = wv.Embedding([f"w{i}" for i in range(300)], grid + offset, public=True)
    promise = wv.Laplace(emb, 2.0).guarantee
    distances = np.sort(np.linalg.norm(grid[:, None] - grid[None], axis=2), axis=1)
    for rank, exponents in promise.neighbours.items():
        expected = 2.0 * np.quantile(distances[:, rank], [0.5, 0.05, 0.95])
        np.testing.assert_allclose(exponents, expected, rtol=1e-9, atol=1e-9)
    others = [exponent for _, exponent in promise.nearest("w7", 5)]
    np.testing.assert_allclose(others, 2.0 * distances[7, 1:6], rtol=1e-9)
    assert promise.worst_case.lower <= 2.0 * distances.max() <= promise.worst_case.upper
    assert promise.worst_case.upper < 3.0 * distances.max()  # and the bound is of some use
