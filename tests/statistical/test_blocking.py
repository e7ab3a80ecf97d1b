"""The law of the answers with a block list is the exact one, and two tempting mistakes are caught.

Words on a line, so that the law of the noise is Laplace's and the probability of an answer is a sum over intervals
of the noisy point v. The intervals of an answer are found on a grid of v by the definition of the answer; they are
off by 1e-5 in probability. Chi-square, n = 200,000 draws per word, α = 1e-6 for each of 7 words.

Power: both mistakes move the share of some answer by more than 0.03, which is 30 standard errors.
"""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import wordveil as wv
from tests.own_mechanisms import WithoutGuarantee
from wordveil.embedding.map_fit import MapOptions
from wordveil.embedding.maps import described_map
from wordveil.mechanisms.answers import ANSWERS, PRIOR_POWER, AnswerName
from wordveil.prior import default_prior

DRAWS = 200_000
ALPHA = 1e-6
EPSILON = 1.5
PLACES = np.array([0.0, 0.8, 1.7, 2.3, 3.1, 4.4, 5.0])
MEANINGS = np.array([[1, 0], [1, 0.4], [0.2, 1], [1, 1], [0, 1], [-1, 0.5], [-0.3, 1]], float)
BLOCKED = wv.BlockList(["w2", "w5"], public=True)
ALLOWED = np.array([0, 1, 3, 4, 6])
GRID = np.linspace(-12.0, 17.0, 290_001)

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Perturb = Callable[[Ints, wv.Stream], Ints]


@pytest.fixture(scope="module")
def line() -> wv.Embedding:
    """Words on a line, which is a map of their meanings in the plane."""
    parent = wv.Embedding([f"w{i}" for i in range(7)], MEANINGS, public=True)
    places = PLACES[:, None].astype(np.float32)
    return described_map(parent, places, "toy", "neighbours", MapOptions(), "", None)


def answers_on_the_grid(embedding: wv.Embedding, answer: AnswerName) -> Ints:
    """Return the allowed answer to each v of the grid, from the definitions."""
    places = embedding.vectors[:, 0].astype(float)
    values = -EPSILON * np.abs(GRID[:, None] - places)
    if answer != "nearest":
        values += PRIOR_POWER * np.log(default_prior(embedding).shares[:-1])
    if answer == "closest":
        units = MEANINGS / np.linalg.norm(MEANINGS, axis=1, keepdims=True)
        values = np.exp(values - values.max(axis=1, keepdims=True)) @ units @ units.T
    return np.asarray(ALLOWED[values[:, ALLOWED].argmax(axis=1)])


def laws(embedding: wv.Embedding, answer: AnswerName) -> Floats:
    """Return the probability of each answer to each word, a row per word."""
    middles, answers = (GRID[1:] + GRID[:-1]) / 2.0, answers_on_the_grid(embedding, answer)
    rows = []
    for place in embedding.vectors[:, 0].astype(float):
        below = stats.laplace.cdf(middles, place, 1.0 / EPSILON)
        masses = np.diff(np.concatenate(([0.0], below, [1.0])))
        rows.append(np.bincount(answers, masses, minlength=7))
    return np.array(rows)


def p_value(perturb: Perturb, expected: Floats, word: int, seed: int) -> float:
    """Return how likely a deviation as large as this is; 0 if an answer has come that has no probability."""
    counts = np.bincount(perturb(np.full(DRAWS, word), wv.insecure_stream(seed)), minlength=7)
    possible = expected > 0.0
    if counts[~possible].any():
        return 0.0
    return float(stats.chisquare(counts[possible], expected[possible] / expected.sum() * DRAWS).pvalue)


@pytest.mark.parametrize("answer", ANSWERS)
def test_the_law_of_additive_mechanisms(line: wv.Embedding, answer: AnswerName) -> None:
    mechanism = wv.Laplace(line, EPSILON, answer=answer, blocked=BLOCKED)
    for word, expected in enumerate(laws(line, answer)):
        perturb = lambda ids, s: mechanism.perturb_ids(ids, stream=s)  # noqa: E731  # one line is clearer
        assert p_value(perturb, expected, word, word) > ALPHA
        assert expected[[2, 5]].sum() == 0.0


