"""`tune`: constraints that hold beyond the draws that chose, honest failures, and settings files that work."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordveil as wv
from wordveil.attacker import guess_rate
from wordveil.cli.main import main
from wordveil.embedding.store import save_store
from wordveil.evaluation import tuning_problem
from wordveil.evaluation.frontier_measures import Effort
from wordveil.evaluation.frontier_probes import PROBES, order_interval
from wordveil.evaluation.frontier_spaces import Curve, Space
from wordveil.evaluation.results import result_from_dict
from wordveil.evaluation.tuning import tune
from wordveil.evaluation.tuning_problem import STATISTICS, Constraint, Measured, make_problem
from wordveil.evaluation.tuning_search import Point, rounded
from wordveil.intervals import clopper_pearson

DATA = (
    ["book a flight to boston", "call me at noon please", "the red house is on fire now"] * 10,
    ["travel", "call", "fire"] * 10,
)


def tuned(small: wv.Embedding, **options: Any) -> wv.evaluation.TuningResult:
    chosen: dict[str, Any] = {"draws": 1500, "cache": False, "lams": [0.0, 1.0]}
    return tune(small, **(chosen | options))


def test_the_limit_holds_on_other_draws_and_is_used_up(small: wv.Embedding) -> None:
    """S from 20,000 draws of another seed is known to 0.012; the limit was judged with 97.5% confidence."""
    result = tuned(small, max_attack=0.5)
    assert result.is_met
    best = result.chosen
    assert best is not None
    assert best["attack_high"] <= 0.5
    mechanism = wv.Mahalanobis(small, best["epsilon"], best["lam"], answer=best["answer"])
    truth = guess_rate(
        mechanism, wv.Prior.by_rank(small), draws=20_000, stream=wv.insecure_stream(77)
    ).success
    assert truth.low <= 0.5
    assert truth.high > 0.42  # less noise would have been possible, but not much less
    assert result.runner_up is not None
    goal = STATISTICS["closeness"]
    assert not goal.is_privacy
    assert best["cosine_content"] >= result.runner_up["cosine_content"]
    assert result_from_dict(json.loads(json.dumps(result.to_dict()))) == result


def test_a_limit_below_what_guessing_alone_reaches_is_an_error(
    small: wv.Embedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once: nothing is measured."""
    alone = wv.Prior.by_rank(small).guess
    monkeypatch.setattr("wordveil.evaluation.tuning.Search.run", None)
    for limit in (0.001, alone):
        with pytest.raises(wv.ParameterError, match="guessing alone names the word in") as error:
            tuned(small, max_attack=limit, prior=wv.Prior.by_rank)
        assert f"{100 * alone:.1f}%" in str(error.value)


def test_the_unfavourable_end_decides(small: wv.Embedding, monkeypatch: pytest.MonkeyPatch) -> None:
    """Judged by its middle, the setting would have more of what is limited: the test can fail."""
    honest = tuned(small, max_attack=0.5, lams=[0.0], answers=["nearest"]).chosen
    excess = Constraint.excess
    monkeypatch.setattr(
        tuning_problem.Constraint, "excess", lambda self, share, end="middle": excess(self, share, "middle")
    )
    careless = tuned(small, max_attack=0.5, lams=[0.0], answers=["nearest"]).chosen
    assert honest is not None
    assert careless is not None
    assert honest["attack_high"] <= 0.5 < careless["attack_high"]
    assert honest["epsilon"] < careless["epsilon"]


def test_privacy_under_a_limit_for_utility(small: wv.Embedding) -> None:
    result = tuned(small, min_closeness=0.7)
    assert result.is_met
    best = result.chosen
    assert best is not None
    assert best["cosine_content_low"] >= 0.7
    assert result.problem["optimised"] == "attack"
    assert best["attack"] <= min(row["attack"] for row in result.contenders) + 1e-12


@pytest.mark.parametrize(
    ("limits", "column"),
    [
        ({"max_exponent": 3.0}, "exponent"),
        ({"max_unchanged": 0.4}, "unchanged_high"),
        ({"max_attack": 0.6, "max_unchanged": 0.4, "max_exponent": 5.0}, "unchanged_high"),
    ],
)
def test_other_limits(small: wv.Embedding, limits: dict[str, float], column: str) -> None:
    result = tuned(small, **limits)
    assert result.is_met
    assert result.chosen is not None
    assert result.chosen[column] <= list(limits.values())[0 if len(limits) == 1 else 1]
    judged = result.chosen["judged"]
    for name, value in limits.items():
        assert judged[name.removeprefix("max_")]["high"] <= value


