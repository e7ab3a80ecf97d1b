"""The two nearest rows are those of the oracle, whatever search screens them."""

import numpy as np
import pytest

import wordveil as wv
from wordveil.nearest import AutomaticSearch
from wordveil.nearest.kernels import kernels
from wordveil.nearest.search import canonical_distances
from wordveil.nearest.single import SingleSearch
from wordveil.nearest.two import TableOfTwo, TwoNearest


def oracle(points: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    table = np.stack([canonical_distances(np.repeat(p[None], len(rows), 0), rows) for p in points])
    order = np.argsort(table, axis=1, kind="stable")[:, :2]
    return order[:, 0], order[:, 1], np.sqrt(np.take_along_axis(table, order, axis=1))


@pytest.mark.parametrize("dims", [3, 12, 40])
@pytest.mark.parametrize("spread", [0.05, 1.0, 30.0])
def test_they_are_those_of_the_oracle(dims: int, spread: float) -> None:
    rng = np.random.default_rng(dims)
    rows = rng.normal(size=(3000, dims))
    rows[7] = rows[2500]  # of equals, the lower index is first
    points = rows[rng.integers(0, 3000, 400)] + spread * rng.normal(size=(400, dims))
    points[0] = rows[7]
    search = AutomaticSearch(rows).prepare(100_000)
    for chosen in (search, SingleSearch(rows)):
        two = TwoNearest(chosen, TableOfTwo(rows), points[:100])
        assert bool(two._gaps) == (kernels is not None and chosen is search)
        result = two.find(points)
        first, second, distances = oracle(points, rows)
        np.testing.assert_array_equal(result.first, first)
        np.testing.assert_array_equal(result.second, second)
        np.testing.assert_array_equal(np.stack(result[2:], axis=1), distances)
    assert (result.first[0], result.second[0]) == (7, 2500)


def test_a_gap_that_is_too_small_or_too_large_changes_nothing() -> None:
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(2000, 8))
    points = rows[:300] + 0.4 * rng.normal(size=(300, 8))
    expected = oracle(points, rows)
    two = TwoNearest(AutomaticSearch(rows).prepare(100_000), TableOfTwo(rows), points)
    for gaps in ((), (1e-9,), (0.1, 0.2), (1e3,)):
        two._gaps = gaps if kernels is not None else ()
        result = two.find(points)
        np.testing.assert_array_equal(result.first, expected[0])
        np.testing.assert_array_equal(result.second, expected[1])


def test_on_the_default_vectors(glove: wv.Embedding) -> None:
    mechanism = wv.Laplace(glove, 11.0)
    stream = wv.insecure_stream(1)
    points = mechanism._noisy_points(np.arange(0, 20_000, 500), stream)
    rows = mechanism._places[:-1]
    result = TwoNearest(AutomaticSearch(rows).prepare(100_000), TableOfTwo(rows), points).find(points)
    first, second, _ = oracle(points, rows)
    np.testing.assert_array_equal(result.first, first)
    np.testing.assert_array_equal(result.second, second)
