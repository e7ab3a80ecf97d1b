"""Any mechanism is drawn by `perturb_ids`, with the same law as the shortcuts; results are plain."""

import json
import sys
from typing import Any

import numpy as np
import pytest

import wordveil as wv
from wordveil.evaluation import make_grid, privacy_sweep
from wordveil.evaluation.settings import families_of


class Slow(wv.Mahalanobis):
    """The same mechanism under another class, for which no shortcut may be taken."""


@pytest.fixture(scope="module")
def space(glove: wv.Embedding) -> wv.Embedding:
    chosen = np.arange(0, 32_000, 16)
    words = [glove.words[i] for i in chosen.tolist()]
    return wv.Embedding(words, glove.vectors[chosen], public=True).project(10)


def test_shortcuts_and_perturb_ids_have_the_same_law(space: wv.Embedding) -> None:
    """Means over 400 words × 100 draws: a standard error below 0.5; an ε that is off by 20% must be seen."""
    settings = [(epsilon, lam) for lam in (0.0, 1.0) for epsilon in (3.0, 6.0)]
    fast, slow, wrong = (
        privacy_sweep([kind(space, factor * e, lam) for e, lam in settings], words=400, cache=False)
        for kind, factor in ((wv.Mahalanobis, 1.0), (Slow, 1.0), (Slow, 1.2))
    )
    assert families_of([wv.evaluation.Setting(Slow(space, 3.0, 0.0))])[0].is_additive is False
    means, slow_means, wrong_means = (
        np.array([row["mean"] for row in result.rows()]) for result in (fast, slow, wrong)
    )
    assert np.abs(means - slow_means).max() < 2.5
    assert np.abs(means - wrong_means).max() > 4.0
    assert [row["mechanism"] for row in slow.rows()] == ["slow"] * 8
    assert slow.settings["precision"][0]["other_answers_than_exact"] == 0.0


def test_blocked_words_are_counted_by_the_mechanism_itself(space: wv.Embedding) -> None:
    """A blocked word never stays, which the shortcuts do not know."""
    words = space.words[:100]
    mechanism = wv.Laplace(space, 1e6, blocked=wv.BlockList(words, public=True))
    assert not families_of([wv.evaluation.Setting(mechanism)])[0].is_additive
    (row,) = privacy_sweep(mechanism, words=words, draws=2, cache=False).rows()[:1]
    assert (row["statistic"], row["mean"]) == ("N_w", 0.0)
    assert privacy_sweep(wv.Laplace(space, 1e6), words=words, draws=2, cache=False).rows()[0]["mean"] == 100.0


def test_a_result_is_plain_and_carries_units(space: wv.Embedding) -> None:
    result = privacy_sweep(make_grid(space, [2.0, 6.0], [0.0, 1.0]), words=200, draws=20, cache=False)
    assert {(row["statistic"], row["unit"]) for row in result.rows()} == {
        ("N_w", "% of draws"),
        ("S_w", "answers in 20 draws"),
    }
    for row in result.rows():
        most = 100.0 if row["statistic"] == "N_w" else 20.0
        assert 0.0 <= row["low"] <= row["mean"] <= row["high"] <= most
    assert not result.is_private
    again = wv.evaluation.result_from_dict(json.loads(json.dumps(result.to_dict())))
    assert again == result
    assert wv.make_report(again).text("html") == wv.make_report(result).text("html")
    frame = result.to_frame()
    assert len(frame) == 8
    assert frame["epsilon"].tolist() == [2.0, 6.0] * 4


def test_a_missing_pandas_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(wv.MissingExtraError, match=r"wordveil\[frames\]"):
        wv.evaluation.PrivacyResult("x", {}, []).to_frame()


@pytest.mark.parametrize(
    "bad", [{}, {"kind": "other"}, {"kind": "privacy"}, {"kind": "privacy", "rows": [], "claims": [{"a": 1}]}]
)
def test_what_is_no_result_is_refused(bad: dict[str, Any]) -> None:
    with pytest.raises(wv.FormatError, match="not a result"):
        wv.evaluation.result_from_dict(bad)


def test_words_from_a_list_and_grids_with_gaps(space: wv.Embedding) -> None:
    pairs = [(2.0, 0.0), (6.0, 0.0), (6.0, 1.0)]
    settings = [wv.Mahalanobis(space, epsilon, lam) for epsilon, lam in pairs]
    result = privacy_sweep(settings, words=[*space.words[:40], "qwxz"], draws=5, cache=False)
    assert (result.settings["words"], result.settings["words_without_vector"]) == (40, 1)
    assert {(row["epsilon"], row["lam"]) for row in result.rows()} == set(pairs)
    assert result.verdicts() == []  # no ε was measured at two λ
    for nothing in ([], ["qwxz"]):
        with pytest.raises(wv.WordveilError):
            privacy_sweep(settings if nothing else [], words=nothing or "all", cache=False)


def test_progress_counts_all_blocks(space: wv.Embedding) -> None:
    seen: list[tuple[int, int]] = []
    settings = [wv.Laplace(space, 3.0), Slow(space, 3.0)]
    privacy_sweep(settings, words=100, draws=5, cache=False, watch=lambda *counts: seen.append(counts))
    assert seen == [(number, len(seen)) for number in range(1, len(seen) + 1)]
