"""The compiled loops search for tiles of points; every number of points is answered."""

import numpy as np
import pytest

from wordveil.kernels import has_codes
from wordveil.nearest import BruteSearch
from wordveil.nearest.screened import ScreenedSearch


@pytest.mark.skipif(not has_codes(), reason="there are no products of integers")
@pytest.mark.parametrize(
    "count", [1, 2, 3, 4, 5, 15, 16, 17, 31, 32, 33, 47, 48, 49, 95, 96, 97, 191, 192, 193]
)
def test_every_point_of_a_tile_is_answered(count: int) -> None:
    """Points are searched for one by one, in one to three registers, and in several tiles."""
    rng = np.random.default_rng(count)
    rows = np.round(rng.normal(size=(1500, 24)), 1)  # with equal rows
    points = rows[rng.integers(0, len(rows), count)] + rng.normal(size=(count, 24)) * rng.choice(
        [0.0, 1.0, 30.0], (count, 1)
    )
    np.testing.assert_array_equal(ScreenedSearch(rows).nearest(points), BruteSearch(rows).nearest(points))
