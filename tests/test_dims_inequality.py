"""What a projection onto k principal axes does to distances: exactly, and on real and random vectors.

In the eigenbasis, ‖x‖² is Σ x_i²/(λμ_i+1-λ). After the projection it is Σ_{i≤k} x_i²/(λρμ_i+1-λ), where
ρ = k/(μ₁+…+μ_k). The claim: the second is at most K² times the first, K² = (λμ₁+1-λ)/(λρμ₁+1-λ).
"""

import random
from fractions import Fraction

import numpy as np
import pytest

import wordveil as wv
from wordveil.metric import projection_factor

Numbers = list[Fraction]


def norms(x: Numbers, mu: Numbers, lam: Fraction, k: int) -> tuple[Fraction, Fraction]:
    """Return the squared norm before and after a projection; `mu` is in descending order, with mean 1."""
    rho = Fraction(k) / sum(mu[:k])
    before = sum((a * a / (lam * m + 1 - lam) for a, m in zip(x, mu, strict=True)), Fraction(0))
    after = sum((a * a / (lam * rho * m + 1 - lam) for a, m in zip(x[:k], mu[:k], strict=True)), Fraction(0))
    return before, after


def squared_factor(mu: Numbers, lam: Fraction, k: int, place: int = 0) -> Fraction:
    rho = Fraction(k) / sum(mu[:k])
    return (lam * mu[place] + 1 - lam) / (lam * rho * mu[place] + 1 - lam)


def exact_cases(count: int) -> list[tuple[Numbers, Numbers, Fraction, int]]:
    draw = random.Random(7)
    cases = []
    for _ in range(count):
        m = draw.randint(2, 7)
        raw = sorted((Fraction(draw.randint(1, 1000)) for _ in range(m)), reverse=True)
        mu = [value * m / sum(raw) for value in raw]
        x = [Fraction(draw.randint(-50, 50)) for _ in range(m)]
        lam = Fraction(draw.randint(0, 20), 20)
        cases.append((x, mu, lam, draw.randint(1, m)))
    return cases


def test_the_inequality_holds_exactly_in_rational_numbers() -> None:
    """Without rounding, in 2,000 cases; on the first axis alone it is an equality."""
    for x, mu, lam, k in exact_cases(2000):
        before, after = norms(x, mu, lam, k)
        assert after <= squared_factor(mu, lam, k) * before
        first = [Fraction(1)] + [Fraction(0)] * (len(mu) - 1)
        before, after = norms(first, mu, lam, k)
        assert after == squared_factor(mu, lam, k) * before
        if lam == 0:
            assert squared_factor(mu, lam, k) == 1


def test_a_smaller_factor_would_be_wrong() -> None:
    """The factor of another axis than the first, planted: some case violates it."""
    violated = 0
    for _, mu, lam, k in exact_cases(200):
        first = [Fraction(1)] + [Fraction(0)] * (len(mu) - 1)
        before, after = norms(first, mu, lam, k)
        violated += after > squared_factor(mu, lam, k, place=k - 1) * before
    assert violated > 50


@pytest.mark.parametrize("lam", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("k", [1, 10, 25, 150])
def test_on_the_default_vectors(glove: wv.Embedding, lam: float, k: int) -> None:
    """Over pairs of real words, and along the first axis, where the factor is attained."""
    projected = glove.project(k)
    full, few = wv.Metric.from_embedding(glove, lam), wv.Metric.from_embedding(projected, lam)
    pairs = np.random.default_rng(3).integers(0, len(glove), (2, 3000))
    pairs = pairs[:, pairs[0] != pairs[1]]
    before = full.distance(glove.vectors[pairs[0]], glove.vectors[pairs[1]])
    after = few.distance(projected.vectors[pairs[0]], projected.vectors[pairs[1]])
    factor = projection_factor(glove, lam, k)
    assert (np.asarray(after) <= factor * np.asarray(before) * (1 + 1e-5)).all()
    axis = glove.spectrum.axes[:, -1]
    along = np.zeros(k)
    along[0] = 1.0
    ratio = float(few.norm(along)) / float(full.norm(axis))
    assert ratio == pytest.approx(factor, rel=1e-4)
    if lam == 0.0:
        assert factor == 1.0
        assert (np.asarray(after) <= np.asarray(before) * (1 + 1e-5)).all()
    if (lam, k) == (1.0, 25):
        assert factor == pytest.approx(2.08, abs=0.01)


@pytest.mark.parametrize("seed", range(10))
def test_on_random_vectors(seed: int) -> None:
    random_numbers = np.random.default_rng(seed)
    count, dims = int(random_numbers.integers(30, 200)), int(random_numbers.integers(2, 12))
    stretch = random_numbers.exponential(size=dims) + 0.01
    vectors = random_numbers.normal(size=(count, dims)) * stretch
    emb = wv.Embedding([f"w{number}" for number in range(count)], vectors, public=True)
    k, lam = int(random_numbers.integers(1, dims + 1)), float(random_numbers.uniform())
    projected = emb.project(k)
    before = wv.Metric.from_embedding(emb, lam).pairwise(emb.vectors, emb.vectors)
    after = wv.Metric.from_embedding(projected, lam).pairwise(projected.vectors, projected.vectors)
    assert (after <= projection_factor(emb, lam, k) * before * (1 + 1e-5) + 1e-6).all()