class Redraws(wv.Laplace):
    """Draws noise again until the nearest word is allowed: the law of the noise is no longer that of the proof."""

    def _perturb(self, ids: Ints, stream: wv.Stream) -> Ints:
        answers, mask = self._search.nearest(self._noisy_points(ids, stream)), BLOCKED.mask(self.embedding)
        while (left := np.flatnonzero(mask[answers])).size:
            answers[left] = self._search.nearest(self._noisy_points(ids[left], stream))
        return answers


class KeepsTheInput(wv.Laplace):
    """Answers a blocked word if it is the input: the candidates depend on the word."""

    def perturb_ids(self, ids: Ints, *, stream: wv.Stream | None = None) -> Ints:  # type: ignore[override]
        stays = self.blocking(None)
        assert stream is not None
        points = self._noisy_points(ids, stream)
        nearest, allowed = stays._nearest(points), self._nearest(points)
        return np.where(BLOCKED.mask(self.embedding)[ids] & (nearest == ids), ids, allowed)


class MapsTheAnswer(wv.Laplace):
    """Private as well, but not the nearest allowed word to the noisy point."""

    def _perturb(self, ids: Ints, stream: wv.Stream) -> Ints:
        return self._search.nearest(self._noisy_points(ids, stream))


@pytest.mark.parametrize("planted", [Redraws, KeepsTheInput, MapsTheAnswer])
def test_planted_mistakes_are_caught(line: wv.Embedding, planted: type[wv.Laplace]) -> None:
    mechanism = planted(line, EPSILON, blocked=BLOCKED)
    perturb = lambda ids, s: mechanism.perturb_ids(ids, stream=s)  # noqa: E731  # one line is clearer
    p_values = [p_value(perturb, row, word, word) for word, row in enumerate(laws(line, "nearest"))]
    assert min(p_values) < ALPHA


class Exponential(WithoutGuarantee):
    """Pr[M(w) = u] ∝ exp(-(ε/2)·d(w, u)), by the inverse of its distribution function."""

    def __init__(self, embedding: wv.Embedding) -> None:
        self.embedding = embedding
        weights = np.exp(-EPSILON / 2.0 * np.abs(PLACES[:, None] - PLACES))
        self.table = weights / weights.sum(axis=1, keepdims=True)

    def parameters(self) -> dict[str, float]:  # type: ignore[override]  # a dict of floats is one of JSON
        return {"epsilon": EPSILON}

    def _perturb(self, ids: Ints, stream: wv.Stream) -> Ints:
        sums = self.table.cumsum(axis=1)
        return np.asarray(np.minimum((stream.uniforms((len(ids),))[:, None] >= sums[ids]).sum(axis=1), 6))


class DrawsAgain(Exponential):
    """Draws another answer until it is allowed."""

    def _perturb(self, ids: Ints, stream: wv.Stream) -> Ints:
        answers, mask = super()._perturb(ids, stream), BLOCKED.mask(self.embedding)
        while (left := np.flatnonzero(mask[answers])).size:
            answers[left] = super()._perturb(ids[left], stream)
        return answers


class AnswersTheInput(Exponential):
    """Replaces a blocked answer, unless it is the input."""

    def _cleaned(self, answers: Ints) -> Ints:
        return np.where(answers == 2, answers, super()._cleaned(answers))  # w2 is the input of the test


def mapped_law(table: Floats, word: int) -> Floats:
    """Return the law of the mapped answers: w2 goes to w3 at distance 0.6, and w5 to w6 at the same distance."""
    return np.asarray(np.bincount([0, 1, 3, 3, 4, 6, 6], table[word], minlength=7), np.float64)


def test_the_law_of_other_mechanisms(line: wv.Embedding) -> None:
    mechanism = Exponential(line).blocking(BLOCKED)
    for word in range(7):
        perturb = lambda ids, s: mechanism.perturb_ids(ids, stream=s)  # noqa: E731  # one line is clearer
        assert p_value(perturb, mapped_law(mechanism.table, word), word, word) > ALPHA


@pytest.mark.parametrize("planted", [DrawsAgain, AnswersTheInput])
def test_planted_mistakes_in_the_map_are_caught(line: wv.Embedding, planted: type[Exponential]) -> None:
    mechanism = planted(line).blocking(BLOCKED)
    perturb = lambda ids, s: mechanism.perturb_ids(ids, stream=s)  # noqa: E731  # one line is clearer
    assert p_value(perturb, mapped_law(mechanism.table, 2), 2, 1) < ALPHA
