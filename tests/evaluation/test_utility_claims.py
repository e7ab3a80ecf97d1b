"""Verdicts on synthetic scores, for which the right verdict is known."""

from typing import Any

import numpy as np
import pytest

from wordveil.evaluation.scores import interval_of, scores_of
from wordveil.evaluation.utility_claims import ScoredGrid, utility_claims
from wordveil.evaluation.utility_experiment import OVERLAP

RECORDS = 1000
SPAM_AND_HAM = [(1, "spam"), (0, "ham")]


def matrices(accuracy: Any, majority: float = 0.6) -> Any:
    """Confusion matrices with these accuracies, the same for both labels."""
    shares = np.clip(np.asarray(accuracy), 0.0, 1.0)
    counts = np.array([majority, 1.0 - majority]) * RECORDS
    right = np.round(shares[..., None] * counts)
    result = np.zeros((*shares.shape, 2, 2), dtype=np.int64)
    result[..., 0, 0], result[..., 1, 1] = right[..., 0], right[..., 1]
    result[..., 0, 1], result[..., 1, 0] = counts[0] - right[..., 0], counts[1] - right[..., 1]
    return result


def grid(
    accuracy: Any, lams: tuple[float, ...], epsilons: tuple[float, ...], clean: float = 0.95, **options: Any
) -> ScoredGrid:
    repetitions = np.asarray(accuracy).shape[2]
    overlap = options.pop("overlap", OVERLAP)
    table = matrices(accuracy, **options)
    return ScoredGrid(lams, epsilons, table, matrices(np.full(repetitions, clean), **options), overlap)


def outcomes(scored: ScoredGrid, sms: Any = ()) -> list[str]:
    return [verdict.outcome for verdict in utility_claims(scored, sms)]


def noisy(level: float, shape: tuple[int, ...], deviation: float = 0.005) -> Any:
    return level + deviation * np.random.default_rng(1).normal(size=shape)


@pytest.mark.parametrize("overlap", [OVERLAP, None])
def test_a_difference_between_lams_is_found(overlap: float | None) -> None:
    accuracy = noisy(0.75, (2, 2, 8))
    assert outcomes(grid(accuracy, (0.0, 1.0), (1.0, 5.0), overlap=overlap))[1] == "holds"
    accuracy[1] += 0.1
    assert outcomes(grid(accuracy, (0.0, 1.0), (1.0, 5.0), overlap=overlap))[1] == "does not hold"
    accuracy[1] = accuracy[0] + 0.1  # the same in every repetition, so without any variance
    assert outcomes(grid(accuracy, (0.0, 1.0), (1.0, 5.0), overlap=overlap))[1] == "does not hold"


def test_a_difference_of_a_lam_in_the_middle_is_found() -> None:
    accuracy = noisy(0.8, (3, 1, 8), 0.001)
    assert outcomes(grid(accuracy, (0.0, 0.5, 1.0), (5.0,))) == ["holds"]
    accuracy[1] -= 0.1
    assert outcomes(grid(accuracy, (0.0, 0.5, 1.0), (5.0,))) == ["does not hold"]


@pytest.mark.parametrize("overlap", [OVERLAP, None])
def test_accuracy_that_rises(overlap: float | None) -> None:
    accuracy = noisy(0.7, (1, 2, 8))
    accuracy[:, 1] += 0.15
    assert outcomes(grid(accuracy, (0.0,), (1.0, 10.0), overlap=overlap)) == ["holds"]
    assert outcomes(grid(accuracy[:, ::-1], (0.0,), (1.0, 10.0), overlap=overlap)) == ["does not hold"]


def test_accuracy_that_does_not_move_is_undecided() -> None:
    flat = grid(noisy(0.8, (1, 2, 8), 0.01), (0.0,), (1.0, 10.0))
    assert outcomes(flat) == ["undecided"]


def test_a_fall_between_the_ends_is_seen() -> None:
    accuracy = noisy(0.7, (1, 3, 8), 0.001)
    accuracy[:, 1] += 0.2
    accuracy[:, 2] += 0.1
    (verdict,) = utility_claims(grid(accuracy, (0.0,), (1.0, 5.0, 10.0)))
    assert verdict.outcome == "does not hold"
    assert "falls significantly from ε = 5 to 10;" in verdict.evidence


@pytest.mark.parametrize("overlap", [OVERLAP, None])
@pytest.mark.parametrize(("level", "outcome"), [(0.97, "holds"), (0.94, "undecided"), (0.9, "does not hold")])
def test_recall_is_judged_by_its_interval(level: float, outcome: str, overlap: float | None) -> None:
    scored = grid(noisy(level, (1, 2, 8)), (0.0,), (1.0, 5.0), overlap=overlap)
    assert outcomes(scored, SPAM_AND_HAM)[1:] == [outcome] * 2


