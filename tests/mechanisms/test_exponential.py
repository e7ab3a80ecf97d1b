"""The exponential mechanisms: their probabilities obey the promise exactly, and their draws follow them."""

from decimal import Decimal, localcontext
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.spatial.distance import cdist

import wordveil as wv
from wordveil.attacker import best_guesses, guess_rate
from wordveil.mechanisms import Exponential, TruncatedExponential, answer_channel
from wordveil.mechanisms.answer_channel import all_log_normalisers
from wordveil.mechanisms.exponential_law import ExponentialLaw
from wordveil.nearest import threads
from wordveil.nearest.threads import threads_here
from wordveil.prior import default_prior

EPSILON = 1.7
KINDS = [Exponential, TruncatedExponential]


def random_words(count: int, dim: int, seed: int = 3) -> wv.Embedding:
    vectors = np.random.default_rng(seed).normal(size=(count, dim)) * np.linspace(0.5, 2.0, dim)
    return wv.Embedding([f"w{i}" for i in range(count)], vectors, public=True)


def expected(mechanism: Exponential) -> NDArray[np.float64]:
    """The formula, from the raw vectors; the last row is the centroid's."""
    rows = mechanism.embedding.vectors.astype(np.float64)
    places = np.vstack((rows, rows.mean(axis=0)))
    covariance = np.cov(rows, rowvar=False)
    sigma = covariance * len(covariance) / np.trace(covariance)
    inverse = np.linalg.inv(mechanism.lam * sigma + (1.0 - mechanism.lam) * np.eye(len(sigma)))
    distances = cdist(places, rows, "mahalanobis", VI=inverse)
    if isinstance(mechanism, TruncatedExponential):
        beta, count = mechanism.beta, len(rows)
        gamma = 2.0 / mechanism.epsilon * np.log((1.0 - beta) * (count - 1) / beta)
        distances = np.minimum(distances, gamma)
    weights = np.exp(-mechanism.epsilon / 2.0 * distances)
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lam", [0.0, 0.4, 1.0])
def test_probabilities_are_the_formula(kind: type[Exponential], lam: float) -> None:
    mechanism = kind(random_words(50, 3), EPSILON, lam)
    ids = np.append(np.arange(50), -1)
    np.testing.assert_allclose(mechanism.probabilities(ids), expected(mechanism), rtol=1e-10)
    assert mechanism.probabilities(7).shape == (50,)


def answering(kind: str, embedding: wv.Embedding) -> wv.Mechanism:
    needed: dict[str, Any] = {"k": 8, "unsafe_no_uniform_guarantee": True} if kind == "custext" else {}
    return wv.make_mechanism(kind, embedding, EPSILON, **needed)


@pytest.mark.parametrize("kind", ["exponential", "tem", "custext"])
@pytest.mark.filterwarnings("ignore::wordveil.errors.PrivacyWarning")
def test_probabilities_know_the_block_list(kind: str) -> None:
    """χ² with n = 100,000 draws, at level 1e-6: what is never answered has probability 0."""
    blocked = wv.BlockList([f"w{i}" for i in range(0, 30, 3)], public=True)
    mechanism = answering(kind, random_words(30, 3)).blocking(blocked)
    shares: NDArray[np.float64] = mechanism.probabilities([4])[0]  # type: ignore[attr-defined]
    counts = np.bincount(
        mechanism.perturb_ids(np.full(100_000, 4), stream=wv.insecure_stream(2)), minlength=30
    )
    assert shares.sum() == pytest.approx(1.0)
    assert (shares[::3] == 0.0).all()
    assert (counts[shares == 0.0] == 0).all()
    kept = shares > 0.0
    assert stats.chisquare(counts[kept], shares[kept] * 100_000).pvalue > 1e-6


@pytest.mark.parametrize("epsilon", [0.3, 3.0])
@pytest.mark.parametrize("options", [{}, {"beta": 0.3}])
def test_every_pair_obeys_the_promise(epsilon: float, options: dict[str, float]) -> None:
    """Exactly: the largest log-ratio over all answers, for all pairs of words and the centroid."""
    embedding = random_words(60, 2)
    for kind in KINDS:
        mechanism = kind(embedding, epsilon, 0.5, **(options if kind is TruncatedExponential else {}))
        logs = np.log(mechanism.probabilities(np.arange(-1, 60)))
        largest = (logs[:, None, :] - logs[None, :, :]).max(axis=2)
        ids = np.arange(-1, 60)
        allowed = mechanism.guarantee.exponents(ids[:, None], ids[None, :])
        assert (largest <= allowed + 1e-9).all()
        assert (largest > 0.7 * allowed)[allowed > 0.0].any()  # else ε could be larger
        if kind is TruncatedExponential and options and epsilon > 1.0:
            assert (allowed == epsilon * mechanism.gamma).any()  # type: ignore[attr-defined]  # of this kind


def test_the_promise_is_not_that_of_a_smaller_epsilon() -> None:
    """The check above fails for ε in place of ε/2."""
    mechanism = Exponential(random_words(60, 2), 2.0 * EPSILON)
    logs = np.log(mechanism.probabilities(np.arange(60)))
    allowed = mechanism.guarantee.exponents(np.arange(60)[:, None], np.arange(60)[None, :]) / 2.0
    assert ((logs[:, None, :] - logs[None, :, :]).max(axis=2) > allowed + 1e-9).any()


