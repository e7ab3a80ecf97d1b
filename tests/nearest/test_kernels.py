"""The compiled loops give the same results as their source, with or without a cache folder."""

from typing import Any

import numba
import numpy as np
import pytest
from numpy.typing import NDArray

from wordveil.nearest import kernels, screened
from wordveil.nearest.screened import ScreenedSearch


def testcompiled_and_plain_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = np.random.default_rng(1)
    rows, points = draws.normal(size=(150, 4)), draws.normal(size=(40, 4))
    rows[100:] = rows[:50]
    compiled = ScreenedSearch(rows).nearest(points)
    calls: list[str] = []

    def plain(name: str) -> Any:
        def call(*arguments: Any) -> Any:
            calls.append(name)
            return getattr(kernels, f"_{name}")(*arguments)

        return call

    for name in ("collect", "resolve"):
        monkeypatch.setattr(screened, name, plain(name))
    np.testing.assert_array_equal(ScreenedSearch(rows).nearest(points), compiled)
    monkeypatch.setattr(screened, "_MOST_PAIRS", 20)
    np.testing.assert_array_equal(ScreenedSearch(rows).nearest(points), compiled)
    assert {"collect", "resolve"} == set(calls)


def test_without_a_cache_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    real = numba.njit

    def without_cache(*arguments: Any, cache: bool = False, **options: Any) -> Any:
        if cache:
            raise RuntimeError("no locator available")
        return real(*arguments, **options)

    monkeypatch.setattr(numba, "njit", without_cache)

    def twice(values: NDArray[np.float64]) -> NDArray[np.float64]:
        return values + values

    assert kernels.compiled()(twice)(np.ones(2)).tolist() == [2.0, 2.0]
