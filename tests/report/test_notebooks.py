"""What a notebook shows of results and reports: one line, or a summary with the verdicts and one table."""

import re
from pathlib import Path

import pytest

from wordveil.evaluation.results import PrivacyResult, load_result
from wordveil.report.report import Report, make_report
from wordveil.report.tables import StatTable, escaped

EXPERIMENTS = Path(__file__).parent.parent.parent / "docs" / "experiments"
STORED = ["privacy-glove", "density-sms", "utility-sms", "frontier-sms", "paper"]


@pytest.mark.parametrize("name", STORED)
def test_the_repr_of_results_and_reports_is_one_short_line(name: str) -> None:
    result = load_result(EXPERIMENTS / f"{name}.json")
    assert re.fullmatch(
        rf"<{type(result).__name__} of '.+': \d+ rows, \d+ verdicts(, private)?>", repr(result)
    )
    report = make_report(result)
    assert re.fullmatch(r"<Report '.+': \d+ figures?, \d+ tables?, \d+ verdicts?(, private)?>", repr(report))
    assert len(repr(result)) < 200
    assert len(repr(report)) < 200


@pytest.mark.parametrize("name", STORED)
def test_a_notebook_shows_summary_verdicts_and_the_main_table(name: str) -> None:
    result = load_result(EXPERIMENTS / f"{name}.json")
    report = make_report(result)
    shown = result._repr_html_()
    assert shown == report._repr_html_()
    for part in (*report.summary, report.title, *(table.title for table in report.tables[:1])):
        assert escaped(part) in shown
    for verdict in report.verdicts[:3]:
        assert verdict.outcome in shown
    assert shown.count("<table>") == 1 + bool(report.verdicts)
    assert ("not for release" in shown) == report.is_private
    assert not re.search(r"<script|<style|<img|<link|src=|href=|url\(|https?:", shown)
    assert len(shown) < 50_000


def test_what_a_notebook_shows_is_escaped() -> None:
    table = StatTable("a <b>", ("x <i>",), (("<script>1</script>",),))
    shown = Report("r", "<u>", ("1.", "2 < 3.", "4."), tables=[table])._repr_html_()
    assert re.findall(r"<(?:u|i|script)>", shown) == []
    assert shown.count("<b>") == 1  # around the title of the table


def test_a_result_without_verdicts_has_its_table() -> None:
    shown = repr(PrivacyResult("v", {}, [{"mean": 1.0}] * 3, is_private=True))
    assert shown == "<PrivacyResult of 'v': 3 rows, 0 verdicts, private>"
