"""Verdicts on synthetic sweeps, for which the right verdict is known."""

import numpy as np
import pytest

from wordveil.evaluation.claims import claims, mean_interval
from wordveil.evaluation.privacy import Share
from wordveil.evaluation.sweep import Grid, Sweep
from wordveil.evaluation.verdicts import paper

BLOCKS, SIZE = 40, 10
NONE = Share(0.0, 0.0, 0.0)
GRID = Grid((1.0, 5.0, 10.0, 20.0, 40.0), (0.0, 1.0))


def make_sweep(
    gain: float, *, shared: float = 0.0, seed: int = 0, sparse: float = 0.0
) -> tuple[Sweep, np.ndarray]:
    """Return a sweep in which λ = 1 lowers N_w by `gain`, and the words of a block share a deviation."""
    random = np.random.default_rng(seed)
    words = BLOCKS * SIZE
    block = np.repeat(np.arange(BLOCKS), SIZE)
    sparseness = random.random(words)
    level = np.array([0.5, 20.0, 50.0, 70.0, 99.0])[:, None]
    noise = random.normal(0, 3, (2, 5, words)) + shared * random.normal(size=(2, 5, BLOCKS))[..., block]
    n = level + noise
    n[1, 1:4] -= gain + sparse * sparseness
    n[:, 0], n[:, 4] = 0.5, 99.0
    stays = np.clip(n, 0, 100).round().astype(np.uint16)
    distinct = (101 - stays).astype(np.uint16)
    return Sweep(GRID, 300, np.arange(words), block, stays, distinct, NONE), sparseness


def holds(sweep: Sweep, sparseness: np.ndarray, traces: tuple[float, ...] = (300.0, 300.0)) -> list[str]:
    return [verdict.outcome for verdict in claims(sweep, sparseness, list(traces))]


def test_a_true_effect_is_found() -> None:
    assert holds(*make_sweep(10.0, sparse=5.0)) == ["holds"] * 6


@pytest.mark.slow
def test_an_effect_that_is_not_there_is_not_found() -> None:
    verdicts = [holds(*make_sweep(0.0, shared=5.0, seed=seed)) for seed in range(100)]
    # Both one-sided tests at each of three ε at 1%/3: by chance far fewer than one in 100.
    assert sum(row[0] == "holds" for row in verdicts) == 0
    assert sum(row[1] == "holds" for row in verdicts) == 0
    # Each of 18 percentiles at 1%; only those that move beyond noise in the direction of the mean count. They
    # often do by chance, since the direction of the mean is chance too, but the claim seldom fails.
    assert sum(row[3] == "does not hold" for row in verdicts) <= 15
    assert sum(row[4] == "holds" for row in verdicts) <= 5  # at 1%, and only if the sparse quarter gains more


def test_the_wrong_direction_fails() -> None:
    verdicts = claims(*make_sweep(-10.0), [300.0, 301.0])
    # The percentiles move with the means, which rise.
    assert [verdict.outcome for verdict in verdicts] == [
        "does not hold",
        "does not hold",
        "holds",
        "holds",
        "undecided",
        "does not hold",
    ]
    assert "these go the other way: N_w at ε = 5" in verdicts[1].evidence


def test_no_evidence_is_undecided_and_the_opposite_is_not() -> None:
    changes, _, _, _, sparse, _ = holds(*make_sweep(0.0, shared=5.0))
    assert (changes, sparse) == ("undecided", "undecided")
    assert holds(*make_sweep(10.0, sparse=-8.0))[4] == "does not hold"


def test_a_percentile_that_moves_against_the_mean_fails() -> None:
    sweep, sparseness = make_sweep(10.0)
    stays = sweep.stays.copy()
    top = stays[0, 2] >= np.percentile(stays[0, 2], 90)
    stays[1, 2, top] = stays[0, 2, top] + 8
    against = Sweep(GRID, 300, sweep.ids, sweep.block, stays, sweep.distinct, NONE)
    verdict = claims(against, sparseness, [300.0, 300.0])[3]
    assert verdict.outcome == "does not hold"
    assert "the 95th of N_w at ε = 10" in verdict.evidence


