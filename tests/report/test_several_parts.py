"""Reports on several numbers of axes, several vectors, or one ε only: every sentence names what it is about."""

from dataclasses import replace

import pytest

import wordveil as wv
from wordveil.evaluation import make_grid, privacy_sweep
from wordveil.report.grids import course
from wordveil.report.report import Report, make_report


@pytest.fixture(scope="module", params=[[2, 3], [3, 2]])
def report(request: pytest.FixtureRequest, glove: wv.Embedding) -> Report:
    """A sweep on three and on two axes, in either order."""
    grid = make_grid(glove, [5.0, 40.0], [0.0, 1.0], dims=request.param)
    result = privacy_sweep(grid, words=64, draws=20, cache=False)
    return make_report(replace(result, settings=result.settings | {"compare_paper": True}))


def test_summaries_name_the_axes_of_each_number(report: Report) -> None:
    first, second, _ = report.summary
    assert first.startswith("64 public words of glove-840b-300d were drawn 20 times each at 4 settings")
    for dims in (2, 3):
        rows = [row for row in report.facts if row["dims"] == dims]
        for statistic, unit in (("N_w", "%"), ("S_w", "")):
            words = course([row for row in rows if row["statistic"] == statistic], 1, unit)
            assert f"on {dims} dims {words}" in second
    assert "[" not in " ".join(report.summary)


def test_titles_and_captions_name_the_axes_of_their_own_rows(report: Report) -> None:
    assert report.title == "How much privacy words get: glove-840b-300d, 2 and 3 dims, 64 words"
    titles = [table.title for table in report.tables if not table.is_detail and "paper" not in table.title]
    assert all(("2 dims" in title) != ("3 dims" in title) for title in titles)
    captions = [chart.caption for chart in report.charts]
    assert ["3 dims" in caption for caption in captions] == [True, True, False, False]
    for text in (*titles, *captions, *(table.title for table in report.tables)):
        assert "[" not in text
        assert text.count("glove-840b-300d") <= 1


def test_the_paper_stands_beside_the_most_axes(report: Report) -> None:
    beside = [table for table in report.tables if "the paper's mean" in table.title]
    assert len(beside) == 2
    assert all("glove-840b-300d, 3 dims" in table.title for table in beside)


def test_one_number_of_axes_is_named_if_it_is_not_all_of_them(glove: wv.Embedding) -> None:
    result = privacy_sweep(make_grid(glove, [5.0], [0.0], dims=[3]), words=64, draws=5, cache=False)
    assert "glove-840b-300d, 3 dims, 64 words" in make_report(result).title
    assert make_report(result).tables[0].title.endswith(", glove-840b-300d, 3 dims")


def test_one_epsilon_has_no_course() -> None:
    assert course([{"epsilon": 5.0, "mean": 0.93}], 2) == "is 0.93 at ε = 5"
    assert course([{"epsilon": None, "mean": 0.93}], 2) == "is 0.93"


def test_vectors_have_courses_of_their_own() -> None:
    rows = [{"vectors": name, "epsilon": e, "mean": e} for name in ("a[2]", "b[2]") for e in (1.0, 2.0)]
    assert course(rows, 0) == "goes from 1 at ε = 1 to 2 at ε = 2 (a); goes from 1 at ε = 1 to 2 at ε = 2 (b)"


def test_notes_of_percentiles_say_what_is_counted(report: Report) -> None:
    notes = [table.note for table in report.tables if "percentile" in table.title]
    assert {note.partition(";")[0] for note in notes} == {
        "N_w is how often a word stays itself, in % of the draws",
        "S_w is how many different answers a word has in 20 draws",
    }


def test_a_result_has_the_name_of_its_vectors(glove: wv.Embedding) -> None:
    grid = make_grid(glove, [5.0], [0.0], dims=[3, 2])
    assert privacy_sweep(grid, words=64, draws=5, cache=False).name == "glove-840b-300d"
