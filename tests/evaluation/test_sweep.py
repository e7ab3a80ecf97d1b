"""The sweep draws from the law of the mechanism, prunes nothing that could win, and continues from its cache."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2_contingency, combine_pvalues

import wordveil as wv
from wordveil.evaluation import draws
from wordveil.evaluation.device_sweep import DeviceDraws
from wordveil.evaluation.sweep import Grid, sweep

WORDS, DRAWS = 20, 20_000
ALPHA = 1e-4
"""For all words together. A law that is off by 5% in ε must be found, as the test below shows."""


@pytest.fixture(scope="module")
def part(glove: wv.Embedding) -> wv.Embedding:
    """Two thousand real words on ten axes, few enough that 20,000 draws of a word fit into memory."""
    chosen = np.arange(0, 32_000, 16)
    words = [glove.words[i] for i in chosen.tolist()]
    return wv.Embedding(words, glove.vectors[chosen], public=True).project(10)


def p_value(a: Any, b: Any) -> float:
    """The p-value of a χ² test that two samples have the same law; cells that expect fewer than 10 are pooled."""
    size = max(a.max(), b.max()) + 1
    table = np.stack([np.bincount(sample, minlength=size) for sample in (a, b)])
    table = table[:, table.sum(axis=0) > 0]
    rare = table.sum(axis=0) < 20
    pooled = np.column_stack((table[:, ~rare], table[:, rare].sum(axis=1)))
    pooled = pooled[:, pooled.sum(axis=0) >= 20]
    return float(chi2_contingency(pooled).pvalue) if pooled.shape[1] > 1 else 1.0


def on_torch(part: wv.Embedding, grid: Grid) -> draws.AdditiveDraws:
    import torch

    return DeviceDraws(part, grid, "cuda" if torch.cuda.is_available() else "cpu:0")


@pytest.mark.parametrize(("lam", "epsilon"), [pytest.param(0.0, 3.0, marks=pytest.mark.slow), (1.0, 6.0)])
@pytest.mark.parametrize("make", [draws.AdditiveDraws, pytest.param(on_torch, marks=pytest.mark.torch)])
def test_the_same_law_as_the_mechanism(part: wv.Embedding, lam: float, epsilon: float, make: Any) -> None:
    ids = np.arange(0, 2000, 100)
    table = make(part, Grid((epsilon,), (lam,), DRAWS, seed=5))
    # One block per word, so tests over words are independent.
    answers = [next(table._answers(ids[i : i + 1], i, DRAWS))[2][0] for i in range(WORDS)]
    true = wv.Mahalanobis(part, epsilon, lam)
    wrong = wv.Mahalanobis(part, epsilon * 1.05, lam)
    stream = wv.insecure_stream(6)

    def combined(mechanism: wv.Mahalanobis) -> float:
        """The p-value of all words together, by Fisher's method."""
        p_values = [
            p_value(answers[i], mechanism.perturb_ids(np.full(DRAWS, ids[i]), stream=stream))
            for i in range(WORDS)
        ]
        return float(combine_pvalues(p_values).pvalue)

    assert combined(true) > ALPHA
    assert combined(wrong) < ALPHA


def test_pruning_changes_nothing(glove: wv.Embedding) -> None:
    grid = Grid((1.0, 5.0, 10.0, 20.0, 40.0), (0.0, 1.0), draws=12, seed=2)
    table = draws.AdditiveDraws(glove, grid)
    ids = np.arange(0, 33_000, 3000)
    directions, radii = table._draws(ids, 0, grid.draws)
    squares = table._distances(table._place[ids])
    differing = total = 0
    for lam, epsilon, answers in table._answers(ids, 0, grid.draws):
        along = (directions * table._roots[lam]).astype(np.float32) @ table._rows.T
        steps = (2.0 * radii / grid.epsilons[epsilon]).astype(np.float32)
        for word in range(len(ids)):
            dense = table._first[(squares[word] - steps[word][:, None] * along).argmin(axis=1)]
            differing += int((dense != answers[word]).sum())
            total += len(dense)
    assert differing / total < 1e-3  # the order of two float32 operations may break ties differently


def test_equal_and_far_vectors(part: wv.Embedding) -> None:
    """The first of equal vectors is the answer, as in the mechanism, and the origin does not matter."""
    half = part.vectors[:200]
    doubled = wv.Embedding(
        [f"w{i}" for i in range(400)], np.concatenate((half, half)) + np.float32(100.0), public=True
    )
    result = sweep(doubled, Grid((1000.0,), (0.0, 1.0), draws=20))
    assert (result.n_w[:, 0, :200] == 100.0).all()
    assert (result.n_w[:, 0, 200:] == 0.0).all()
    assert result.disagreement.share < 1e-3


def test_draws_in_pieces_change_nothing(part: wv.Embedding, monkeypatch: pytest.MonkeyPatch) -> None:
    grid, ids = Grid((3.0, 6.0), (0.0, 1.0), draws=50), np.arange(64)
    at_once = sweep(part, grid, ids)
    monkeypatch.setattr(draws, "_PIECE", 7)
    in_pieces = sweep(part, grid, ids)
    assert (at_once.stays == in_pieces.stays).mean() > 0.99  # products of other shapes round differently
    assert (at_once.distinct == in_pieces.distinct).mean() > 0.99


def test_float32_agrees_with_the_exact_search(glove: wv.Embedding) -> None:
    result = sweep(glove, Grid((5.0, 10.0, 20.0), (0.0, 1.0)), np.arange(0, 33_000, 1000))
    assert result.disagreement.share < 1e-3


