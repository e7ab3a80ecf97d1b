"""The interval of `typical_stay` covers the true share as often as it says, even if words differ most.

A random half of the words of a vocabulary always stay and the others never do, so more draws of a word add
nothing: the true share is 1/2. The interval must cover it in at least MIN_COVERED of n = 400 such vocabularies.
Level: α = 1e-6, for an interval with a coverage of exactly 95%. Power: 500 words with 4 draws each, counted
like 2,000 independent ones, cover 70%, and pass with probability below 1e-15.
"""

from collections.abc import Callable
from typing import cast

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import wordveil as wv
from wordveil.evaluation.privacy import Share, clopper_pearson, typical_stay
from wordveil.mechanisms import Mechanism

N, ALPHA, LEVEL = 400, 1e-6, 0.95
MIN_COVERED = int(stats.binom.ppf(ALPHA, N, LEVEL))
LARGE = 20_000
Stay = Callable[[Mechanism, wv.Stream], Share]


class HalfStay:
    """Half of the words always stay, and the others never do."""

    def __init__(self, words: int, seed: int) -> None:
        self.embedding = range(words)
        self._stays = np.random.default_rng(seed).permutation(words) < words // 2

    def perturb_ids(self, ids: NDArray[np.int64], *, stream: wv.Stream) -> NDArray[np.int64]:
        return np.where(self._stays[ids], ids, (ids + 1) % len(self.embedding))


def covered(stay: Stay, words: int) -> int:
    """Return how many of N intervals cover the true share."""
    shares = [stay(cast(Mechanism, HalfStay(words, seed)), wv.insecure_stream(seed)) for seed in range(N)]
    return sum(share.low <= 0.5 <= share.high for share in shares)


def clustered(mechanism: Mechanism, stream: wv.Stream) -> Share:
    """A planted mistake: four draws of each of 500 words, counted as independent draws."""
    ids = np.repeat(np.linspace(0, len(mechanism.embedding) - 1, 500).astype(np.int64), 4)
    return clopper_pearson(int((mechanism.perturb_ids(ids, stream=stream) == ids).sum()), len(ids))


@pytest.mark.parametrize("words", [10, 1500, LARGE])  # fewer words than draws, about as many, more
def test_the_interval_covers_the_true_share(words: int) -> None:
    assert covered(typical_stay, words) >= MIN_COVERED


def test_draws_of_the_same_words_are_caught() -> None:
    assert covered(clustered, LARGE) < MIN_COVERED


def test_the_interval_is_about_all_words() -> None:
    """The words are drawn from the entire vocabulary, and none twice."""
    drawn: list[NDArray[np.int64]] = []

    class Recorded(HalfStay):
        def perturb_ids(self, ids: NDArray[np.int64], *, stream: wv.Stream) -> NDArray[np.int64]:
            drawn.append(ids)
            return super().perturb_ids(ids, stream=stream)

    typical_stay(cast(Mechanism, Recorded(LARGE, 0)), wv.insecure_stream(0))
    assert len(np.unique(drawn[0])) == len(drawn[0]) == 2000
    # Uniform over the vocabulary: α = 1e-6 by the Kolmogorov-Smirnov test.
    assert stats.kstest(drawn[0] / LARGE, "uniform").pvalue > ALPHA


@pytest.mark.parametrize("words", [2, 3])
def test_a_tiny_vocabulary(words: int) -> None:
    """All words are drawn equally often, so the share is exact."""
    share = typical_stay(cast(Mechanism, HalfStay(words, 0)), wv.insecure_stream(0)).share
    assert share == pytest.approx((words // 2) / words)
