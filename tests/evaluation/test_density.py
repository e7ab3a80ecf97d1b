import numpy as np
import pytest

import wordveil as wv
from wordveil.evaluation.density import neighbour_distances, text_density

EMB = wv.Embedding(["a", "b", "c", "d"], [[0.0, 0.0], [1.0, 0.0], [10.0, 0.0], [14.0, 0.0]], public=True)


def test_the_figures_of_the_appendix() -> None:
    found = text_density(EMB, ["a b", "a c d", "zzz", ""])
    assert (found.records, found.vocabulary) == (4, 4)
    assert found.words_mean == pytest.approx(6 / 4)
    assert found.distances.tolist() == [1.0, 1.0, 4.0, 4.0]
    assert found.spread == pytest.approx(4.0)
    assert found.extremes == pytest.approx(4.0)
    assert found.share == pytest.approx(0.25)  # each of c and d stands in one record of four


def test_only_words_of_the_texts_count() -> None:
    found = text_density(EMB, ["a c"])
    assert found.distances.tolist() == [10.0, 10.0]


def test_distances_are_those_of_a_direct_search(glove: wv.Embedding) -> None:
    ids = np.arange(0, 33_000, 1500)
    vectors = glove.vectors.astype(np.float64)
    for number, distance in zip(ids, neighbour_distances(glove, ids), strict=True):
        all_ = np.linalg.norm(vectors - vectors[number], axis=1)
        all_[number] = np.inf
        assert distance == pytest.approx(all_.min(), rel=1e-5)


def test_texts_without_words() -> None:
    with pytest.raises(wv.FormatError, match="fewer than two words"):
        text_density(EMB, ["zzz", "a"])
