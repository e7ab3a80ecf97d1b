"""Products of integers are exact for extreme numbers, and this is tested before they are used."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from wordveil.nearest import integers
from wordveil.nearest.integers import ZERO, IntegerProduct, SingleProduct, largest_code


@pytest.mark.parametrize("dims", [1, 3, 25, 300, 1000])
@pytest.mark.parametrize("rows", [1, 2, 17, 300])
def test_products_are_exact(dims: int, rows: int) -> None:
    limit = largest_code(dims)
    assert limit in (63, 127)
    draws = np.random.default_rng(dims)
    left = draws.integers(0, 256, (rows, dims), dtype=np.uint8)
    codes = draws.integers(-limit, limit + 1, (dims, 70), dtype=np.int8)
    out = np.empty((rows, 70), dtype=np.int32)
    IntegerProduct(codes).fill(left, out)
    np.testing.assert_array_equal(out, (left.astype(np.int64) - ZERO) @ codes.astype(np.int64))


def test_a_product_of_floats() -> None:
    draws = np.random.default_rng(1)
    left, right = draws.normal(size=(5, 30)).astype(np.float32), draws.normal(size=(30, 4)).astype(np.float32)
    np.testing.assert_allclose(SingleProduct(right).of(left), left @ right, rtol=1e-5, atol=1e-6)


def saturating(most: int) -> type:
    """A product whose sums of two neighbours saturate, as they do at 16 bits on some processors."""

    class Saturating(IntegerProduct):
        def __init__(self, codes: NDArray[np.int8]) -> None:
            self.codes = codes.astype(np.int64)

        def fill(self, left: NDArray[np.uint8], out: NDArray[np.int32]) -> None:
            padded = np.pad(left.astype(np.int64), ((0, 0), (0, len(self.codes) % 2)))
            codes = np.pad(self.codes, ((0, len(self.codes) % 2), (0, 0)))
            terms = padded[:, :, None] * codes
            pairs = np.clip(terms[:, ::2] + terms[:, 1::2], -most, most)
            out[:] = pairs.sum(axis=1) - ZERO * self.codes.sum(axis=0)

    return Saturating


@pytest.mark.parametrize(("most", "limit"), [(1 << 30, 127), ((1 << 15) - 1, 63), (1 << 12, 0)])
def test_saturation_is_detected(most: int, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(integers, "IntegerProduct", saturating(most))
    largest_code.cache_clear()
    assert largest_code(300) == limit
    largest_code.cache_clear()


def test_too_many_dimensions_or_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    assert largest_code(60_001) == 0

    def absent(*_: Any) -> Any:
        raise ImportError

    monkeypatch.setattr(integers, "IntegerProduct", absent)
    largest_code.cache_clear()
    assert largest_code(8) == 0
    largest_code.cache_clear()
