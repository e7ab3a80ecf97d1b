"""Sentences of docs/frontier.md and docs/choosing.md against the stored results that they are about."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from wordveil.evaluation.frontier_claims import At, at_attack
from wordveil.evaluation.results import load_result

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def rows_of(name: str) -> list[dict[str, Any]]:
    return load_result(DOCS / "experiments" / f"frontier-{name}.json").rows()


def text_of(page: str) -> str:
    return " ".join((DOCS / page).read_text(encoding="utf-8").split())


def pairs() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    """The settings that differ in the answer only: closest, nearest."""
    by_setting: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows_of("glove"):
        by_setting.setdefault((row["space"], row["lam"], row["epsilon"]), {})[row["answer"]] = row
    return [(both["closest"], both["nearest"]) for both in by_setting.values()]


@pytest.mark.parametrize("kind", ["tokens", "content"])
@pytest.mark.parametrize("statistic", ["cosine", "near_10", "near_100"])
def test_the_closest_answer_beats_the_nearest_one(kind: str, statistic: str) -> None:
    name = f"{statistic}_{kind}"
    assert "For running text and for content words, the word that is closest on average beats" in text_of(
        "frontier.md"
    )
    assert all(closest[name] > nearest[name] for closest, nearest in pairs())


def test_of_uniform_words_it_does_not() -> None:
    lost = [pair for pair in pairs() if pair[0]["cosine_uniform"] < pair[1]["cosine_uniform"]]
    page = text_of("frontier.md")
    assert f"the nearest word is closer at {len(lost)} of {len(pairs())} settings" in page
    margin, best = max(
        (b["cosine_uniform"] - a["cosine_uniform"], number) for number, (a, b) in enumerate(lost)
    )
    closest, nearest = lost[best]
    assert margin > 0.05
    assert (closest["space"], closest["lam"], round(closest["attack"], 2)) == ("all 300 dims", 0.0, 0.3)
    assert f"a cosine of {nearest['cosine_uniform']:.3f} against {closest['cosine_uniform']:.3f}" in page


def test_what_separates_dimensions() -> None:
    def at(space: str, answer: str) -> At:
        line = [r for r in rows_of("glove") if (r["space"], r["lam"], r["answer"]) == (space, 0.0, answer)]
        value = at_attack(line, 0.3)
        assert value is not None
        return value

    def is_closer(dims: int, answer: str) -> bool:
        few, complete = at(f"{dims} axes", answer), at("all 300 dims", answer)
        return few.value - complete.value > float((few.reach**2 + complete.reach**2) ** 0.5)

    assert [dims for dims in (5, 10, 15, 25, 50) if is_closer(dims, "closest")] == [15, 25, 50]
    assert [dims for dims in (5, 10, 15, 25, 50) if is_closer(dims, "nearest")] == [10, 15, 25, 50]
    page = text_of("frontier.md")
    assert (
        "15, 25 and 50 axes, each compared alone, are closer than all 300, and 10 axes are undecided" in page
    )
    assert "With the nearest answer, all four are closer." in page


def test_how_much_is_undecided_about_texts() -> None:
    page, outcomes = text_of("frontier.md"), Counter[str]()
    for name, what in (("sms", "for the SMS"), ("tweets", "for the tweets")):
        reaches = [50.0 * (row["attack_high"] - row["attack_low"]) for row in rows_of(name)]
        unit = " percentage points" if name == "sms" else ""
        assert f"±{min(reaches):.1f} to ±{max(reaches):.1f}{unit} {what}" in page
        result = load_result(DOCS / "experiments" / f"frontier-{name}.json")
        outcomes.update(verdict.outcome for verdict in result.verdicts())
    assert (
        f"{outcomes['undecided']} of the {outcomes.total()} claims of these two pages are undecided" in page
    )


@pytest.mark.parametrize(("name", "more"), [("sms", set()), ("tweets", {("10 axes", 1.0, "closest")})])
def test_which_accuracies_overlap_that_of_the_best(name: str, more: set[tuple[str, float, str]]) -> None:
    rows = {(row["space"], row["lam"], row["answer"]): row for row in rows_of(name)}
    space = "map glove-840b-map10"
    best = max(rows, key=lambda setting: rows[setting]["accuracy"])
    assert best == (space, 0.0, "closest")
    overlapping = {
        setting
        for setting, row in rows.items()
        if setting != best and row["accuracy_high"] >= rows[best]["accuracy_low"]
    }
    assert overlapping == {(space, 1.0, "closest"), (space, 0.0, "nearest")} | more
    page = text_of("frontier.md")
    assert (
        "overlaps those of the map with λ = 1 and the closest answer and with λ = 0 and the nearest one"
        in page
    )
    assert "on both data sets, and on the tweets that of 10 axes with λ = 1 and the closest answer" in page


def test_what_strong_keeps_of_the_gain() -> None:
    table = [
        [float(cell) for cell in line.split("|")[2:] if cell.strip()]
        for line in (DOCS / "choosing.md").read_text(encoding="utf-8").splitlines()
        if line.startswith(("| spam among messages, accuracy", "| disasters among tweets, accuracy"))
    ]
    clean = [
        float(line.split("clean text: ")[1].split(")")[0])
        for line in (DOCS / "choosing.md").read_text(encoding="utf-8").splitlines()
        if "accuracy (clean text: " in line
    ]
    kept = [(cells[-1] - cells[0]) / (best - cells[0]) for cells, best in zip(table, clean, strict=True)]
    assert (
        f"With `strong` it keeps {kept[0]:.0%} of that for messages and {kept[1]:.0%} for tweets"
        in text_of("choosing.md")
    )