def test_known_numbers(glove: wv.Embedding) -> None:
    """Close to an independent benchmark at ε = 10 (27.8 and 71.5); 400 words give a standard error of 0.8."""
    result = sweep(glove, Grid((10.0,), (0.0, 1.0)), np.arange(0, 33_600, 84), workers=2)
    n, s = result.n_w.mean(axis=2)[:, 0], result.s_w.mean(axis=2)[:, 0]
    assert 22 < n[0] < 32
    assert 66 < s[0] < 77
    assert n[1] < n[0] - 10
    assert s[1] > s[0] + 10


def test_a_second_run_continues_from_the_cache(
    part: wv.Embedding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = Grid((3.0,), (0.0, 1.0), draws=10)
    reported: list[tuple[int, int]] = []
    first = sweep(part, grid, np.arange(200), cache=tmp_path, watch=lambda *counts: reported.append(counts))
    files = sorted(tmp_path.rglob("*.npy"))
    assert reported[-1] == (len(files), len(files))
    assert len(files) >= 32
    files[3].write_bytes(b"torn")
    np.save(files[5], np.zeros((2, 1, 1, 1), np.uint16))
    np.save(files[6], np.full_like(np.load(files[6]), 11))
    real_block, redrawn = draws.AdditiveDraws.block, []

    def counted_block(self: Any, ids: Any, number: int) -> Any:
        redrawn.append(number)
        return real_block(self, ids, number)

    monkeypatch.setattr(draws.AdditiveDraws, "block", counted_block)
    second = sweep(part, grid, np.arange(200), cache=tmp_path, workers=2)
    assert sorted(redrawn) == [3, 5, 6]
    assert (first.stays == second.stays).all()
    assert (first.distinct == second.distinct).all()
    sweep(part, Grid((3.0,), (0.0, 1.0), draws=10, seed=1), np.arange(200), cache=tmp_path)
    assert len(redrawn) == 3 + len(files)


def test_a_threshold_counts_only_frequent_answers(part: wv.Embedding) -> None:
    ids = np.arange(40)
    every, frequent = (sweep(part, Grid((3.0,), (1.0,), 50, eta), ids) for eta in (0.0, 0.1))
    assert (every.stays == frequent.stays).all()
    assert (frequent.distinct <= every.distinct).all()
    assert frequent.distinct.mean() < every.distinct.mean() / 2


def test_blocks(part: wv.Embedding) -> None:
    result = sweep(part, Grid((3.0,), (1.0,), 5), np.arange(0, 2000, 20))
    assert np.bincount(result.block).min() >= 3
    assert result.block.max() + 1 >= 32
    means = result.block_means(result.n_w)
    assert means.shape == (1, 1, result.block.max() + 1)
    assert means[0, 0, 2] == pytest.approx(result.n_w[0, 0, result.block == 2].mean())


@pytest.mark.parametrize(
    "bad",
    [
        {"epsilons": ()}, {"epsilons": (5.0, 1.0)}, {"epsilons": (0.0,)}, {"lams": (0.5, 0.5)}, {"lams": (2.0,)},
        {"draws": 0}, {"draws": 70_000}, {"eta": 2.0}, {"seed": -1},
    ],
)  # fmt: skip
def test_grids_are_checked(bad: dict[str, Any]) -> None:
    with pytest.raises(wv.ParameterError):
        Grid(**bad)


@pytest.mark.parametrize("ids", [[], [-1], [10_000]])
def test_words_are_checked(part: wv.Embedding, ids: list[int]) -> None:
    with pytest.raises(wv.ParameterError, match="some of the vocabulary"):
        sweep(part, Grid(), np.array(ids, dtype=np.int64))


@pytest.mark.torch
@pytest.mark.parametrize("eta", [0.0, 0.1])
def test_a_sweep_on_a_pytorch_device(part: wv.Embedding, tmp_path: Path, eta: float) -> None:
    grid = Grid((2.0, 5.0, 20.0), (0.0, 1.0), draws=200, eta=eta)
    ids = np.arange(0, 2000, 10)
    on_cpu, on_device = (sweep(part, grid, ids, device=device, cache=tmp_path) for device in ("cpu", "cpu:0"))
    assert on_device.disagreement.share == 0.0
    # Means over 200 words of 200 draws each: far apart only if a law is wrong.
    assert np.abs(on_cpu.n_w.mean(axis=2) - on_device.n_w.mean(axis=2)).max() < 2.5
    assert np.abs(on_cpu.s_w.mean(axis=2) - on_device.s_w.mean(axis=2)).max() < 4.0
    again = sweep(part, grid, ids, device="cpu:0", cache=tmp_path)
    assert (again.stays == on_device.stays).all()
    assert (again.distinct == on_device.distinct).all()


@pytest.mark.torch
def test_a_word_that_shares_its_vector_never_stays_on_a_device(part: wv.Embedding) -> None:
    twins = wv.Embedding([*part.words, "twin"], np.vstack((part.vectors, part.vectors[5])), public=True)
    result = sweep(twins, Grid((50.0,), (1.0,), draws=20), np.array([5, 2000]), device="cpu:0")
    assert result.n_w[0, 0, 0] > 50
    assert result.n_w[0, 0, 1] == 0


@pytest.mark.torch
def test_a_pytorch_device_searches_for_the_same_draws(part: wv.Embedding) -> None:
    grid, ids = Grid((2.0, 5.0), (0.0, 1.0), draws=200, seed=3), np.arange(0, 2000, 50)
    on_cpu, on_device = draws.AdditiveDraws(part, grid), on_torch(part, grid)
    for (*setting, expected), (*same, answers) in zip(
        on_cpu._answers(ids, 4, 200), on_device._answers(ids, 4, 200), strict=True
    ):
        assert setting == same
        assert (expected == answers).mean() > 0.999  # float32 decides on a CPU
