"""The page "paper against ours" says what was run, what was left out, and what was smaller than by default."""

import re
from pathlib import Path
from typing import Any

import pytest

import wordveil as wv
from wordveil.evaluation.paper_experiment import PaperRun
from wordveil.evaluation.results import PaperResult, load_result
from wordveil.report.report import make_report

STORED = Path(__file__).parent.parent.parent / "docs" / "experiments" / "paper.json"
COMPLETE = {"words": 100, "words_of_the_vectors": 100, "draws": 100}


def summary(parts: list[dict[str, Any]], **settings: Any) -> str:
    named = {"vectors": "v", "parts": [part["kind"] for part in parts], **COMPLETE, **settings}
    return make_report(PaperResult("paper", named, [], [], False, parts)).summary[0]


def part(kind: str, **settings: Any) -> dict[str, Any]:
    """Return an experiment without rows."""
    known = {"words": 100, "vectors": "v", "draws": 100, "records": 5, "classifier": "bow"}
    row = {
        "statistic": "accuracy", "label": None, "tested_on": "clean", "mechanism": "m", "epsilon": 1.0, "mean": 0.5,
        "low": None, "high": None, "vectors": "v", "dims": 3,
    }  # fmt: skip
    rows = [] if kind == "privacy" else [row]
    if kind == "privacy":
        numbers = {"deviation": 1.0, "p5": 1.0, "p50": 1.0, "p95": 1.0, "paper_low": None, "paper_high": None}
        rows = [row | numbers | {"statistic": name} for name in ("N_w", "S_w")]
    return {"kind": kind, "name": "d", "settings": known | settings, "rows": rows, "claims": []}


def test_what_is_complete_is_called_so() -> None:
    assert (
        make_report(load_result(STORED)).summary[0].startswith("All experiments of the paper were run here")
    )
    assert make_report(load_result(STORED)).summary[0].count(". ") == 0


def test_verdicts_have_their_marks_and_colours() -> None:
    page = make_report(load_result(STORED)).text("html")
    (section,) = re.findall(r'<section class="verdicts".*?</section>', page, flags=re.DOTALL)
    cells = re.findall(r'<td class="outcome ([a-z-]+)" data-label="verdict">(.) ', section)
    assert len(cells) == len(load_result(STORED).verdicts())
    assert set(cells) <= {("holds", "✓"), ("does-not-hold", "✗"), ("undecided", "?")}
    assert ".verdicts td:last-child{" not in page  # or the grey of evidence would hide the colour


@pytest.mark.parametrize(
    ("parts", "left_out"),
    [
        ([part("privacy")], "Left out: density and utility, SMS; density and utility, tweets."),
        (
            [part("privacy"), part("utility", repetitions=5, paper="sms")],
            "Left out: density and utility, tweets.",
        ),
    ],
)
def test_what_was_left_out_is_named(parts: list[dict[str, Any]], left_out: str) -> None:
    assert summary(parts).startswith("These experiments of the paper were run here on v: privacy")
    assert summary(parts).endswith(left_out)


def test_what_is_smaller_than_by_default_is_named() -> None:
    parts = [part("privacy"), part("utility", repetitions=2, paper="sms"), part("utility", paper="tweets")]
    words = summary(parts, words=7, draws=20)
    assert words.startswith("All experiments of the paper were run here on v")
    assert words.endswith("Smaller than by default: 7 of 100 words, 20 draws per word instead of 100, "
                          "2 repetitions instead of 5.")  # fmt: skip


def test_a_run_knows_how_many_words_there_are(glove: wv.Embedding) -> None:
    run = PaperRun(glove.project(3), {}, words=64, draws=5, caches=(False, False))
    report = make_report(run.result([run.steps[0].run(lambda *_: None)]))
    assert "64 of 33,752 words, 5 draws per word instead of 100." in report.summary[0]
