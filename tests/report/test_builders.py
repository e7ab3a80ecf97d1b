"""The reports of the three experiments, from plain results: any settings, units, baselines, the paper."""

import json
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import wordveil as wv
from wordveil.evaluation.results import (
    DensityResult,
    PaperResult,
    PrivacyResult,
    UtilityResult,
    result_from_dict,
)
from wordveil.evaluation.verdicts import Verdict
from wordveil.report.report import Report, make_report

EPSILONS = (1.0, 10.0, 40.0)
NO_SETTING = {"setting": None, "vectors": "v", "mechanism": "mahalanobis", "answer": "nearest", "options": ""}


def privacy(draws: int = 100, dims: tuple[int, ...] = (300,)) -> PrivacyResult:
    rows = [
        {
            "statistic": statistic, "unit": "u", **NO_SETTING, "dims": k, "lam": lam, "epsilon": epsilon,
            "mean": epsilon * (1.0 - lam / 2.0), "deviation": 2.0, "low": epsilon / 3.0, "high": epsilon,
            "paper_low": 0.0, "paper_high": epsilon, "p5": 0.0, "p50": epsilon, "p95": 2.0 * epsilon,
        }
        for k, statistic, lam, epsilon in product(dims, ("N_w", "S_w"), (0.0, 1.0), EPSILONS)
    ]  # fmt: skip
    settings = {"vectors": "v", "words": 1234, "draws": draws, "eta": 0.0}
    return PrivacyResult("v", settings, rows, [Verdict("a claim", "undecided", "few words")])


def utility(labels: tuple[str, ...], tested_on: tuple[str, ...] = ("private", "clean")) -> UtilityResult:
    statistics: list[tuple[str, str | None]] = [
        (name, None) for name in ("accuracy", "macro_precision", "macro_recall", "macro_f1")
    ]
    statistics += list(product(("precision", "recall", "f1"), labels))
    rows = [
        {
            "data": "trec", **NO_SETTING, "mechanism": mechanism, "dims": 25, "lam": lam, "epsilon": epsilon,
            "tested_on": on, "statistic": statistic, "label": label, "mean": 0.5 + (epsilon or 0.0) / 100.0,
            "low": 0.45, "high": 1.0, "unperturbed": 0.9, "majority": 0.25, "chance": 0.17, "p_majority": None,
        }
        for (mechanism, lam, epsilon), on, (statistic, label) in product(
            [(None, None, None), *product(["mahalanobis"], (0.0, 1.0), EPSILONS)], tested_on, statistics
        )
    ]  # fmt: skip
    settings = {"records": 500, "classifier": "bow", "repetitions": 5, "paper": ""}
    return UtilityResult("trec", settings, rows, [], is_private=True)


def cells(report: Report, title: str) -> dict[str, tuple[str, ...]]:
    """Return the rows of the one table whose title has this part."""
    (table,) = (table for table in report.tables if title in table.title)
    return {row[0]: row[1:] for row in table.rows}


def test_privacy_has_units_whatever_the_draws() -> None:
    report = make_report(privacy(draws=20))
    assert report.name == "privacy"
    assert not report.is_private
    assert [chart.ylabel for chart in report.charts] == ["N_w, % of draws", "S_w, answers in 20 draws"]
    assert [chart.limits for chart in report.charts] == [(0.0, 100.0), (0.0, 20.0)]
    assert "different answers in 20 draws" in report.summary[1]
    assert "The one claim that was tested is undecided." in report.summary[2]
    assert cells(report, "N_w: mean")["λ = 1"] == ("0.50 ± 2.00", "5.00 ± 2.00", "20.00 ± 2.00")
    assert cells(report, "S_w: 5th")["λ = 0"] == ("0 / 1 / 2", "0 / 10 / 20", "0 / 40 / 80")


def test_privacy_beside_the_paper() -> None:
    result = privacy()
    result = replace(result, settings=result.settings | {"compare_paper": True})
    report = make_report(result)
    # The paper's GloVe at λ = 0 has 65.29 at ε = 10, and ours 10; it has 5 ε, and ours 3 of them.
    assert cells(report, "N_w: the paper's")["GloVe, λ = 0"] == (
        "0.16 (+0.8)", "23.71", "65.29 (-55.3)", "94.49", "99.81 (-59.8)",
    )  # fmt: skip
    assert cells(report, "later benchmark") == {
        "benchmark (ours minus it)": ("27.80 (-17.8)", "71.50 (-61.5)")
    }
    few = make_report(replace(result, settings=result.settings | {"draws": 10}))
    assert cells(few, "S_w: the paper's")["GloVe, λ = 0"][0] == "99.46"
    assert any("S_w depends on the number of draws" in table.note for table in few.tables)
    assert not any("paper's mean" in table.title for table in make_report(privacy()).tables)