def test_a_percentile_over_words_is_stricter_than_the_mean(small: wv.Embedding) -> None:
    mean = tuned(small, max_unchanged=0.4, lams=[0.0], answers=["nearest"])
    most = tuned(small, max_unchanged=0.4, at_percentile=95, lams=[0.0], answers=["nearest"])
    assert mean.chosen is not None
    assert most.chosen is not None
    assert most.chosen["epsilon"] < 0.9 * mean.chosen["epsilon"]
    of_words = "how often a word of the vocabulary stays"
    label = f"{of_words} (percentile 95 over words)"
    for result, name in ((mean, of_words), (most, label)):  # wherever the limit is named
        report = wv.make_report(result)
        assert result.problem["constraints"] == [f"{name}: at most 0.4"]
        assert f"{name}: at most 40%" in report.summary[0]
        assert f"{name}: at most 40%" in report.charts[0].caption
        assert name in {row[0] for row in report.tables[0].rows}


def test_the_picture_has_one_value_for_each_lam_of_a_line(small: wv.Embedding) -> None:
    result = tuned(small, max_attack=0.6, lams=[0.0, 1.0], answers=["nearest", "closest"])
    lines = wv.make_report(result).charts[0].panels[0].lines
    assert {line.name.rpartition(", ")[2] for line in lines} == {"nearest", "closest"}
    for line in lines:
        assert line.marked or line.x[0] == 0.0
        assert all(first < second for first, second in pairwise(line.x))


def test_nothing_in_the_picture_exceeds_a_limit(small: wv.Embedding) -> None:
    """All settings exceed one at the given ε; only the best are moved to the limits, and drawn."""
    result = tuned(
        small, max_attack=0.4, max_unchanged=0.5, epsilons=[20.0, 40.0], lams=[i / 10 for i in range(11)]
    )
    measured = [row for row in result.rows() if row.get("closeness") is not None]
    limits = {"attack": 0.4, "unchanged": 0.5}
    within = [row for row in measured if all(row[name] <= 1.02 * limits[name] for name in limits)]
    assert 0 < len(within) < len(measured)
    lines = wv.make_report(result).charts[0].panels[0].lines
    drawn = {(x, y) for line in lines if not line.marked for x, y in zip(line.x, line.y, strict=True)}
    assert drawn
    assert drawn <= {(row["lam"], row["closeness"]) for row in within}
    assert all(row["excess_middle"] <= 0.02 for row in within)


