"""Boxes, and boxes with 8-bit codes: their bounds are needed, and hold in odd geometries."""

import numpy as np
import pytest

from wordveil.nearest import BruteSearch
from wordveil.nearest.cells import CellSearch
from wordveil.nearest.coded_cells import CodedCellSearch
from wordveil.nearest.kernels import has_codes, kernels

needs_loops = pytest.mark.skipif(kernels is None, reason="there are no compiled loops")
needs_codes = pytest.mark.skipif(not has_codes(), reason="there are no products of integers")


@needs_codes
def test_coded_cells_without_a_part_of_their_bound_would_be_wrong() -> None:
    draws = np.random.default_rng(3)
    rows, points = draws.normal(size=(3000, 2)), draws.normal(size=(20_000, 2))
    search = CodedCellSearch(rows)
    right = BruteSearch(rows).nearest(points)
    np.testing.assert_array_equal(search.nearest(points), right)
    search._about[:, 1] = 0.0  # what the errors of points are multiplied by
    assert (search.nearest(points) != right).any()
    coarse = CodedCellSearch(rows)
    coarse._codes -= coarse._codes % 32  # errors of rows that the bound does not know of
    codes = coarse._codes.astype(np.int64).sum(axis=(2, 4)).reshape(-1, 256)
    coarse._corrections = (-128 * codes).astype(np.int32)
    assert (coarse.nearest(points) != right).any()
    coarse._about[:, 2] += 32.0 * np.sqrt(2.0) * coarse._about[:, 0]
    np.testing.assert_array_equal(coarse.nearest(points), right)


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
