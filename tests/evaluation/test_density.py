import numpy as np
import pytest

import wordveil as wv
from wordveil.evaluation.text_density import neighbour_distances, text_density

EMB = wv.Embedding(["a", "b", "c", "d"], [[0.0, 0.0], [1.0, 0.0], [10.0, 0.0], [14.0, 0.0]], public=True)


def test_the_table_of_the_appendix() -> None:
    density = text_density(EMB, ["a b", "a c d", "zzz", ""])
    assert (density.records, density.vocabulary) == (4, 4)
    assert density.words_mean == pytest.approx(6 / 4)
    assert density.distances.tolist() == [1.0, 1.0, 4.0, 4.0]
    assert density.spread == pytest.approx(4.0)
    assert density.extremes == pytest.approx(4.0)
    assert density.share == pytest.approx(0.25)  # each of c and d is in one of four records


def test_only_words_of_the_texts_count() -> None:
    density = text_density(EMB, ["a c"])
    assert density.distances.tolist() == [10.0, 10.0]


def test_distances_are_those_of_a_direct_search(glove: wv.Embedding) -> None:
    ids = np.arange(0, 33_000, 1500)
    vectors = glove.vectors.astype(np.float64)
    for number, distance in zip(ids, neighbour_distances(glove, ids), strict=True):
        distances = np.linalg.norm(vectors - vectors[number], axis=1)
        distances[number] = np.inf
        assert distance == pytest.approx(distances.min(), rel=1e-5)


def test_texts_without_words() -> None:
    with pytest.raises(wv.FormatError, match="fewer than two words"):
        text_density(EMB, ["zzz", "a"])


def test_at_full_shape_distances_are_those_of_the_metric(glove: wv.Embedding) -> None:
    space = glove.project(4)
    words = list(space.words[:60])
    density = text_density(space, [" ".join(words)])
    metric = wv.Metric.from_embedding(space, 1.0)
    vectors = space.vectors[density.ids].astype(np.float64)
    distances = np.array([np.sort(metric.norm(vectors - vector))[1] for vector in vectors])
    assert density.shaped is not None
    assert density.shaped[0] == pytest.approx(distances.max() / distances.min(), rel=1e-4)
    few = np.sort(distances)
    assert density.shaped[1] == pytest.approx(few[-30:].mean() / few[:30].mean(), rel=1e-4)


def test_too_few_words_have_no_full_shape() -> None:
    assert text_density(EMB, ["a b"]).shaped is None  # all on one axis