def test_the_closest_one_is_judged_by_all_limits(
    small: wv.Embedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without any output S is more than 1%, and grows with ε: the smallest ε comes closest, if it is tried."""
    monkeypatch.setattr("wordveil.evaluation.tuning.check_possible", lambda *_: None)
    limits = {"attack": 0.01, "exponent": 2.0}
    result = tuned(small, max_attack=0.01, max_exponent=2.0, lams=[0.0], answers=["nearest"], draws=500)
    assert not result.is_met
    assert result.chosen is not None
    in_full = [row for row in result.rows() if row["draws"] == 500 and limits.keys() <= row.keys()]
    excess = [max(row[f"{name}_high"] / limits[name] for name in limits) - 1.0 for row in in_full]
    assert result.chosen["excess"] == pytest.approx(min(excess))
    judged = result.chosen["judged"]
    assert judged["exponent"]["share"] <= 2.0  # not a setting where this limit alone is exceeded by less
    assert judged["attack"]["share"] < 1.5 * result.chosen["attack_alone"]


def test_texts_decide_with_a_warning_that_the_choice_is_not_private(small: wv.Embedding) -> None:
    result = tuned(
        small, max_linkage=0.2, data=DATA, repetitions=2, linked=30, lams=[0.0], answers=["nearest"]
    )
    assert result.is_private
    assert result.chosen is not None
    assert result.problem["optimised"] == "accuracy"
    assert {"linkage", "accuracy"} <= result.chosen.keys()
    report = wv.make_report(result)
    assert "this choice is not private" in " ".join(report.summary)
    assert "public stand-in" in report.text("html")


def test_a_classifier_that_has_learnt_nothing_satisfies_no_limit(small: wv.Embedding) -> None:
    """Of 80 texts 70 are ham, so always answering ham has 0.875, and the words tell nothing."""
    random = np.random.default_rng(3)
    texts = [" ".join(random.choice(list(small.words), 4)) for _ in range(80)]
    data = texts, ["ham"] * 70 + ["spam"] * 10
    result = tuned(small, min_accuracy=0.7, data=data, repetitions=3, lams=[0.0], answers=["nearest"])
    assert not result.is_met
    assert "the classifier is not significantly better than the most frequent label" in result.shortfall
    assert result.chosen is not None
    assert result.chosen["epsilon"] > 0.01  # not the most private one, which is as good as any other
    assert wv.make_report(result).summary[1].startswith("No setting satisfies every constraint")


def test_a_classifier_that_has_learnt_satisfies_a_limit(small: wv.Embedding) -> None:
    """Of so few records that the interval of an accuracy reaches down to 0.8, none would satisfy it."""
    data = DATA[0] * 4, DATA[1] * 4
    result = tuned(small, min_accuracy=0.8, data=data, repetitions=3, lams=[0.0], answers=["nearest"])
    assert result.is_met
    best = result.chosen
    assert best is not None
    assert best["accuracy_p_majority"] < 0.05
    assert best["accuracy_low"] / best["accuracy_unperturbed_high"] >= 0.8
    assert best["judged"]["accuracy"]["low"] >= 0.8
    table = wv.make_report(result).tables[1]
    cells = {line[0]: dict(zip(table.columns, line, strict=True)) for line in table.rows}
    always = cells["always the same answer (most frequent label)"]
    assert always["accuracy"] == f"{best['accuracy_majority']:.3f}"
    assert always["S"] == f"{best['attack_alone']:.1%}"
    assert cells["unperturbed text"]["accuracy"] == f"{best['accuracy_unperturbed']:.3f}"
    assert cells["chance"]["accuracy"] == f"{best['accuracy_chance']:.3f}"
    assert cells["a random answer"]["cosine, content"] == f"{best['random_cosine_content']:.2f}"


def test_draws_that_were_lucky_are_not_believed(small: wv.Embedding, monkeypatch: pytest.MonkeyPatch) -> None:
    """The draws that ε is settled with show a fifth too little; others confirm a smaller ε."""
    probe, settling = PROBES["attack"], 1

    def lucky(measurer: Any, mechanism: Any, effort: Effort) -> dict[str, Any]:
        facts = probe(measurer, mechanism, effort)
        factor = 0.8 if effort.seed == settling else 1.0
        return facts | {name: factor * facts[name] for name in ("attack", "attack_low", "attack_high")}

    options: dict[str, Any] = {"max_attack": 0.5, "lams": [0.0], "answers": ["nearest"]}
    honest = tuned(small, **options).chosen
    monkeypatch.setitem(PROBES, "attack", lucky)
    result = tuned(small, **options)
    assert result.is_met
    assert honest is not None
    assert result.chosen is not None
    assert result.settings["seeds"][-1] > settling + 1  # the first confirmation failed
    assert result.chosen["attack_high"] <= 0.5
    assert result.chosen["epsilon"] <= 1.05 * honest["epsilon"]


def test_if_nothing_satisfies_it_says_how_close_the_best_came(small: wv.Embedding) -> None:
    result = tuned(small, max_attack=0.2, min_closeness=0.9)
    assert not result.is_met
    assert result.shortfall.startswith("No setting satisfies every constraint. The closest one: ")
    assert any(f"; {limit} was asked for" in result.shortfall for limit in ("at least 0.9", "at most 20%"))
    best = result.chosen
    assert best is not None
    assert best["excess"] == min(row["excess"] for row in result.contenders) > 0.0


def test_the_grid_of_lam_is_refined(small: wv.Embedding) -> None:
    result = tuned(small, max_attack=0.5, lams=[0.0, 0.5, 1.0])
    assert {0.25, 0.75} & set(result.settings["lams"])


def test_the_settings_file_works_for_perturb(
    small: wv.Embedding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    save_store(small, tmp_path / "vectors.safetensors")
    (tmp_path / "in.csv").write_text("message\nbook a flight\n")
    command = ["tune", "--max-attack", "0.5", "--embedding", "vectors.safetensors", "--dims", "2,all"]
    assert main([*command, "--draws", "600", "--save", "tuned.toml", "--lams", "0,1", "--json"]) == 0
    chosen = json.loads(capsys.readouterr().out)["chosen"]
    assert main(["perturb", "in.csv", "out.csv", "--text", "message", "--config", "tuned.toml"]) == 0
    shown = json.dumps(json.loads((tmp_path / "out.csv.manifest.json").read_text()))
    for name in ("epsilon", "lam", "answer", "dims", "mechanism"):
        assert f"{json.dumps(name)}: {json.dumps(chosen[name])}" in shown, name
    assert chosen["toml"] in (tmp_path / "tuned.toml").read_text()


def test_three_digits_are_rounded_to_the_safe_side() -> None:
    assert [rounded(x, down=True) for x in (0.98765, 123.4, 7.0)] == [0.987, 123.0, 7.0]
    assert [rounded(x, down=False) for x in (0.98765, 123.4, 7.0)] == [0.988, 124.0, 7.0]


def test_points_are_ranked_by_constraints_before_the_goal(small: wv.Embedding) -> None:
    problem = make_problem({"attack": 0.3})
    curve = Curve(Space(small), "laplace", {})

    def point(attack: float, goal: float) -> Point:
        shares = {"attack": Measured(attack, attack - 0.02, attack + 0.02)}
        return Point(curve, 1.0, shares, Measured(goal, goal, goal), problem)

    within, better, beyond = point(0.2, 0.5), point(0.25, 0.6), point(0.5, 0.9)
    assert sorted([beyond, within, better], key=lambda p: p.rank("unfavourable")) == [better, within, beyond]
    assert replace(better, shares={"attack": Measured(0.29, 0.2, 0.31)}).excess() > 0.0


def test_the_interval_of_a_percentile_covers() -> None:
    """400 samples of 200 words: at least 95% of upper ends are above the true percentile.

    With a coverage of 0.975 the number of misses is Binomial(400, 0.025); 25 or more have probability 2e-5. That of
    a lower percentile, planted, misses most of the time.
    """
    random = np.random.default_rng(5)
    misses = wrong = 0
    for _ in range(400):
        each = (random.binomial(20, random.beta(2.0, 5.0, 200)) / 20.0).tolist()
        interval = order_interval(each, 95, 20)
        truth = 0.5818  # the 95th percentile of Beta(2, 5)
        misses += interval.high < truth
        wrong += order_interval(each, 40, 20).high < truth
    assert misses < 25
    assert wrong > 300


def test_a_percentile_that_the_sample_is_too_small_for_has_no_upper_end() -> None:
    """Of 200 words, the 99th percentile may be above all that were drawn."""
    assert order_interval([0.0] * 200, 99, 20).high == 1.0
    assert order_interval([0.2] * 200, 95, 20).high == clopper_pearson(4, 20).high
    # The word at the upper end was drawn 20 times only, and may stay more often than it did.
    spread = [number / 20 for number in range(20) for _ in range(10)]
    assert order_interval(spread, 50, 20).high > 0.6


def test_words_without_watched_ones_give_an_error(small: wv.Embedding) -> None:
    with pytest.raises(wv.ParameterError, match="none of the watched words"):
        tuned(small, max_attack_on_watched=0.5)


def test_watched_words_are_limited(glove: wv.Embedding) -> None:
    space = glove.project(5)
    result = tune(space, max_attack_on_watched=0.2, lams=[0.0], answers=["nearest"], draws=300, cache=False)
    assert result.is_met
    assert result.chosen is not None
    assert result.chosen["watched_high"] <= 0.2
    problem = make_problem({"attack_on_watched": 0.2}, at_percentile=90)
    facts = {"watched_words": 4, "watched_each": [0.0, 0.1, 0.2, 0.9]}
    share = STATISTICS["attack_on_watched"].read(facts, Effort(word_draws=10), problem.percentile)
    assert share.share == pytest.approx(0.69)
    assert share.low < share.share < share.high


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "What must the setting satisfy"),
        ({"max_attack": 1.5}, "'max_attack'"),
        ({"max_exponent": -1.0}, "'max_exponent'"),
        ({"max_linkage": 0.2}, "--max-linkage needs labelled texts"),
        ({"min_accuracy": 0.9}, "--min-accuracy needs labelled texts"),
        ({"max_attack": 0.3, "at_percentile": 95}, "--at-percentile is about"),
        ({"max_unchanged": 0.3, "at_percentile": 100}, "'at_percentile'"),
        ({"max_attack": 0.3, "draws": 5}, "'draws'"),
        ({"max_attack": 0.3, "epsilons": [0.0]}, "'epsilons'"),
        ({"max_attack": 0.3, "repetitions": 1}, "'repetitions'"),
        ({"min_accuracy": 0.9, "data": DATA, "repetitions": 2}, "'repetitions'"),
    ],
)
def test_mistakes(small: wv.Embedding, options: dict[str, Any], message: str) -> None:
    with pytest.raises(wv.ParameterError, match=message):
        tuned(small, **options)
