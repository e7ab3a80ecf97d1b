import numpy as np
import pytest
from scipy import stats

import wordveil as wv
from wordveil.evaluation.privacy import clopper_pearson, reference_words, word_statistics
from wordveil.nearest import BruteSearch


@pytest.mark.parametrize(("hits", "draws"), [(0, 10), (10, 10), (5, 100), (999, 1000), (1, 1)])
def test_intervals_are_scipys(hits: int, draws: int) -> None:
    expected = stats.binomtest(hits, draws).proportion_ci(0.95, method="exact")
    assert clopper_pearson(hits, draws) == pytest.approx((hits / draws, expected.low, expected.high))


def test_statistics_agree_with_brute_force(glove: wv.Embedding) -> None:
    mechanism = wv.Mahalanobis(glove, 10.0, 1.0)
    facts = word_statistics(mechanism, "boston", 300, wv.insecure_stream(3))
    number = glove.index["boston"]
    points = mechanism._noisy_points(np.full(300, number), wv.insecure_stream(3))
    answers = BruteSearch(mechanism._places[:-1]).nearest(points)
    assert facts.stays.share == (answers == number).mean()
    assert facts.distinct == len(set(answers.tolist()))
    for word, share in facts.answers:
        assert share.share == (answers == glove.index[word]).mean()
    shares = [share.share for _, share in facts.answers]
    assert shares == sorted(shares, reverse=True)


def test_a_word_that_is_not_in_the_vocabulary(glove: wv.Embedding) -> None:
    with pytest.raises(wv.UnknownNameError, match="not in the vocabulary"):
        word_statistics(wv.Laplace(glove, 1.0), "secretword", 10, wv.insecure_stream(1))


def test_reference_words_are_dense_and_sparse(glove: wv.Embedding) -> None:
    dense, sparse = reference_words(glove)
    distances = []
    for word in (dense, sparse):
        row = np.sort(np.linalg.norm(glove.vectors - glove.vector(word), axis=1))
        distances.append(row[10])
    assert distances[0] < 0.8 * distances[1]


def test_reference_words_of_a_tiny_vocabulary() -> None:
    tiny = wv.Embedding(["a", "b", "c"], [[0.0], [1.0], [9.0]], public=True)
    assert set(reference_words(tiny)) <= {"a", "b", "c"}