def test_privacy_on_several_numbers_of_axes() -> None:
    report = make_report(privacy(dims=(25, 300)))
    assert [chart.name for chart in report.charts] == [
        "n-w-percentiles-300", "s-w-percentiles-300", "n-w-percentiles-25", "s-w-percentiles-25",
    ]  # fmt: skip
    assert len({chart.name for chart in report.charts}) == 4
    assert "N_w: mean ± standard deviation over words, v, 25 dims" in [table.title for table in report.tables]


def test_mechanisms_named_settings_and_no_epsilon() -> None:
    result = privacy()
    other = [
        row | {"mechanism": "vickrey", "lam": None, "options": "t=0.5"} for row in result.rows() if row["lam"]
    ]
    named = [row | {"setting": "ours"} for row in result.rows() if row["lam"]]
    fixed = [
        row | {"mechanism": "constant", "lam": None, "epsilon": None}
        for row in result.rows()
        if row["lam"] and row["epsilon"] == 1.0
    ]
    report = make_report(replace(result, facts=[*result.rows(), *other, *named, *fixed]))
    names = ["mahalanobis, λ = 0", "mahalanobis, λ = 1", "vickrey, t=0.5", "ours", "constant"]
    assert list(cells(report, "N_w: mean")) == names
    assert cells(report, "N_w: mean")["constant"] == ("0.50 ± 2.00",) * 3
    assert [line.name for line in report.charts[0].panels[0].lines] == names[:-1]
    alone = make_report(replace(result, facts=fixed))
    assert (alone.charts, alone.tables[0].columns) == ([], ("setting", "value"))
    assert "N_w: mean" in alone.text("md")


@pytest.mark.parametrize(
    ("labels", "paper"),
    [(("ham", "spam"), ""), (("ham", "spam"), "sms"), (("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM"), "")],
)
def test_utility_has_baselines_in_every_table_and_figure(labels: tuple[str, ...], paper: str) -> None:
    result = utility(labels)
    report = make_report(replace(result, settings=result.settings | {"paper": paper}))
    assert report.is_private
    for table in report.tables:
        for baseline in ("unperturbed", "majority", "chance"):
            names = [table.title.lower(), *(row[0] for row in table.rows)]
            assert any(baseline in name for name in names), table.title
    for chart in report.charts:
        for panel in chart.panels:
            assert [level.name for level in panel.levels] == ["unperturbed", "majority", "chance"]
    assert [panel.title for panel in report.charts[0].panels] == [
        "tested on private text",
        "tested on clean text",
    ]
    assert len(report.tables) == 2 * (4 + len(labels)) + bool(paper)
    assert cells(report, "Accuracy, trec, tested on clean")["λ = 0"][0] == "0.510 (0.450 to 1.000)"
    assert "unperturbed 0.90, majority 0.25, chance 0.17" in report.summary[1]


@pytest.mark.parametrize(("split", "words"), [("fixed", "over tested records"), ("random", "Nadeau")])
def test_notes_and_cells_of_intervals(split: str, words: str) -> None:
    result = utility(("ham", "spam"))
    rows = [row | {"low": row["mean"] - 0.1, "high": row["mean"] + 0.1} for row in result.rows()]
    report = make_report(replace(result, facts=rows, settings=result.settings | {"split": split}))
    assert cells(report, "Accuracy, trec, tested on clean")["λ = 0"][0] == "0.510 ± 0.100"
    assert words in report.tables[0].note


def test_utility_beside_the_paper_and_on_one_kind_of_text() -> None:
    result = utility(("ham", "spam"), ("private",))
    report = make_report(replace(result, settings=result.settings | {"paper": "sms"}))
    assert cells(report, "Unperturbed text") == {
        "ours, bag of words, about 'ham'": ("0.500", "0.500", "0.500"),
        "ours, bag of words, about 'spam'": ("0.500", "0.500", "0.500"),
        "majority, about 'ham'": ("0.250", "0.250", "0.250"),
        "majority, about 'spam'": ("0.250", "0.250", "0.250"),
        "chance, about 'ham'": ("0.170", "0.170", "0.170"),
        "chance, about 'spam'": ("0.170", "0.170", "0.170"),
        "the paper's, bag of words": ("0.99", "0.92", "0.99"),
    }
    assert len(report.charts) == 2


def test_pages_of_the_same_data_have_titles_of_their_own() -> None:
    sweep, scores = privacy(), utility(("ham", "spam"))
    assert make_report(sweep).title.endswith("v, 1,234 words")
    fast = replace(scores, settings=scores.settings | {"classifier": "fasttext"})
    assert make_report(scores).title.endswith("trec, bag of words")
    assert make_report(fast).title.endswith("trec, fastText")


def test_percentiles_of_a_table_have_the_same_decimals() -> None:
    result = privacy()
    rows = [row | {"p50": row["p50"] + 0.25} for row in result.rows()]
    table = cells(make_report(replace(result, facts=rows)), "N_w: 5th")
    assert table["λ = 0"][0] == "0.0 / 1.2 / 2.0"


