"""The two nearest rows are those of the oracle, whatever search screens them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wordveil as wv
from wordveil.kernels import has_codes, kernels
from wordveil.nearest import AutomaticSearch, NearestSearch
from wordveil.nearest.cells import CellSearch
from wordveil.nearest.coded_cells import CodedCellSearch
from wordveil.nearest.screened import ScreenedSearch
from wordveil.nearest.search import canonical_distances
from wordveil.nearest.single import SingleSearch
from wordveil.nearest.two import Nearest, TableOfTwo, TwoNearest


def oracle(points: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    table = np.stack([canonical_distances(np.repeat(p[None], len(rows), 0), rows) for p in points])
    order = np.argsort(table, axis=1, kind="stable")[:, :2]
    return order[:, 0], order[:, 1], np.sqrt(np.take_along_axis(table, order, axis=1))


KINDS: list[Any] = [
    SingleSearch,
    pytest.param(CellSearch, marks=pytest.mark.skipif(kernels is None, reason="there are no compiled loops")),
    *(
        pytest.param(kind, marks=pytest.mark.skipif(not has_codes(), reason="there are no integer products"))
        for kind in (CodedCellSearch, ScreenedSearch)
    ),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dims", [1, 3, 12, 40])
@pytest.mark.parametrize("spread", [0.05, 1.0, 30.0])
def test_they_are_the_two_of_least_distance(
    kind: Callable[[Any], NearestSearch], dims: int, spread: float
) -> None:
    rng = np.random.default_rng(dims)
    rows = rng.normal(size=(3000, dims))
    rows[7] = rows[2500]  # of equals, the lower index is first
    rows[100:160] = rows[100]  # more than fit into a strip or a leaf
    points = rows[rng.integers(0, 3000, 400)] + spread * rng.normal(size=(400, dims))
    points[:2] = rows[7], rows[100]
    points[2:50] = (rows[200:248] + rows[300:348]) / 2.0  # near ties
    first, second, distances = oracle(points, rows)
    for part in (slice(0, 400), slice(0, 5)):  # few points take another way through the compiled loops
        result = TwoNearest(kind(rows), TableOfTwo(rows)).find(points[part])
        np.testing.assert_array_equal(result.first, first[part])
        np.testing.assert_array_equal(result.second, second[part])
        np.testing.assert_array_equal(np.stack(result[2:], axis=1), distances[part])
    assert (result.first[0], result.second[0]) == (7, 2500)
    assert (result.first[1], result.second[1]) == (100, 101)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [17, 257, 1025])
@pytest.mark.parametrize("dims", [2, 5])
def test_a_last_leaf_or_node_with_a_single_row(
    kind: Callable[[Any], NearestSearch], count: int, dims: int
) -> None:
    """A point that begins in it knows only one row at first."""
    rng = np.random.default_rng(count)
    rows = rng.normal(size=(count, dims))
    points = np.concatenate((rows, rows, rows)) + 0.05 * rng.normal(size=(3 * count, dims))
    result = TwoNearest(kind(rows), TableOfTwo(rows)).find(points)
    first, second, _ = oracle(points, rows)
    np.testing.assert_array_equal(np.stack(result[:2]), np.stack((first, second)))


@pytest.mark.parametrize("kind", KINDS)
def test_two_rows_and_many_equal_ones(kind: Callable[[Any], NearestSearch]) -> None:
    for rows in (np.array([[0.0, 0.0], [1.0, 1.0]]), np.ones((2000, 2))):
        points = np.array([[0.9, 0.8], [0.5, 0.5], [-3.0, 1e6]])
        result = TwoNearest(kind(rows), TableOfTwo(rows)).find(points)
        first, second, _ = oracle(points, rows)
        np.testing.assert_array_equal(np.stack(result[:2]), np.stack((first, second)))


@pytest.mark.skipif(not has_codes(), reason="there are no integer products")
@pytest.mark.parametrize("dims", [10, 15, 300])
def test_few_points_are_left_to_the_table(
    glove: wv.Embedding, dims: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table of all scores takes five times as long."""
    mechanism = wv.Vickrey(glove.project(dims) if dims < 300 else glove, 8.0)
    points = mechanism._noisy_points(np.arange(0, 30_000, 60), wv.insecure_stream(1))
    left: list[int] = []
    find = TableOfTwo.find

    def counted(table: TableOfTwo, points: Any) -> Nearest:
        left.append(len(points))
        return find(table, points)

    monkeypatch.setattr(TableOfTwo, "find", counted)
    result = mechanism._two.find(points)
    assert sum(left) < 10
    expected = find(TableOfTwo(mechanism._places[:-1]), points)
    np.testing.assert_array_equal(np.stack(result[:2]), np.stack(expected[:2]))


def test_on_the_default_vectors(glove: wv.Embedding) -> None:
    mechanism = wv.Laplace(glove, 11.0)
    stream = wv.insecure_stream(1)
    points = mechanism._noisy_points(np.arange(0, 20_000, 500), stream)
    rows = mechanism._places[:-1]
    result = TwoNearest(AutomaticSearch(rows).prepare(100_000), TableOfTwo(rows)).find(points)
    first, second, _ = oracle(points, rows)
    np.testing.assert_array_equal(result.first, first)
    np.testing.assert_array_equal(result.second, second)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
def test_points_that_are_not_finite_are_refused(kind: Callable[[Any], NearestSearch], value: float) -> None:
    rows = np.random.default_rng(0).normal(size=(600, 10))
    with pytest.raises(wv.ParameterError, match="must be finite"):
        TwoNearest(kind(rows), TableOfTwo(rows)).find(np.full((3, 10), value))