def test_the_promise_on_the_default_vectors(glove: wv.Embedding) -> None:
    """With certified normalisers, for 40 words and all answers: errors and all, no ratio exceeds ε·d."""
    ids = np.linspace(0, len(glove) - 1, 39).astype(np.int64)
    ids = np.append(ids, -1)
    for kind, epsilon in ((Exponential, 2.2), (TruncatedExponential, 3.0)):
        mechanism = kind(glove, epsilon)
        law = mechanism.law
        logs = np.stack([law.log_weights(np.full(len(glove), i), np.arange(len(glove))) for i in ids])
        sums = law.log_normalisers(ids)
        assert (sums.errors < 1e-9).all()
        dims = glove.dim
        slack = sums.errors + 4.0 * (dims + 8) * 2.0**-53 * np.abs(logs).max()
        for row, word_id in enumerate(ids):
            ratios = (logs[row] - logs).max(axis=1) - sums.values[row] + sums.values
            allowed = mechanism.guarantee.exponents(word_id, ids)
            assert (ratios <= allowed * (1.0 + 1e-9) + slack + slack[row]).all()


def test_certified_normalisers_bound_their_error() -> None:
    """Against sums in 60 digits."""
    embedding = random_words(40, 3)
    law = TruncatedExponential(embedding, 2.0, beta=0.1).law
    result = law.log_normalisers(np.arange(-1, 40))
    rate, reach = Decimal(law.rate), Decimal(law.reach)
    with localcontext(prec=60):
        rows = [[Decimal(x) for x in row] for row in law.white.places.tolist()]
        for place, word in enumerate(range(-1, 40)):
            squares = [sum((a - b) ** 2 for a, b in zip(rows[word], row, strict=True)) for row in rows[:-1]]
            total = sum((-rate * min(Decimal(square).sqrt(), reach)).exp() for square in squares)
            error = abs(Decimal(total).ln() - Decimal(float(result.values[place])))
            assert error <= result.errors[place] < 1e-12


def test_the_normalisers_of_all_words(glove: wv.Embedding) -> None:
    """Those of the channel, in float32, agree with the certified ones."""
    for mechanism in (Exponential(glove.project(12), 5.0), TruncatedExponential(random_words(2500, 5), 2.0)):
        ids = np.append(np.linspace(0, len(mechanism.embedding) - 1, 20).astype(np.int64), -1)
        result = all_log_normalisers(mechanism.law)
        np.testing.assert_allclose(result[ids], mechanism.law.log_normalisers(ids).values, atol=5e-4)


def test_the_attackers_number_is_that_of_the_probabilities() -> None:
    """S = Σ_u max_w p(w)·Pr[u | w], within the interval of 4,000 draws."""
    embedding = random_words(80, 3)
    for kind in KINDS:
        mechanism, prior = kind(embedding, 4.0), default_prior(embedding)
        table = prior.shares[:, None] * mechanism.probabilities(np.append(np.arange(80), -1))
        rate = guess_rate(mechanism, prior, draws=4000)
        assert rate.exact
        assert rate.success.low <= table.max(axis=0).sum() <= rate.success.high


def test_large_vocabularies_have_no_closed_form(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answer_channel, "_MOST_WORDS", 79)
    assert Exponential(random_words(80, 3), 4.0).channel() is None


def test_the_normalisers_are_summed_before_threads_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inside of `in_row_blocks`, a sum over all pairs of words would have one core."""
    allowed = []

    def observed(law: ExponentialLaw) -> NDArray[np.float64]:
        allowed.append(threads_here())
        return all_log_normalisers(law)

    monkeypatch.setattr(answer_channel, "all_log_normalisers", observed)
    monkeypatch.setattr(threads, "all_cores", lambda: 2)
    mechanism = Exponential(random_words(80, 3, seed=11), 4.0)
    guess_rate(mechanism, default_prior(mechanism.embedding), draws=100)
    other = Exponential(mechanism.embedding, 5.0).channel()
    assert other is not None
    best_guesses(other, other.of_answers(np.arange(80)), 81, [None])
    assert allowed == [2, 2]


def test_two_words_with_one_vector() -> None:
    equal = wv.Embedding(["a", "b", "c"], [[0.0], [0.0], [2.0]], public=True)
    np.testing.assert_allclose(Exponential(equal, 2.0).probabilities(0)[:2], 0.468, atol=1e-3)
    counts = np.bincount(Exponential(equal, 2.0).perturb_ids(np.zeros(20_000, int)), minlength=3)
    assert abs(counts[0] - counts[1]) < 6.0 * np.sqrt(counts[0] + counts[1])


def test_extreme_epsilons() -> None:
    embedding = random_words(60, 3)
    ids = np.arange(60)
    for kind in KINDS:
        # TEM moves a word to one beyond γ with probability β at every ε.
        options = {"beta": 1e-9} if kind is wv.TruncatedExponential else {}
        np.testing.assert_array_equal(kind(embedding, 1e12, **options).perturb_ids(ids), ids)
        assert len(np.unique(kind(embedding, 1e-100).perturb_ids(np.repeat(ids, 50)))) == 60
