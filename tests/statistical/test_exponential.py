"""Draws of the exponential mechanisms follow their closed form, by χ².

Level: each test rejects correct draws with probability at most 1e-6. n = 400,000 draws for each of three inputs.
Power: with V = 40 words, a χ² with about 39 degrees of freedom finds a deviation Σ(p - q)²/p of 0.0004 with
probability above 0.99; an ε that is 5% off deviates by more, and so do the mistakes that are planted below.
"""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import wordveil as wv
from wordveil.mechanisms import Exponential, TruncatedExponential, exponential_law
from wordveil.mechanisms.exponential_law import ExponentialLaw

DRAWS = 400_000
ALPHA = 1e-6
WORDS = 40
INPUTS = (0, 17, -1)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Draw = Callable[[Ints, wv.Stream], Ints]


@pytest.fixture(scope="module")
def embedding() -> wv.Embedding:
    vectors = np.random.default_rng(12).normal(size=(WORDS, 3))
    return wv.Embedding([f"w{i}" for i in range(WORDS)], vectors, public=True)


def fits(draw: Draw, probabilities: Floats, seed: int) -> bool:
    """Say whether the draws of all inputs follow their probabilities."""
    stream, level = wv.insecure_stream(seed), ALPHA / len(INPUTS)
    for word, row in zip(INPUTS, probabilities, strict=True):
        counts = np.bincount(draw(np.full(DRAWS, word), stream), minlength=WORDS)
        rare = row * DRAWS < 10.0
        observed = np.append(counts[~rare], counts[rare].sum())
        shares = np.append(row[~rare], row[rare].sum())
        kept = shares > 0.0
        assert counts[rare].sum() == 0 or shares[-1] > 0.0
        if stats.chisquare(observed[kept], shares[kept] * DRAWS).pvalue < level:
            return False
    return True


@pytest.mark.parametrize("kind", [Exponential, TruncatedExponential])
@pytest.mark.parametrize("epsilon", [0.5, 3.0, 12.0])
@pytest.mark.parametrize("patience", [4, 1 << 40], ids=["by proposals", "by all weights"])
def test_draws_follow_the_formula(
    kind: type[Exponential],
    epsilon: float,
    patience: int,
    embedding: wv.Embedding,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where all weights are computed after the first few proposals."""
    monkeypatch.setattr(exponential_law, "_PATIENCE", patience)
    monkeypatch.setattr(exponential_law, "_FIRST", 1)
    mechanism = kind(embedding, epsilon, 1.0)
    assert fits(mechanism.law.draw, mechanism.probabilities(INPUTS), 5)


class Misses(ExponentialLaw):
    """Proposes w itself once too often: the uniform proposals are accepted besides."""

    def _before_itself(self, ids: Ints, lows: Floats, stream: wv.Stream) -> Ints:
        limits = stream.exponentials((len(ids),))
        ratio = np.exp(self.rate * lows) / self.white.count  # exp in place of exp - 1
        return np.floor(limits / np.log1p(np.where(ids < 0, 1e-12, ratio))).astype(np.int64)


class Floors(ExponentialLaw):
    """Takes the distance to the nearest other word 10% too large, so close words are too rare."""

    def _accepted(self, ids: Ints, words: Ints, lows: Floats, limits: Floats) -> Ints:
        return super()._accepted(ids, words, 1.1 * lows, limits)


class Last(ExponentialLaw):
    """Forgets that w itself is always accepted among the uniform proposals, beside its own."""

    def _accepted(self, ids: Ints, words: Ints, lows: Floats, limits: Floats) -> Ints:
        accepted = super()._accepted(ids, words, lows, limits)
        return np.asarray(accepted[ids[accepted] != words[accepted]])


@pytest.mark.parametrize("mistake", [Misses, Floors, Last])
def test_planted_mistakes_are_caught(mistake: type[ExponentialLaw], embedding: wv.Embedding) -> None:
    mechanism = Exponential(embedding, 3.0, 1.0)
    law = mistake(mechanism._white, 1.5)
    assert not fits(law.draw, mechanism.probabilities(INPUTS), 5)


def test_an_epsilon_that_is_off_by_5_percent_is_caught(embedding: wv.Embedding) -> None:
    mechanism = Exponential(embedding, 3.0, 1.0)
    for times in (0.95, 1.05):
        assert not fits(Exponential(embedding, 3.0 * times, 1.0).law.draw, mechanism.probabilities(INPUTS), 5)


def test_on_the_default_vectors(glove: wv.Embedding) -> None:
    """A word that stays about half of the time: how often it does, and its 30 likeliest other answers."""
    mechanism = Exponential(glove, 2.4)
    word = glove.id_of("tea")
    assert word is not None
    row = mechanism.probabilities(word)
    order = np.argsort(-row)[:30]
    counts = np.bincount(mechanism.perturb_ids(np.full(50_000, word)), minlength=len(glove))
    observed = np.append(counts[order], 50_000 - counts[order].sum())
    shares = np.append(row[order], 1.0 - row[order].sum())
    assert shares[0] > 0.05
    assert stats.chisquare(observed, shares * 50_000).pvalue > ALPHA


@pytest.mark.parametrize("patience", [4, 1 << 40], ids=["by proposals", "by all weights"])
def test_a_word_beyond_gamma_stays_no_more_often_than_promised(
    patience: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """γ = log 2, and all words are further apart than that: each is then answered with its closed form."""
    monkeypatch.setattr(exponential_law, "_PATIENCE", patience)
    far = wv.Embedding(["a", "b", "c"], [[0.0], [1.0], [100.0]], public=True)
    mechanism = TruncatedExponential(far, 2.0, beta=0.5)
    assert mechanism.gamma == pytest.approx(np.log(2.0))
    shares = mechanism.probabilities(np.arange(3))
    np.testing.assert_allclose(shares, np.full((3, 3), 0.25) + 0.25 * np.eye(3))
    stream = wv.insecure_stream(8)
    for word, row in enumerate(shares):
        counts = np.bincount(mechanism.perturb_ids(np.full(DRAWS, word), stream=stream), minlength=3)
        assert stats.chisquare(counts, row * DRAWS).pvalue > ALPHA / 3
