"""One test body over every implementation of the contract."""

import pickle
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis.extra.numpy import arrays

import wordveil as wv
from wordveil.kernels import has_codes, kernels
from wordveil.nearest import (
    AutomaticSearch,
    BruteSearch,
    NearestSearch,
    SingleSearch,
    cells,
    cuda,
    scores,
    screened,
    search,
    threads,
)
from wordveil.nearest.cells import CellSearch
from wordveil.nearest.coded_cells import MOST_CODED_DIMS, CodedCellSearch
from wordveil.nearest.compiled import CompiledSearch
from wordveil.nearest.screened import ScreenedSearch

from .queries import Floats, by_differences, in_16_bits, on_torch, real_queries

Kind = Callable[[Floats], NearestSearch]

needs_loops = pytest.mark.skipif(kernels is None, reason="there are no compiled loops")
needs_codes = pytest.mark.skipif(not has_codes(), reason="there are no products of integers")

IMPLEMENTATIONS = [
    BruteSearch,
    SingleSearch,
    pytest.param(CellSearch, marks=needs_loops),
    pytest.param(CodedCellSearch, marks=needs_codes),
    pytest.param(ScreenedSearch, marks=needs_codes),
    AutomaticSearch,
    pytest.param(on_torch, marks=pytest.mark.torch),
    pytest.param(in_16_bits, marks=pytest.mark.torch),
]


@pytest.fixture(params=IMPLEMENTATIONS, ids=lambda kind: kind.__name__)
def kind(request: pytest.FixtureRequest) -> Kind:
    return request.param  # type: ignore[no-any-return]  # pytest's params are untyped


def numbers(dim: int, count: int) -> st.SearchStrategy[Floats]:
    values = st.one_of(
        st.sampled_from([0.0, 1.0, -1.0, 0.5, 1.0 + 2.0**-52, 1.0 - 2.0**-53, 1.0 + 2.0**-23]),
        st.floats(-10, 10, width=32),
        st.sampled_from([1e-30, -1e-38, 3e38, -1e30, 1e20]),
    )
    return arrays(np.float64, (count, dim), elements=values)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Floats, Floats]:
    dim = draw(st.integers(1, 6))
    rows = draw(numbers(dim, draw(st.integers(1, 12))))
    if draw(st.booleans()):  # duplicates
        rows = rows[draw(st.lists(st.integers(0, len(rows) - 1), min_size=1, max_size=12))]
    points = draw(numbers(dim, draw(st.integers(0, 6))))
    if len(points) and draw(st.booleans()):  # near ties: midpoints, and one step beside them
        middle = (rows[0] + rows[-1]) / 2.0
        points = np.vstack((points, middle, np.nextafter(middle, np.inf), rows[0]))
    return rows, points * draw(st.sampled_from([1.0, 1e-20, 1e20, 1e-160, 1e100]))


@given(case=cases())
@example(case=(np.zeros((3, 2)), np.zeros((2, 2))))
@example(case=(np.array([[1e30]]), np.array([[5.0]])))
@example(case=(np.array([[1e-30]]), np.array([[3e138]])))
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_exactly_the_definition(kind: Kind, case: tuple[Floats, Floats]) -> None:
    rows, points = case
    assert kind(rows).nearest(points).tolist() == by_differences(rows, points)
    with pytest.MonkeyPatch.context() as patched:  # several blocks
        patched.setattr(CompiledSearch, "block", 2)
        assert kind(rows).nearest(points).tolist() == by_differences(rows, points)


