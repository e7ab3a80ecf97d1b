"""Intervals: exact where the law is binomial, wide enough where it is anything in [0, 1].

Coverage is counted over n = 4,000 intervals. Level: α = 1e-6, for an interval with a coverage of exactly 95%.
Power: an interval that covers 90% passes with probability below 1e-20; the normal one is such a mistake.
"""

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from wordveil.intervals import Share, chernoff_share, clopper_pearson, mean_share

N, ALPHA, LEVEL = 4000, 1e-6, 0.95
Values = NDArray[np.float64]
Law = Callable[[np.random.Generator, int], Values]

# Each with its mean: mostly 0 and rarely 1, the reverse, a long tail, and the two values of a fair coin.
LAWS: dict[str, tuple[Law, float]] = {
    "rare": (lambda rng, size: (rng.random(size) < 0.02).astype(np.float64), 0.02),
    "rarely not": (lambda rng, size: (rng.random(size) >= 0.02).astype(np.float64), 0.98),
    "tail": (lambda rng, size: rng.beta(0.05, 1.0, size), 0.05 / 1.05),
    "coin": (lambda rng, size: (rng.random(size) < 0.5).astype(np.float64), 0.5),
}


def normal_interval(values: Values) -> Share:
    """A planted mistake: right only for many values of a law that is not skewed."""
    reach = 1.96 * float(values.std(ddof=1)) / math.sqrt(len(values))
    return Share(float(values.mean()), float(values.mean()) - reach, float(values.mean()) + reach)


def sides(interval: Callable[[Values], Share], name: str, draws: int) -> tuple[int, int]:
    """Return how many of N intervals begin below the mean, and how many end above it."""
    law, mean = LAWS[name]
    rng = np.random.default_rng(12)
    shares = [interval(law(rng, draws)) for _ in range(N)]
    return sum(share.low <= mean for share in shares), sum(share.high >= mean for share in shares)


@pytest.mark.parametrize("draws", [20, 100, 1000])
@pytest.mark.parametrize("name", LAWS)
def test_the_mean_is_covered_whatever_the_law(name: str, draws: int) -> None:
    below, above = sides(mean_share, name, draws)
    assert below + above - N >= stats.binom.ppf(ALPHA, N, LEVEL)
    assert min(below, above) >= stats.binom.ppf(ALPHA, N, (1.0 + LEVEL) / 2.0)


@pytest.mark.parametrize("draws", [20, 100, 1000])
@pytest.mark.parametrize("name", LAWS)
def test_chernoffs_interval_covers_the_mean_whatever_the_law(name: str, draws: int) -> None:
    below, above = sides(lambda values: chernoff_share(float(np.mean(values)), len(values)), name, draws)
    assert below + above - N >= stats.binom.ppf(ALPHA, N, LEVEL)
    assert min(below, above) >= stats.binom.ppf(ALPHA, N, (1.0 + LEVEL) / 2.0)


def test_chernoffs_interval_is_little_wider_than_that_of_coins() -> None:
    for hits in (0, 4, 42, 75, 146, 150):
        wide, exact = chernoff_share(hits / 150, 150), clopper_pearson(hits, 150)
        assert wide.low <= exact.low
        assert exact.high <= wide.high
        assert wide.high - wide.low < 1.35 * (exact.high - exact.low)


@pytest.mark.parametrize("name", ["rare", "rarely not", "tail"])
def test_a_normal_interval_is_caught(name: str) -> None:
    below, above = sides(normal_interval, name, 100)
    assert below + above - N < stats.binom.ppf(ALPHA, N, LEVEL)


def test_it_is_the_bound_of_maurer_and_pontil() -> None:
    """Theorem 4, for δ = 0.025 on each side: sqrt(2V·log(2/δ)/n) + 7·log(2/δ)/(3(n - 1))."""
    values = np.random.default_rng(1).random(2000)
    reach = math.sqrt(2.0 * values.var(ddof=1) * math.log(80.0) / 2000) + 7.0 * math.log(80.0) / (3.0 * 1999)
    mean = values.mean()
    assert mean_share(values) == pytest.approx((mean, mean - reach, mean + reach), rel=1e-12)
    wider = mean_share(values, level=0.99)
    assert wider.low < mean_share(values).low < mean_share(values).high < wider.high


def test_a_mean_stays_within_its_range() -> None:
    assert mean_share([0.0] * 100)[:2] == (0.0, 0.0)
    assert 0.0 < mean_share([0.0] * 100).high < 0.11
    assert mean_share([1.0] * 100)[::2] == (1.0, 1.0)
    assert 0.89 < mean_share([1.0] * 100).low < 1.0
    assert mean_share([0.5, 0.5]) == (0.5, 0.0, 1.0)
    assert mean_share([0.3]) == (0.3, 0.0, 1.0)  # one value says nothing


@pytest.mark.parametrize("draws", [1, 2, 25, 1000])
def test_no_hit_and_nothing_but_hits(draws: int) -> None:
    limit = 0.025 ** (1.0 / draws)
    assert clopper_pearson(0, draws) == pytest.approx((0.0, 0.0, 1.0 - limit), rel=1e-9)
    assert clopper_pearson(draws, draws) == pytest.approx((1.0, limit, 1.0), rel=1e-9)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_it_is_the_exact_interval_of_scipy(level: float) -> None:
    for draws in (1, 7, 25, 400):
        for hits in range(0, draws + 1, max(1, draws // 9)):
            exact = stats.binomtest(hits, draws).proportion_ci(level, method="exact")
            share = clopper_pearson(hits, draws, level)
            assert share == pytest.approx((hits / draws, exact.low, exact.high), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize(("draws", "share"), [(25, 0.03), (25, 0.5), (200, 0.01), (200, 0.85)])
def test_a_binomial_share_is_covered(draws: int, share: float) -> None:
    """Exactly, by the sum over all counts: no chance is involved. At a level of 50% it would be less."""

    def coverage(level: float) -> float:
        counts = np.arange(draws + 1)
        intervals = [clopper_pearson(int(hits), draws, level) for hits in counts]
        covers = np.array([interval.low <= share <= interval.high for interval in intervals])
        return float(stats.binom.pmf(counts, draws, share)[covers].sum())

    assert coverage(0.95) >= 0.95
    assert coverage(0.5) < 0.95
