"""Uniforms, exponentials, Gumbels and integers follow their laws, and wrong samplers are caught.

Kolmogorov-Smirnov with n = 1,000,000 and α = 1e-6 each: the critical distance is 0.0027. The planted mistakes are
at least 0.005 away, which a sample of this size misses with a probability below 1e-6.
"""

import math
from collections.abc import Callable

import numpy as np
import pytest
import scipy.stats
from numpy.typing import NDArray

import wordveil as wv

N = 1_000_000
ALPHA = 1e-6
CRITICAL = math.sqrt(-math.log(ALPHA / 2.0) / 2.0 / N)
Draw = Callable[[wv.Stream], NDArray[np.float64]]
LAWS: dict[str, tuple[Draw, Callable[..., NDArray[np.float64]]]] = {
    "uniforms": (lambda stream: stream.uniforms((N,)), scipy.stats.uniform.cdf),
    "exponentials": (lambda stream: stream.exponentials((N,)), scipy.stats.expon.cdf),
    "gumbels": (lambda stream: stream.gumbels((N,)), scipy.stats.gumbel_r.cdf),
}
MISTAKES: dict[str, tuple[str, Draw]] = {
    "uniforms on [0, 0.99)": ("uniforms", lambda stream: 0.99 * stream.uniforms((N,))),
    "an exponential of another mean": ("exponentials", lambda stream: 1.02 * stream.exponentials((N,))),
    "a Gumbel of the other sign": ("gumbels", lambda stream: -stream.gumbels((N,))),
    "a Gumbel of another scale": ("gumbels", lambda stream: 1.03 * stream.gumbels((N,))),
    "a logistic for a Gumbel": (
        "gumbels",
        lambda stream: -np.log(1.0 / (1.0 - stream.uniforms((N,))) - 1 + 1e-300),
    ),
}


def distance(sample: NDArray[np.float64], law: Callable[..., NDArray[np.float64]]) -> float:
    return float(scipy.stats.kstest(sample, law).statistic)


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("make", [wv.secure_stream, lambda: wv.insecure_stream(5)], ids=["secure", "seeded"])
def test_the_law(kind: str, make: Callable[[], wv.Stream]) -> None:
    draw, law = LAWS[kind]
    sample = draw(make())
    assert sample.dtype == np.float64
    assert distance(sample, law) < CRITICAL
    assert (sample == sample.astype(np.float32)).mean() < 1e-3


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_planted_mistake_is_caught(mistake: str) -> None:
    kind, draw = MISTAKES[mistake]
    assert distance(draw(wv.insecure_stream(5)), LAWS[kind][1]) > CRITICAL


def chi_square(sample: NDArray[np.int64], high: int) -> float:
    counts = np.bincount(sample, minlength=high)
    assert len(counts) == high
    return float(scipy.stats.chisquare(counts).pvalue)


@pytest.mark.parametrize("high", [1, 2, 3, 1000, 65_537])
def test_integers(high: int) -> None:
    """Chi-square, α = 1e-6; a modulus of 16 bits, as below, is 2:1 off for half of the numbers."""
    assert high == 1 or chi_square(wv.secure_stream().integers(high, (N,)), high) > ALPHA
    assert wv.secure_stream().integers(high, (10,)).max() < high


def test_a_biased_modulus_is_caught() -> None:
    """2¹⁶ mod 40,000: the first 25,536 numbers come twice as often."""
    raw = wv.insecure_stream(5).integers(1 << 16, (N,))
    assert chi_square(raw % 40_000, 40_000) < ALPHA


def test_the_largest_of_scores_and_gumbels_is_drawn_in_proportion() -> None:
    """What the exponential mechanism needs: Pr[i] ∝ exp(score i). Chi-square, n = 200,000, α = 1e-6."""
    scores = np.array([0.0, -1.0, -2.5, -4.0, 0.3])
    stream = wv.secure_stream()
    chosen = (scores + stream.gumbels((200_000, 5))).argmax(axis=1)
    weights = np.exp(scores) / np.exp(scores).sum()
    assert scipy.stats.chisquare(np.bincount(chosen, minlength=5), weights * len(chosen)).pvalue > ALPHA
    wrong = np.exp(1.03 * scores) / np.exp(1.03 * scores).sum()
    assert scipy.stats.chisquare(np.bincount(chosen, minlength=5), wrong * len(chosen)).pvalue < ALPHA
