"""Which search is used when, and that the choice changes no answer."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import numpy as np
import pytest

import wordveil as wv
from wordveil.kernels import has_codes, kernels
from wordveil.nearest import (
    AutomaticSearch,
    BruteSearch,
    SingleSearch,
    automatic,
    cells,
    coded_cells,
    screened,
    threads,
)
from wordveil.nearest.cells import CellSearch
from wordveil.nearest.coded_cells import CodedCellSearch
from wordveil.nearest.screened import ScreenedSearch

needs_loops = pytest.mark.skipif(kernels is None, reason="there are no compiled loops")


@needs_loops
@pytest.mark.parametrize(("dims", "expected"), [(8, CellSearch), (15, CodedCellSearch), (40, ScreenedSearch)])
def test_a_small_table_is_prepared_at_once(dims: int, expected: type) -> None:
    search = AutomaticSearch(np.random.default_rng(9).normal(size=(2000, dims)))
    without_codes = CellSearch if dims < 18 else SingleSearch
    assert type(search.prepare(1)) is (expected if has_codes() else without_codes)


def test_there_is_a_search_for_any_number_of_dimensions() -> None:
    draws = np.random.default_rng(5)
    for dims in range(1, 71):
        rows, points = draws.normal(size=(1100, dims)), draws.normal(size=(30, dims))
        search = AutomaticSearch(rows).prepare(1_000_000)
        np.testing.assert_array_equal(search.nearest(points), BruteSearch(rows).nearest(points))


@needs_loops
@pytest.mark.parametrize("dims", [8, 40])
def test_a_fast_search_is_built_once_it_pays(dims: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draws = np.random.default_rng(9)
    rows, points = draws.normal(size=(2000, dims)), draws.normal(size=(100, dims))
    monkeypatch.setattr(automatic, "_FEW_POINTS", 150)
    monkeypatch.setattr(automatic, "_FEW_NUMBERS", 0)
    search = AutomaticSearch(rows)
    first = search.nearest(points)
    assert isinstance(search.prepare(0), SingleSearch)
    second = search.nearest(points)
    many = ScreenedSearch if has_codes() else SingleSearch
    assert isinstance(search.prepare(0), CellSearch if dims == 8 else many)
    np.testing.assert_array_equal(first, second)
    assert isinstance(AutomaticSearch(rows[:500]).prepare(10**6), SingleSearch)


@pytest.mark.parametrize("dims", [8, 40])
def test_the_compiled_loops_are_not_needed(dims: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(9).normal(size=(2000, dims))
    for module in (automatic, cells, coded_cells, screened):
        monkeypatch.setattr(module, "kernels", None, raising=False)
        monkeypatch.setattr(module, "has_codes", lambda: False, raising=False)
    assert isinstance(AutomaticSearch(rows).prepare(10**6), SingleSearch)
    with pytest.raises(wv.MachineError, match="not on this machine"):
        CellSearch(rows)
    with pytest.raises(wv.MachineError, match="integer products"):
        ScreenedSearch(rows)


@needs_loops
@pytest.mark.parametrize("cores", [1, 2, 5])
def test_threads_change_no_answer(glove: wv.Embedding, cores: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(threads, "all_cores", lambda: cores)
    monkeypatch.setattr(automatic, "_FEW_POINTS", 0)
    mechanism = wv.Mahalanobis(glove.project(8), 5.0, 1.0)
    ids = np.random.default_rng(1).integers(-1, len(glove), 8000)
    answers = mechanism.perturb_ids(ids, stream=wv.insecure_stream(3))
    assert isinstance(mechanism._search.prepare(0), CellSearch)
    right = BruteSearch(mechanism._places[:-1]).nearest(mechanism._noisy_points(ids, wv.insecure_stream(3)))
    np.testing.assert_array_equal(answers, right)


def test_threads_share_one_search(glove: wv.Embedding) -> None:
    mechanism = wv.Mahalanobis(glove, 5.0, 1.0)
    with ThreadPoolExecutor(8) as pool:
        ids = list(pool.map(lambda _: (id(mechanism._search), id(mechanism._places)), range(8)))
    assert len(set(ids)) == 1


def test_a_gpu_that_fails_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(9).normal(size=(2000, 8))

    def failing(*_: Any) -> Any:
        raise RuntimeError("no room\nat all")

    monkeypatch.setattr(automatic, "has_gpu", lambda: True)
    monkeypatch.setattr(automatic, "TorchSearch", failing)
    with pytest.warns(RuntimeWarning, match=r"can't be used \(no room\): the CPU searches"):
        search = AutomaticSearch(rows, "auto").prepare(10**6)
    assert isinstance(search, CellSearch if kernels else SingleSearch)
    assert search.prepare(10**6) is search.prepare(10**6)
    monkeypatch.setattr(automatic, "has_gpu", lambda: False)
    with pytest.warns(RuntimeWarning, match="No GPU"):
        AutomaticSearch(rows, "cuda").prepare(10**6)


@needs_loops
def test_large_requests_wait_for_the_fast_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(automatic, "_FEW_NUMBERS", 0)
    search = AutomaticSearch(np.random.default_rng(9).normal(size=(2000, 8)))
    started, may_finish = Event(), Event()
    build = automatic._fast_search

    def slow_build(*arguments: Any) -> Any:
        started.set()
        may_finish.wait(10)
        return build(*arguments)

    monkeypatch.setattr(automatic, "_fast_search", slow_build)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(search.prepare, 10**6)
        started.wait(10)
        assert isinstance(search.prepare(10), SingleSearch)
        second = pool.submit(search.prepare, 10**6)
        may_finish.set()
        assert isinstance(first.result(), CellSearch)
        assert isinstance(second.result(), CellSearch)
