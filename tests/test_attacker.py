"""S against exact integrals and a brute-force attack, with planted mistakes; the ends of float64; no closed form.

Every truth is computed here from the raw vectors, by its definition. Seeds are fixed. Level: an interval of
`guess_rate` reaches three standard errors to each side, so a correct S misses the truth with probability 0.003.
Power: at n = 40,000 draws it is 0.01 to 0.02 wide; the planted mistakes move S by 0.03 or more.
"""

import math
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.spatial.distance import cdist

import wordveil as wv
from tests.own_mechanisms import WithoutGuarantee
from wordveil import attacker
from wordveil.attacker import GuessRate, guess_from_answers, guess_rate, word_exposures
from wordveil.mechanisms.channel import AdditiveChannel, squared_distances
from wordveil.mechanisms.places import search_of
from wordveil.nearest.automatic import AutomaticSearch
from wordveil.nearest.single import SingleSearch
from wordveil.nearest.threads import one_thread

Floats = NDArray[np.float64]
N = 40_000
SETTINGS = [(1, 0.0), (1, 1.0), (2, 0.0), (2, 1.0)]  # dimensions, λ
EPSILON = 1.5
# Long and narrow, so that λ matters. All are multiples of 1/16: exact in float32, even beside 1e6.
POINTS = np.array([[0.75, 1], [4, 1], [-4, -0.5], [1.5, -1], [-1, 0.5], [0.5, 0.125], [2.75, 0.125]])
SHARES = np.array([0.25, 0.02, 0.08, 0.14, 0.06, 0.10, 0.05, 0.30])  # the last is that of the centroid


def toy(points: Floats) -> wv.Embedding:
    return wv.Embedding([f"w{i}" for i in range(len(points))], points, public=True)


@cache
def vocabulary(dim: int) -> wv.Embedding:
    return toy(POINTS[:, :dim])


def skewed() -> wv.Prior:
    return wv.Prior("skewed", SHARES)


@pytest.fixture(scope="module")
def ten(glove: wv.Embedding) -> wv.Embedding:
    return glove.project(10)


def random_vocabulary(words: int, dim: int = 3) -> wv.Embedding:
    return toy(np.random.default_rng(words).normal(size=(words, dim)))


def whitener(vectors: Floats, lam: float) -> Floats:
    """Return a matrix L with ‖x‖_RM = ‖L x‖, from the definition of A."""
    covariance = np.atleast_2d(np.cov(vectors, rowvar=False))
    dim = len(covariance)
    matrix = lam * covariance * dim / np.trace(covariance) + (1.0 - lam) * np.eye(dim)
    return np.asarray(np.linalg.cholesky(np.linalg.inv(matrix)).T)


class Exact:
    """Pr[v in a cell of a fine grid | word], for each word and the centroid: densities[word, cell]."""

    def __init__(self, dim: int, lam: float) -> None:
        vectors = vocabulary(dim).vectors.astype(np.float64)
        self.places = np.vstack((vectors, vectors.mean(axis=0)))
        root = whitener(vectors, lam)
        reach, count = 24.0 / EPSILON, {1: 200_001, 2: 900}[dim]
        axes = [np.linspace(row.min() - reach, row.max() + reach, count) for row in vectors.T]
        self.grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, dim)
        cell = math.prod(axis[1] - axis[0] for axis in axes)
        constant = {1: EPSILON / 2.0, 2: EPSILON**2 / (2.0 * np.pi)}[dim] * abs(np.linalg.det(root))
        distances = [np.linalg.norm((self.grid - place) @ root.T, axis=1) for place in self.places]
        self.densities = constant * cell * np.exp(-EPSILON * np.array(distances))
        assert np.abs(self.densities.sum(axis=1) - 1.0).max() < 2e-4
        self.joint = SHARES[:, None] * self.densities

    def success(self) -> float:
        return float(self.joint.max(axis=0).sum())

    def nearest(self) -> NDArray[np.int64]:
        return np.asarray(cdist(self.grid, self.places[:-1]).argmin(axis=1))

    def success_from_answers(self) -> float:
        answers = self.nearest()
        return float(sum(self.joint[:, answers == answer].sum(axis=1).max() for answer in range(len(POINTS))))


@cache
def exact(dim: int, lam: float) -> Exact:
    return Exact(dim, lam)


def agrees(rate: GuessRate, truth: float) -> bool:
    assert rate.exact
    assert rate.success.high - rate.success.low < 0.02
    return rate.success.low <= truth <= rate.success.high