def test_recall_of_the_sms() -> None:
    accuracy = noisy(0.97, (2, 2, 8))
    assert outcomes(grid(accuracy, (0.0, 1.0), (1.0, 5.0)), SPAM_AND_HAM)[2:] == ["holds", "holds"]
    low = grid(accuracy - 0.1, (0.0, 1.0), (1.0, 5.0))
    assert outcomes(low, SPAM_AND_HAM)[2:] == ["does not hold", "does not hold"]
    # Always answering "ham" has a perfect recall of ham, and has learnt nothing.
    table = np.zeros((1, 2, 8, 2, 2), dtype=np.int64)
    table[..., 0, 0], table[..., 1, 0] = 600, 400
    always = ScoredGrid((0.0,), (1.0, 5.0), table, matrices(np.full(8, 0.95)), OVERLAP)
    rises, spam, ham = utility_claims(always, SPAM_AND_HAM)
    assert [rises.outcome, spam.outcome, ham.outcome] == ["undecided", "does not hold", "undecided"]
    assert "not significantly better than the most frequent label" in ham.evidence


def test_no_claim_holds_below_the_majority_class() -> None:
    """Accuracy rises significantly from 0.50 to 0.522, and the most frequent label alone has 0.536."""
    accuracy = noisy(0.5, (1, 2, 8), 0.001)
    accuracy[:, 1] += 0.022
    scored = grid(accuracy, (0.0,), (6.0, 12.0), majority=0.536)
    (verdict,) = utility_claims(scored)
    assert verdict.outcome == "undecided"
    assert "at ε = 12 it is not significantly better than the most frequent label" in verdict.evidence
    both = grid(noisy(0.522, (2, 1, 8), 0.001), (0.0, 1.0), (6.0,), majority=0.536)
    assert outcomes(both) == ["undecided"]
    one = noisy(0.522, (2, 1, 8), 0.001)
    one[0] += 0.06  # only the first is better than the majority, and both are too close to tell apart
    assert outcomes(grid(one, (0.0, 1.0), (6.0,), majority=0.536)) == ["does not hold"]


def test_a_classifier_that_has_not_learnt_decides_nothing() -> None:
    scored = grid(np.full((2, 2, 3), 0.6), (0.0, 1.0), (1.0, 5.0), clean=0.6)
    verdicts = utility_claims(scored, SPAM_AND_HAM)
    assert [verdict.outcome for verdict in verdicts] == ["undecided"] * 4
    assert "on unperturbed text" in verdicts[0].evidence
    assert "(0.600)" in verdicts[0].evidence


def test_wide_intervals_and_few_repetitions_are_undecided() -> None:
    wide = grid(noisy(0.8, (2, 1, 3), 0.05), (0.0, 1.0), (5.0,))
    assert outcomes(wide) == ["undecided"]
    few = grid(noisy(0.8, (2, 2, 2)), (0.0, 1.0), (1.0, 5.0))
    assert outcomes(few) == ["undecided", "undecided"]
    assert outcomes(grid(noisy(0.8, (2, 2, 2)), (0.0, 1.0), (1.0, 5.0), overlap=None))[1] == "holds"


def test_claims_about_what_was_not_asked_for_are_left_out() -> None:
    assert outcomes(grid(noisy(0.8, (1, 1, 8)), (0.0,), (5.0,))) == []
    assert len(outcomes(grid(noisy(0.8, (1, 2, 8)), (0.0,), (5.0, 6.0)))) == 1
    assert len(outcomes(grid(noisy(0.8, (2, 1, 8)), (0.0, 1.0), (5.0,)))) == 1


def test_p_values_and_the_level_of_several_tests_are_in_words() -> None:
    accuracy = noisy(0.75, (2, 2, 8))
    accuracy[1] += 0.1
    rises, difference = utility_claims(grid(accuracy, (0.0, 1.0), (1.0, 5.0)))
    assert "e-" not in rises.evidence + difference.evidence
    assert "(p < 0.001)" in difference.evidence
    assert difference.evidence.endswith("2 tests at 0.05/2 = 0.025 each (Bonferroni)")
    (alone,) = utility_claims(grid(accuracy[:, :1], (0.0, 1.0), (5.0,)))
    assert alone.evidence.endswith("; 1 test")


@pytest.mark.parametrize("overlap", [OVERLAP, None])
def test_equal_repetitions_claim_no_more_than_their_records_show(overlap: float | None) -> None:
    """Three repetitions that each differ by the same record of 124."""
    table = np.tile(np.array([[62, 4], [8, 50]]), (2, 1, 3, 1, 1))
    table[1, ..., 1, :] = 7, 51
    scored = ScoredGrid((0.0, 1.0), (5.0,), table, table[0, 0], overlap)
    (verdict,) = utility_claims(scored)
    assert verdict.outcome != "does not hold"
    assert "p < 0.001" not in verdict.evidence
    assert "± 0.000" not in verdict.evidence
    low, high = interval_of(table[0, 0], scores_of(table[0, 0]), overlap)[0]
    assert low is not None
    assert high is not None
    assert low < 0.87
    assert high > 0.93