def test_everything_of_the_paper_says_which_data_it_is_about() -> None:
    row: dict[str, Any] = {
        "records": 10, "words_per_record_mean": 3.0, "words_per_record_deviation": 1.0, "vocabulary": 40,
        "d_max_over_d_min": 9.0, "extreme_words": 20, "sparsest_over_densest": 5.0, "share_with_sparsest": 0.1,
    }  # fmt: skip
    points = [{"distance": float(i), "lam": 0.0, "epsilon": 10.0, "n_w": float(i)} for i in range(40)]
    compared = {"compare_paper": True}
    parts = [DensityResult(name, compared, [row], [], True, points).to_dict() for name in ("one", "other")]
    for name, paper in (("one", "sms"), ("other", "tweets")):
        scores = utility(("ham", "spam"))
        parts.append(replace(scores, name=name, settings=scores.settings | {"paper": paper}).to_dict())
    result = PaperResult("paper", {"vectors": "v", "parts": ["density", "utility"]}, [], [], True, parts)
    report = make_report(result)
    captions, titles = [chart.caption for chart in report.charts], [table.title for table in report.tables]
    assert len(captions) == len(set(captions)) == 4
    assert len(titles) == len(set(titles))


def test_density() -> None:
    row: dict[str, Any] = {
        "texts": "t", "records": 10, "words_per_record_mean": 3.0, "words_per_record_deviation": 1.0,
        "vocabulary": 40, "d_max_over_d_min": 9.0, "extreme_words": 20, "sparsest_over_densest": 5.0,
        "share_with_sparsest": 0.1, "at_lam_1": {"d_max_over_d_min": 7.0, "sparsest_over_densest": 4.0},
    }  # fmt: skip
    points = [
        {"distance": float(i), "lam": lam, "epsilon": 10.0, "n_w": i * (1.0 - lam / 2.0)}
        for lam in (0.0, 1.0)
        for i in range(40)
    ]
    report = make_report(DensityResult("t", {"compare_paper": True}, [row], [], True, points))
    assert cells(report, "How densely")["t, λ = 1"][3:5] == ("7.00", "4.00")
    assert "the paper's sms" in cells(report, "How densely")
    (chart,) = report.charts
    assert [line.y for line in chart.panels[0].lines] == [(9.5, 29.5), (4.75, 14.75)]
    assert "λ = 0: from 10% to 30%" in report.summary[2]
    assert report.summary[1].endswith("; a sparse one occurs in 10.00% of the texts on average.")
    assert make_report(DensityResult("t", {}, [row], [], True)).charts == []


def test_columns_of_older_results_have_their_new_names() -> None:
    path = Path(__file__).parent.parent.parent / "docs" / "experiments" / "density-sms.json"
    stored = path.read_text(encoding="utf-8")
    older = stored.replace("words_per_record_", "words_a_record_")
    assert older != stored
    result = result_from_dict(json.loads(older))
    assert result == result_from_dict(json.loads(stored))
    assert "16.1 ± 11.7" in cells(make_report(result), "How densely")["sms-spam"]


@pytest.mark.parametrize("result", [privacy(), utility(("ham", "spam"))], ids=["privacy", "utility"])
def test_a_page_can_be_rendered_again_from_the_json_alone(result: Any) -> None:
    report = wv.make_report(result)
    again = wv.make_report(result_from_dict(json.loads(report.text("json"))))
    assert again.text("html") == report.text("html")
    assert again.text("json") == report.text("json")


def test_a_rare_label_has_its_scores_and_one_that_is_never_predicted_has_no_precision() -> None:
    """With any number of labels: at λ = 0, ε = 1 one of three is predicted 4 times, another never."""
    result = utility(("a", "b", "c"), ("clean",))
    predicted = {"a": 0.0, "b": 4.0, "c": 100.0}
    for row in result.facts:
        if row["label"] is not None:
            row["predicted"] = (
                predicted[row["label"]] if (row["lam"], row["epsilon"]) == (0.0, 1.0) else 100.0
            )
    report = make_report(result)
    assert cells(report, "Label 'a'")["precision, λ = 0"][0] == "–"
    assert all("–" not in line for line in cells(report, "Label 'b'").values())
    for title in ("Macro precision", "Macro recall", "Macro F1"):
        assert all("–" not in line for line in cells(report, title).values())
    (chart,) = (chart for chart in report.charts if chart.name == "scores-clean")
    assert [len(line.x) for panel in chart.panels for line in panel.lines] == [3] * 6
    assert [panel.title for panel in chart.panels] == ["macro precision", "macro recall", "macro F1"]
    notes = {table.title.partition(",")[0]: table.note for table in report.tables}
    assert "a label that is never predicted counts as 0" in notes["Macro precision"]


def test_summaries_of_different_mechanisms_do_not_mix_their_epsilons() -> None:
    result = utility(("a", "b"), ("clean",))
    for row in result.facts:
        if row["lam"] == 1.0:
            row["mechanism"] = "custext"
    summary = make_report(result).summary[1]
    assert "goes from 0.51 at ε = 1 to 0.90 at ε = 40 (mahalanobis, λ = 0)" in summary
    assert "(custext, λ = 1)" in summary
