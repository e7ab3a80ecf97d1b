"""The search for a GPU. The contract that it shares with the other searches is tested in test_search.py."""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import wordveil as wv
from wordveil.nearest import BruteSearch, cuda
from wordveil.nearest.cuda import TorchSearch

from .queries import in_16_bits, on_torch, real_queries


@pytest.mark.torch
@pytest.mark.parametrize("epsilon", [1.0, 10.0, 40.0])
def test_the_search_for_a_gpu_agrees_with_the_oracle_on_real_queries(
    glove: wv.Embedding, epsilon: float
) -> None:
    for rows, points in real_queries(glove, epsilon, 1000):
        right = BruteSearch(rows).nearest(points)
        np.testing.assert_array_equal(on_torch(rows).nearest(points), right)
        np.testing.assert_array_equal(in_16_bits(rows).nearest(points), right)


@pytest.mark.torch
def test_a_16_bit_screen_without_its_bound_would_be_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a line, where many rows have neighbours that are equal to them in 16 bits."""
    draws = np.random.default_rng(3)
    rows, points = draws.normal(size=(60_000, 1)), draws.normal(size=(3000, 1))
    right, search = BruteSearch(rows).nearest(points), in_16_bits(rows)
    np.testing.assert_array_equal(search.nearest(points), right)
    correct = TorchSearch._scores
    monkeypatch.setattr(TorchSearch, "_scores", lambda *arguments: (correct(*arguments)[0], 0.0))
    assert (search.nearest(points) != right).mean() > 0.1


@pytest.mark.torch
def test_imprecise_sums_are_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    def product(bits: int) -> Callable[..., Any]:
        def mm(left: Any, right: Any, out_dtype: Any) -> Any:
            total = torch.zeros((left.shape[0], right.shape[1]), dtype=torch.float64)
            for k in range(0, left.shape[1], 16):
                total += left[:, k : k + 16].to(torch.float64) @ right[k : k + 16].to(torch.float64)
                total = torch.round(total * 2.0**bits) / 2.0**bits
            return total.to(out_dtype)

        return mm

    for bits, precise in ((24, True), (23, True), (14, False), (11, False)):
        monkeypatch.setattr(torch, "mm", product(bits))
        assert cuda._sums_in_float32(torch, torch.device("cpu")) is precise
    monkeypatch.setattr(torch, "mm", lambda *_, **__: (_ for _ in ()).throw(TypeError()))
    assert not cuda._sums_in_float32(torch, torch.device("cpu"))


@pytest.mark.torch
def test_a_full_device_gets_smaller_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    draws = np.random.default_rng(4)
    rows, points = draws.normal(size=(300, 4)), draws.normal(size=(500, 4))
    search = on_torch(rows)
    assert isinstance(search, TorchSearch)
    real, sizes = search.nearest_on_device, []

    def full(batch: Any, longest: float) -> Any:
        sizes.append(len(batch))
        if len(batch) > 60:
            raise torch.OutOfMemoryError("full")
        return real(batch, longest)

    monkeypatch.setattr(search, "nearest_on_device", full)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    np.testing.assert_array_equal(search.nearest(points), BruteSearch(rows).nearest(points))
    assert sizes[0] == 500
    monkeypatch.setattr(
        search, "nearest_on_device", lambda *_: (_ for _ in ()).throw(torch.OutOfMemoryError())
    )
    with pytest.raises(wv.MachineError, match="too little memory"):
        search.nearest(points)


def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(wv.MissingExtraError, match=r"pip install 'wordveil\[cuda\]'"):
        TorchSearch(np.ones((2, 2)))
