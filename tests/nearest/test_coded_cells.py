"""Boxes, and boxes with 8-bit codes: their bounds are needed, and hold in odd geometries."""

import numpy as np
import pytest

from wordveil.kernels import has_codes, kernels
from wordveil.nearest import BruteSearch, coded_cells
from wordveil.nearest.cells import CellSearch
from wordveil.nearest.coded_cells import CodedCellSearch
from wordveil.nearest.screened import CODE_LIMITS

needs_loops = pytest.mark.skipif(kernels is None, reason="there are no compiled loops")
needs_codes = pytest.mark.skipif(not has_codes(), reason="there are no products of integers")


@needs_codes
@pytest.mark.parametrize("part", [1, 2])
def test_coded_cells_without_a_part_of_their_bound_would_be_wrong(
    part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With few steps for points (1) or for rows (2), what rounding loses decides many answers."""
    monkeypatch.setattr(coded_cells, "_POINT_LIMIT", 10.0 if part == 1 else 127.0)
    monkeypatch.setattr(coded_cells, "CODE_LIMITS", dict.fromkeys(CODE_LIMITS, 63 // part**5))
    draws = np.random.default_rng(3)
    rows, points = draws.normal(size=(3000, 2)), draws.normal(size=(20_000, 2))
    search = CodedCellSearch(rows)
    right = BruteSearch(rows).nearest(points)
    np.testing.assert_array_equal(search.nearest(points), right)
    search._about[:, part] = 0.0
    assert (search.nearest(points) != right).any()


@needs_codes
@pytest.mark.parametrize("dims", [1, 2, 5, 16, 63, 64])
@pytest.mark.parametrize("outlier", [1.0, 30.0, 1e6, 1e15])
def test_coded_cells_with_a_row_that_is_far_out(dims: int, outlier: float) -> None:
    """Codes are cut at 127 steps, and integers that would be too large rule out nothing."""
    draws = np.random.default_rng(dims)
    rows = draws.normal(size=(1500, dims))
    rows[700] *= outlier
    points = np.vstack([rows[600:900], rows[600:900] * draws.choice([0.4, 0.6, 1.5, 40.0], (300, 1))])
    points = points + draws.normal(size=points.shape) * draws.choice([0.0, 1e-9, 1.0], (600, 1))
    right = BruteSearch(rows).nearest(points)
    np.testing.assert_array_equal(CodedCellSearch(rows).nearest(points), right)


@needs_codes
def test_coded_cells_far_from_the_origin_and_of_many_sizes() -> None:
    """Middles that are far away, nodes of equal rows, and boxes of very different sizes."""
    draws = np.random.default_rng(4)
    rows = np.vstack([
        1e4 + draws.normal(size=(700, 15)),
        1e-3 * draws.normal(size=(700, 15)),
        np.repeat(draws.normal(size=(3, 15)), 300, axis=0),
        -1e6 * np.ones((5, 15)),
    ])  # fmt: skip
    points = rows[draws.integers(0, len(rows), 3000)]
    points = points + draws.normal(size=points.shape) * np.logspace(-6, 5, len(points))[:, None]
    right = BruteSearch(rows).nearest(points)
    np.testing.assert_array_equal(CodedCellSearch(rows).nearest(points), right)


@needs_loops
def test_rows_whose_squares_underflow_in_float32() -> None:
    unit = 2.0**200  # the largest factor by which rows are scaled up
    long, short = np.sqrt(0.69e-45) / unit, np.sqrt(0.72e-45) / unit
    rows = np.array([[long, long], [short, 0.0]])
    assert CellSearch(rows).nearest(np.zeros((1, 2))).tolist() == [1]