def test_among_equals_the_lowest_index_wins(kind: Kind) -> None:
    rows = np.array([[5.0, 5.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    assert kind(rows).nearest(np.array([[1.0, 0.0], [0.5, 0.5], [9.0, 9.0]])).tolist() == [1, 1, 0]


def test_many_equal_rows(kind: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(search, "_PAIR_NUMBERS", 1000)
    monkeypatch.setattr(scores, "_MOST_PAIRS", 3000)
    monkeypatch.setattr(cuda, "_MOST_MEMBERS", 3000)
    monkeypatch.setattr(cuda, "_PAIR_NUMBERS", 1000)
    rows = np.ones((5000, 3))
    rows[4000:] = 1.0 + 2.0**-50
    points = np.concatenate((np.full((3, 3), 0.5), np.full((3, 3), 2.0)))
    assert kind(rows).nearest(points).tolist() == [0, 0, 0, 4000, 4000, 4000]


def test_an_empty_batch(kind: Kind) -> None:
    answers = kind(np.ones((3, 2))).nearest(np.empty((0, 2)))
    assert answers.shape == (0,)
    assert answers.dtype == np.int64


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_the_block_size_changes_nothing(kind: Kind, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draws = np.random.default_rng(2)
    rows, points = draws.normal(size=(50, 5)), draws.normal(size=(100, 5))
    expected = kind(rows).nearest(points)
    monkeypatch.setattr(scores, "_SCORE_BYTES", 8 * 50 * block)
    monkeypatch.setattr(CompiledSearch, "block", block)
    monkeypatch.setattr(cuda, "_MOST_POINTS", block)
    monkeypatch.setattr(search, "_PAIR_NUMBERS", 40)
    np.testing.assert_array_equal(kind(rows).nearest(points), expected)


def test_a_pair_gets_the_same_distance_in_any_batch() -> None:
    draws = np.random.default_rng(3)
    for dim in (1, 3, 8, 17, 100, 129, 300):
        points, rows = draws.normal(size=(2, 64, dim))
        together = search.canonical_distances(points.copy(), rows)
        for i in range(64):
            assert search.canonical_distances(points[i : i + 1].copy(), rows[i : i + 1])[0] == together[i]
        part = search.canonical_distances(points[5:9].copy(), rows[5:9])
        np.testing.assert_array_equal(part, together[5:9])
        np.testing.assert_allclose(together, ((points - rows) ** 2).sum(axis=1), rtol=1e-13)


@pytest.mark.parametrize("points", [np.ones((2, 3)), np.ones(2), np.ones((2, 2), dtype=np.float32)])
def test_refuses_points_of_the_wrong_shape_or_type(kind: Kind, points: Floats) -> None:
    with pytest.raises(wv.ParameterError, match="float64 table of 2 columns"):
        kind(np.ones((3, 2))).nearest(points)


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
def test_refuses_points_without_a_distance(kind: Kind, value: float) -> None:
    with pytest.raises(wv.ParameterError, match="finite"), np.errstate(over="ignore"):
        kind(np.ones((3, 2))).nearest(np.full((1, 2), value))


@pytest.mark.parametrize(
    "rows",
    [
        np.empty((0, 2)),
        np.ones(3),
        np.ones((2, 2), np.float32),
        np.full((2, 2), np.nan),
        np.array([[1.0, 0.0], [1e155, 0.0]]),
    ],
)
def test_refuses_invalid_rows(kind: Kind, rows: Floats) -> None:
    with pytest.raises(wv.ParameterError, match="rows to search"):
        kind(rows)


def test_pickles(kind: Kind) -> None:
    draws = np.random.default_rng(4)
    rows, points = draws.normal(size=(20, 3)), draws.normal(size=(10, 3))
    original = kind(rows)
    copy = pickle.loads(pickle.dumps(original))
    np.testing.assert_array_equal(copy.nearest(points), original.nearest(points))


def test_the_oracle_agrees_with_the_definition_on_real_queries(glove: wv.Embedding) -> None:
    for rows, points in real_queries(glove, 10.0, 500):
        assert BruteSearch(rows).nearest(points).tolist() == by_differences(rows, points)


@pytest.mark.parametrize("epsilon", [1.0, 5.0, 10.0, 20.0, 40.0])
def test_the_fast_searches_agree_with_the_oracle_on_real_queries(glove: wv.Embedding, epsilon: float) -> None:
    for rows, points in real_queries(glove, epsilon, 2000):
        right = BruteSearch(rows).nearest(points)
        np.testing.assert_array_equal(SingleSearch(rows).nearest(points), right)
        np.testing.assert_array_equal(
            AutomaticSearch(rows).nearest(np.resize(points, (5000, 300)))[:2000], right
        )


@pytest.mark.parametrize("dims", [1, 2, 3, 5, 10, 15, 16, 17, 25, 33, 64, 127])
def test_the_compiled_loops_in_few_dimensions(glove: wv.Embedding, dims: int) -> None:
    for rows, points in real_queries(glove.project(dims), 3.0, 300):
        right = BruteSearch(rows).nearest(points)
        both = (ScreenedSearch, CodedCellSearch) if dims <= MOST_CODED_DIMS else (ScreenedSearch,)
        for fast in (CellSearch,) * (kernels is not None) + both * has_codes():
            np.testing.assert_array_equal(fast(rows).nearest(points), right)
            few = [int(fast(rows).nearest(points[:1])[0]), *fast(rows).nearest(points[1:14]).tolist()]
            assert few == right[:14].tolist()  # other loops serve few points


@pytest.mark.parametrize("scale", [1e-200, 1e-82, 1e-30, 1.0, 1e30, 1e140])
def test_any_scale_and_mixed_lengths(kind: Kind, scale: float) -> None:
    draws = np.random.default_rng(8)
    rows = draws.normal(size=(300, 7)) * np.logspace(-12, 0, 300)[:, None] * scale
    points = draws.normal(size=(200, 7)) * np.logspace(-15, 3, 200)[:, None] * scale
    assert kind(rows).nearest(points).tolist() == by_differences(rows, points)


@pytest.mark.parametrize("dims", [1, 2, 50])
def test_one_long_point_among_short_ones(kind: Kind, dims: int) -> None:
    """They are scaled together, so the errors of the short ones are tiny, and must not underflow to 0."""
    draws = np.random.default_rng(8)
    rows, points = draws.normal(size=(128, dims)), 4.0 * draws.normal(size=(1536, dims))
    points[::300] *= 2.0 ** np.array([75.0, 80.0, 90.0, 100.0, 110.0, 115.0])[:, None]
    assert kind(rows).nearest(points).tolist() == by_differences(rows, points)


def near_ties() -> tuple[Floats, Floats]:
    draws = np.random.default_rng(6)
    return tuple(100.0 + draws.normal(size=(200, 20)) * 1e-5 for _ in range(2))  # type: ignore[return-value]  # mypy does not count them


def test_near_ties_are_decided_exactly(kind: Kind) -> None:
    rows, points = near_ties()
    assert kind(rows).nearest(points).tolist() == by_differences(rows, points)


def test_a_float32_screen_without_its_bound_would_be_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the bound, near ties below the resolution of float32 are lost."""
    rows, points = near_ties()
    fill = SingleSearch._fill_scores
    monkeypatch.setattr(SingleSearch, "_fill_scores", lambda *arguments: 0.0 * fill(*arguments))
    assert SingleSearch(rows).nearest(points).tolist() != by_differences(rows, points)


@needs_codes
@pytest.mark.parametrize("left_out", ["points' errors", "rows' errors", "lengths"])
def test_an_integer_screen_without_a_part_of_its_bound_would_be_wrong(
    left_out: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In two dimensions, where the bound is tight."""
    draws = np.random.default_rng(3)
    rows, points = draws.normal(size=(3000, 2)), draws.normal(size=(3000, 2))
    right = BruteSearch(rows).nearest(points)
    screen = ScreenedSearch(rows)
    np.testing.assert_array_equal(screen.nearest(points), right)
    if left_out == "points' errors":  # they are multiplied by the sizes of the rows
        screen._sizes[:] = screen._about[:, 2] = 0.0
    elif left_out == "rows' errors":
        screen._errors[:] = screen._about[:, 1] = 0.0
    else:
        real = kernels.nearest_by_codes

        def planted(*arguments: Any) -> Any:
            lengths = arguments[17].copy()
            lengths[: len(lengths) // 2] = 0.0
            return real(*arguments[:17], lengths, *arguments[18:])

        monkeypatch.setattr(screened, "kernels", SimpleNamespace(nearest_by_codes=planted))
    assert (screen.nearest(points) != right).any()


@needs_loops
def test_sizes_that_do_not_fit_are_refused() -> None:
    empty = np.zeros(0, np.int32)
    for dims in (-1, 0, 1, 1 << 57, (1 << 62) + 1):
        with pytest.raises(ValueError, match="must"):
            kernels.nearest_in_cells(dims, 1, bytes(128), *[b""] * 5, empty, empty, empty)
        with pytest.raises(ValueError, match="must"):
            kernels.nearest_in_coded_cells(dims, 1, 1.0, bytes(128), *[b""] * 9, empty, empty, empty)
        with pytest.raises(ValueError, match="must"):
            kernels.answer_in_cells(dims, 16, 1, bytes(128), *[b""] * 8, empty)
        with pytest.raises(ValueError, match="must"):
            kernels.nearest_by_codes(dims, 1, 0.0, 0.0, *[b""] * 15, empty, empty, empty)


@needs_loops
def test_cells_without_their_bound_would_be_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, points = near_ties()
    monkeypatch.setattr(cells, "_UNIT", 0.0)
    assert CellSearch(rows).nearest(points).tolist() != by_differences(rows, points)


def transposed(points: Floats) -> Floats:
    return np.asfortranarray(points)


def every_other_row(points: Floats) -> Floats:
    return np.repeat(points, 2, axis=0)[::2]


def every_other_column(points: Floats) -> Floats:
    return np.repeat(points, 2, axis=1)[:, ::2]


def backwards(points: Floats) -> Floats:
    return points[::-1].copy()[::-1]


def not_aligned(points: Floats) -> Floats:
    memory = np.empty(points.nbytes + 1, dtype=np.uint8)
    shifted = memory[1:].view(np.float64).reshape(points.shape)
    shifted[:] = points
    return shifted


LAYOUTS = [transposed, every_other_row, every_other_column, backwards, not_aligned]


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.__name__)
def test_any_memory_layout_gives_the_same_answers(kind: Kind, layout: Callable[[Floats], Floats]) -> None:
    """Fortran-ordered points were once passed on by address and read as if they were C-ordered."""
    random = np.random.default_rng(12)
    rows, points = random.normal(size=(3000, 20)), random.normal(size=(5000, 20))
    laid_out = layout(points)
    np.testing.assert_array_equal(laid_out, points)
    expected = BruteSearch(rows).nearest(points)
    np.testing.assert_array_equal(kind(rows).nearest(laid_out), expected)
    np.testing.assert_array_equal(kind(layout(rows)).nearest(points), expected)


def test_blocks_are_made_in_their_order_one_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a block would get the noise of another, and equal streams would give other answers."""
    monkeypatch.setattr(threads, "all_cores", lambda: 8)
    rng, inside = np.random.default_rng(3), threading.Lock()
    starts: list[int] = []

    class Threaded(BruteSearch):
        threaded, block = True, 7

    def make_points(block: slice) -> np.ndarray:
        assert inside.acquire(blocking=False), "two blocks are made at once"
        try:
            time.sleep(rng.uniform(0.0, 0.002))
            starts.append(block.start)
            return np.full((block.stop - block.start, 2), float(block.start))
        finally:
            inside.release()

    rows = np.arange(1000.0)[:, None].repeat(2, axis=1)
    answers = Threaded(rows).nearest_of(500, make_points)
    assert starts == list(range(0, 500, 7))
    np.testing.assert_array_equal(answers, np.arange(500) // 7 * 7)