def of_epsilons(sweep: Sweep, epsilons: tuple[float, ...]) -> Sweep:
    """The same sweep, as if its first ε had been these."""
    count, grid = len(epsilons), Grid(epsilons, (0.0, 1.0))
    return Sweep(
        grid,
        300,
        sweep.ids,
        sweep.block,
        sweep.stays[:, 1 : 1 + count],
        sweep.distinct[:, 1 : 1 + count],
        NONE,
    )


def test_claims_about_an_epsilon_that_was_not_measured_are_left_out() -> None:
    sweep, sparseness = make_sweep(10.0, sparse=5.0)
    verdicts = claims(of_epsilons(sweep, (5.0, 10.0, 20.0)), sparseness, [300.0, 300.0])
    assert [verdict.outcome for verdict in verdicts] == ["holds"] * 5
    assert not any("goes to 0" in verdict.claim for verdict in verdicts)
    # Between the paper's ε the claims are about those that were measured.
    verdicts = claims(of_epsilons(sweep, (6.0, 12.0)), sparseness, [300.0, 300.0])
    assert verdicts[0].claim.startswith("at ε = 6, 12, N_w falls")
    assert [verdict.outcome for verdict in verdicts] == ["holds"] * 5
    # Far from them only what depends on no ε is left.
    verdicts = claims(of_epsilons(sweep, (100.0, 200.0)), sparseness, [])
    assert [verdict.claim for verdict in verdicts] == ["words in sparse regions gain most"]


def test_ends_that_the_paper_has_too_are_judged() -> None:
    sweep, sparseness = make_sweep(10.0)
    wide = Sweep(GRID, 300, sweep.ids, sweep.block, sweep.stays[:, [0, 1, 2, 3, 3]], sweep.distinct, NONE)
    verdict = claims(wide, sparseness, [300.0, 300.0])[2]
    assert verdict.outcome == "does not hold"
    assert "below 5%" in verdict.claim


def test_steps_within_noise_are_not_called_monotone() -> None:
    sweep, sparseness = make_sweep(0.0, shared=5.0)
    verdict = claims(sweep, sparseness, [300.0, 300.0])[1]
    assert verdict.outcome == "undecided"
    assert "of 6 steps are within noise" in verdict.evidence


def test_what_cannot_be_tested_is_undecided() -> None:
    sweep, sparseness = make_sweep(10.0)
    one_block = Sweep(GRID, 300, sweep.ids, np.zeros_like(sweep.block), sweep.stays, sweep.distinct, NONE)
    verdicts = claims(one_block, sparseness, [300.0, 300.0])
    assert [verdict.outcome for verdict in verdicts] == [
        "undecided",
        "undecided",
        "holds",
        "undecided",
        "undecided",
        "holds",
    ]
    assert str(verdicts[0]).startswith("undecided: ")
    still = Sweep(GRID, 300, sweep.ids, sweep.block, sweep.stays[[0, 0]], sweep.distinct[[0, 0]], NONE)
    assert claims(still, sparseness, [300.0, 300.0])[3].outcome == "undecided"


def test_intervals_by_blocks_are_honest_where_words_are_not_independent() -> None:
    """The interval by blocks contains the true mean in 95% ± 4% of 300 synthetic sweeps."""
    covered = 0
    for seed in range(300):
        random = np.random.default_rng(seed)
        sweep, _ = make_sweep(0.0)
        values = 50.0 + random.normal(size=BLOCKS)[sweep.block] + 0.1 * random.normal(size=len(sweep.ids))
        interval = mean_interval(sweep, values)
        covered += interval.low <= 50.0 <= interval.high
        # Treating words as independent would make the interval less than half as wide.
        assert 2 * 1.96 * interval.deviation / len(values) ** 0.5 < (interval.high - interval.low) / 2
    assert 0.91 <= covered / 300 <= 0.99


def test_the_papers_numbers() -> None:
    facts = paper()
    assert facts["tables"]["GloVe"]["N_w"][0][2] == [65.29, 15.53]
    assert facts["tables"]["FastText"]["S_w"][4][4] == [5.32, 4.51]
    assert facts["benchmark_2024"]["N_w"] == 27.8


def test_one_block_has_no_interval() -> None:
    sweep, _ = make_sweep(0.0)
    one = Sweep(GRID, 300, sweep.ids, np.zeros_like(sweep.block), sweep.stays, sweep.distinct, NONE)
    assert mean_interval(one, one.n_w[0, 0]).high == pytest.approx(np.inf)