@pytest.mark.parametrize(("dim", "lam"), SETTINGS)
@pytest.mark.parametrize("seed", [0, 1])
def test_it_is_the_exact_integral(dim: int, lam: float, seed: int) -> None:
    mechanism = wv.Mahalanobis(vocabulary(dim), EPSILON, lam)
    rate = guess_rate(mechanism, skewed(), draws=N, stream=wv.insecure_stream(seed))
    assert agrees(rate, exact(dim, lam).success())
    assert (rate.alone, rate.draws) == (0.30, N)


right = AdditiveChannel.log_likelihoods
MISTAKES: dict[str, Callable[[AdditiveChannel, Floats, slice], Floats]] = {
    "prior squared": lambda channel, seen, words: right(channel, seen, words) + np.log(SHARES[words]),
    "λ ignored": lambda channel, seen, words: -EPSILON * cdist(seen, channel.places[words]),
    "ε doubled": lambda channel, seen, words: 2.0 * right(channel, seen, words),
    "no centroid": lambda channel, seen, words: right(channel, seen, words) - 1e9 * (np.arange(8)[words] > 6),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_planted_mistakes_are_caught(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AdditiveChannel, "log_likelihoods", MISTAKES[mistake])
    rate = guess_rate(wv.Mahalanobis(vocabulary(2), EPSILON, 1.0), skewed(), draws=N)
    assert not agrees(rate, exact(2, 1.0).success())


def brute_force(vectors: Floats, shares: Floats, epsilon: float, lam: float, draws: int) -> int:
    """Return how many of the words that were drawn the best guess names, by plain differences in float64."""
    rng = np.random.default_rng(17)
    root = whitener(vectors, lam)
    dim = len(root)
    white = (np.vstack((vectors, vectors.mean(axis=0))) @ root.T).T.copy()
    words = rng.choice(len(shares), size=draws, p=shares)
    unit = rng.normal(size=(draws, dim))  # in white coordinates the noise is spherical
    unit /= np.linalg.norm(unit, axis=1, keepdims=True)
    noise = unit * rng.gamma(dim, 1.0 / epsilon, size=(draws, 1))
    hits, logs = 0, np.log(shares)
    for word, z in zip(words, noise, strict=True):
        difference = white - (white[:, word] + z)[:, None]
        hits += int(np.argmax(logs - epsilon * np.sqrt((difference * difference).sum(axis=0))) == word)
    return hits


@pytest.mark.parametrize(("lam", "epsilon"), [(0.0, 6.0), (1.0, 5.0)])
def test_it_is_the_success_of_a_brute_force_attack(ten: wv.Embedding, lam: float, epsilon: float) -> None:
    """n = 2,000 attacks, two-sided, α = 1e-4; an ε that is 25% off is caught with probability 0.99."""
    prior, draws = wv.Prior.english(ten), 2000
    share = brute_force(ten.vectors.astype(np.float64), prior.shares, epsilon, lam, draws) / draws
    limit = float(stats.norm.isf(0.5e-4)) * math.sqrt(share * (1.0 - share) / draws)

    def measured(factor: float) -> float:
        return guess_rate(wv.Mahalanobis(ten, factor * epsilon, lam), prior).success.share

    assert abs(measured(1.0) - share) < limit
    assert all(abs(measured(factor) - share) > limit for factor in (0.75, 1.25, 2.0))


def test_known_values(glove: wv.Embedding, ten: wv.Embedding) -> None:
    prior = wv.Prior.english(ten)
    for embedding, epsilon, known in ((ten, 6.0, 0.31), (glove.project(15), 6.2, 0.33), (ten, 1e39, 1.0)):
        rate = guess_rate(wv.Laplace(embedding, epsilon), prior)
        assert rate.success.share == pytest.approx(known, abs=0.015)
        assert rate.success.low > rate.success.share - 0.03
        assert rate.alone == pytest.approx(0.054, abs=0.001)


@pytest.mark.parametrize("dim", [1, 2])
@pytest.mark.parametrize("lam", [0.0, 1.0])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_huge_and_tiny_epsilon(dim: int, lam: float, shift: float) -> None:
    """Warnings are errors, so that nothing overflows either."""
    embedding = toy(POINTS[:, :dim] + shift)
    for epsilon in (1e9, 1e39, 1e100):
        mechanism = wv.Mahalanobis(embedding, epsilon, lam)
        assert guess_rate(mechanism, skewed()).success.share == 1.0
        assert (word_exposures(mechanism, skewed(), np.arange(7)).largest == 1.0).all()
    alone = guess_rate(wv.Mahalanobis(embedding, 1e-100, lam), skewed()).success
    assert alone.share == pytest.approx(0.30, abs=1e-12)


@pytest.mark.parametrize("lam", [0.0, 1.0])
def test_where_the_origin_is_does_not_matter(lam: float) -> None:
    near, far = (wv.Mahalanobis(toy(POINTS + shift), EPSILON, lam) for shift in (0.0, 1e6))
    assert guess_rate(far, skewed()).success == pytest.approx(guess_rate(near, skewed()).success, abs=1e-6)


def test_equal_vectors_can_not_be_told_apart() -> None:
    embedding = toy(np.vstack((POINTS[:5], POINTS[:2])))
    rate = guess_rate(wv.Laplace(embedding, 1e39), skewed(), draws=N)
    assert agrees(rate, 1.0 - min(SHARES[0], SHARES[5]) - min(SHARES[1], SHARES[6]))


def test_close_points_keep_their_digits() -> None:
    rng = np.random.default_rng(5)
    rows = rng.normal(size=(50, 4))
    steps = 10.0 ** rng.uniform(-12.0, 1.0, size=(50, 1))
    points = rows + steps * rng.normal(size=(50, 4))
    expected = ((points[:, None].astype(np.longdouble) - rows) ** 2).sum(axis=2).astype(np.float64)
    assert squared_distances(points, rows) == pytest.approx(expected, rel=1e-8, abs=0.0)
    assert np.array_equal(np.diag(squared_distances(rows, rows)), np.zeros(50))


@pytest.mark.parametrize("lam", [0.0, 1.0])
def test_single_words_by_the_exact_integral(lam: float) -> None:
    """n = 10,000 draws for each word, α = 1e-6 for each share. The centroid is one of the words."""
    truth, draws = exact(2, lam), 10_000
    ids = np.array([*range(7), -1])
    exposures = word_exposures(wv.Mahalanobis(vocabulary(2), EPSILON, lam), skewed(), ids, draws=draws)
    named, likeliest = (np.argmax(table, axis=0) for table in (truth.joint, truth.densities))
    for shares, guesses in zip(exposures[:3], (named, likeliest, truth.nearest()), strict=True):
        expected = np.array([truth.densities[word, guesses == word].sum() for word in range(8)])
        limits = 4.9 * np.sqrt(expected * (1.0 - expected) / draws) + 2e-3  # the grid's own error
        assert (np.abs(shares - expected) < limits).all()
    assert np.array_equal(exposures.largest, np.max(exposures[:3], axis=0))


@pytest.mark.parametrize("lam", [0.0, 1.0])
def test_who_sees_only_answers_knows_less(lam: float) -> None:
    truth = exact(2, lam)
    share = guess_from_answers(wv.Mahalanobis(vocabulary(2), EPSILON, lam), skewed(), draws=N)
    best = truth.success_from_answers()
    assert share.low <= best + 2e-3
    assert share.share > best - 0.01  # with so many draws, the best rule is learned
    assert best < truth.success() - 0.03


def test_answers_of_the_default_vectors(ten: wv.Embedding) -> None:
    mechanism, prior = wv.Laplace(ten, 6.0), wv.Prior.english(ten)
    share, rate = guess_from_answers(mechanism, prior), guess_rate(mechanism, prior)
    assert 0.18 < share.share < share.high < rate.success.low  # without the formula at most 0.16


class Response(WithoutGuarantee):
    """No closed form: words stay with that probability, else they and the centroid are answered at random."""

    def __init__(self, embedding: wv.Embedding, stay: float = 0.5) -> None:
        self.embedding, self.stay = embedding, stay

    def parameters(self) -> dict[str, Any]:
        return {}

    def _perturb(self, ids: NDArray[np.int64], stream: wv.Stream) -> NDArray[np.int64]:
        stays = (stream.uniforms(ids.shape) < self.stay) & (ids >= 0)
        return np.where(stays, ids, stream.integers(len(self.embedding), ids.shape))


def test_bounds_without_a_closed_form() -> None:
    """α = 1e-6: of 200 bounds of a confidence of 97.5%, at least that many are on their side of S."""
    chances = np.vstack((0.5 * np.eye(7) + 0.5 / 7.0, np.full(7, 1.0 / 7.0)))
    truth = (SHARES[:, None] * chances).max(axis=0).sum()
    streams = map(wv.insecure_stream, range(200))
    rates = [guess_rate(Response(vocabulary(2)), skewed(), draws=1000, stream=stream) for stream in streams]
    shares = [rate.success for rate in rates if not rate.exact]
    sides = sum(share.low <= truth for share in shares), sum(share.high >= truth for share in shares)
    assert min(sides) >= stats.binom.ppf(1e-6, 200, 0.975)
    assert all(share.low <= share.share <= share.high < truth + 0.12 for share in shares)
    assert np.mean([share.share for share in shares]) == pytest.approx(truth, abs=0.01)


def test_answers_that_tell_nothing() -> None:
    """The best guess is the most frequent word, also for answers that were too rare to learn from."""
    embedding = random_vocabulary(1500)
    prior = wv.Prior.by_rank(embedding)
    assert guess_from_answers(Response(embedding, stay=0.0), prior).high > prior.guess


# Answers that are the word itself: by noise, by points and by ids.
CHANGES: dict[str, Callable[..., Any]] = {
    "_perturb": lambda self, ids, stream: np.maximum(ids, 0),
    "_noisy_points": lambda self, ids, stream: self._places[ids],
    "perturb_ids": lambda self, ids, *, stream: np.maximum(ids, 0),
}


@pytest.mark.parametrize("mixed_in", [False, True])
@pytest.mark.parametrize("name", CHANGES)
def test_an_inherited_closed_form_is_not_trusted(name: str, mixed_in: bool) -> None:
    change = {name: CHANGES[name]}
    bases = (type("Mixin", (), change), wv.Laplace) if mixed_in else (wv.Laplace,)
    mechanism = type("Changed", bases, {} if mixed_in else change)(vocabulary(2), 1e-6)
    assert isinstance(mechanism.channel(), AdditiveChannel)
    assert mechanism.valid_channel() is None
    rate = guess_rate(mechanism, skewed())
    assert not rate.exact
    assert rate.success.low > 0.7  # all but the words outside, which look like another word
    assert (word_exposures(mechanism, skewed(), np.arange(7)).unchanged == 1.0).all()


def test_a_closed_form_is_kept_where_nothing_changes_and_where_it_changes_too() -> None:
    renamed = type("Renamed", (wv.Laplace,), {"name": "renamed"})
    both = type("Both", (wv.Laplace,), {"_perturb": CHANGES["_perturb"], "channel": wv.Laplace.channel})
    for kept in (renamed, both):
        assert isinstance(kept(vocabulary(2), 1.0).valid_channel(), AdditiveChannel)


def measured(mechanism: wv.Laplace, prior: wv.Prior) -> Iterator[Any]:
    yield guess_rate(mechanism, prior, draws=300).success
    yield guess_from_answers(mechanism, prior, draws=300)
    for shares in word_exposures(mechanism, prior, np.arange(30), draws=20)[:3]:
        yield tuple(shares)


def test_calls_blocks_and_threads_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    embedding = random_vocabulary(300)
    prior = wv.Prior.by_rank(embedding).content()  # the first block, of small ones, has no share at all
    mechanism = wv.Laplace(embedding, 4.0)
    expected = list(measured(mechanism, prior))
    assert list(measured(mechanism, prior)) == expected
    for rows, words in ((2000, 301), (30, 20), (1, 300)):
        monkeypatch.setattr(attacker, "_ROWS", rows)
        monkeypatch.setattr(attacker, "_WORDS", words)
        for threads in (nullcontext(), one_thread()):
            with threads:
                for result, before in zip(measured(mechanism, prior), expected, strict=True):
                    assert result == pytest.approx(before, rel=1e-12)


def test_measuring_builds_no_search() -> None:
    embedding = random_vocabulary(1500)
    mechanism, prior = wv.Laplace(embedding, 4.0), wv.Prior.by_rank(embedding)
    search = search_of(embedding, "cpu")
    assert isinstance(search, AutomaticSearch)
    guess_rate(mechanism, prior, draws=6000)
    assert vars(search)["_chosen"] is None
    word_exposures(mechanism, prior, np.arange(30), draws=200)
    guess_from_answers(mechanism, prior, draws=6000)
    assert isinstance(search._chosen, SingleSearch)
    assert (search._settled, search._points_seen) == (False, 0)
    mechanism.perturb_ids(np.zeros(6000, dtype=np.int64))
    assert search._settled


def test_bad_parameters() -> None:
    mechanism, other = wv.Laplace(vocabulary(2), 1.0), wv.Prior.uniform(random_vocabulary(6))
    for call in (guess_rate, guess_from_answers):
        with pytest.raises(wv.ParameterError, match="made from the mechanism's embedding"):
            call(mechanism, other)
        with pytest.raises(wv.ParameterError, match="'draws' parameter"):
            call(mechanism, skewed(), draws=1)
    with pytest.raises(wv.ParameterError, match="made from the mechanism's embedding"):
        word_exposures(mechanism, other, np.arange(3))
