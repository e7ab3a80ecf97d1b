"""Tables and settings on a page: sentences at the left, numbers that stay together, names in words."""

import io
import re

import pytest
from rich.console import Console

from wordveil.report.report import Report
from wordveil.report.setting_labels import labelled_settings
from wordveil.report.tables import StatTable, escaped

NBSP = "\u00a0"


def test_lines_break_neither_at_a_sign_nor_before_a_signed_number() -> None:
    assert escaped("(p < 0.001)") == f"(p{NBSP}&lt;{NBSP}0.001)"
    assert escaped("N_w -0.9 and S_w +0.5") == f"N_w{NBSP}\u22120.9 and S_w{NBSP}+0.5"


def test_a_negative_number_has_a_minus_and_zero_no_sign() -> None:
    assert escaped("-0.0 or (-0.05) at -29.4") == f"0.0 or (\u22120.05) at{NBSP}\u221229.4"
    unchanged = "7e-5, 2024-01-02, glove-840b-300d, --epsilon, sms-spam"
    assert escaped(unchanged) == unchanged


def test_columns_of_sentences_are_at_the_left() -> None:
    table = StatTable("T", ("word", "share", "why"), (("a", "1%", "It is | rare."),), text_columns=("why",))
    assert '<td class="text">It is | rare.</td>' in table.html()
    assert "<td>1%</td>" in table.html()
    assert "{lrl}" in table.latex()
    (shown,) = table.rich()
    assert [column.justify for column in shown.columns] == ["left", "right", "left"]


def test_cells_that_stand_below_each_other_say_which_column_they_are_of() -> None:
    table = StatTable("T", ("claim", "ours"), (("It <rises>.", "0.9"),), is_text=True)
    assert '<td>It &lt;rises&gt;.</td><td data-label="ours">0.9</td>' in table.html()


def test_a_verdict_in_a_table_of_sentences_has_its_mark_and_colour() -> None:
    rows = (("It <rises>.", "holds"), ("So.", "does not hold"), ("Or.", "undecided"))
    table = StatTable("T", ("claim", "verdict"), rows, is_text=True, outcome_column="verdict").html()
    assert '<td class="outcome holds" data-label="verdict">✓ holds</td>' in table
    assert '<td class="outcome does-not-hold" data-label="verdict">✗ does not hold</td>' in table
    assert '<td class="outcome undecided" data-label="verdict">? undecided</td>' in table


@pytest.mark.parametrize("width", [40, 80, 120])
def test_a_wide_table_is_several_on_a_terminal_and_breaks_no_word(width: int) -> None:
    epsilons = [f"ε = {number}" for number in range(10)]
    names = ("λ = 0", "unperturbed", "chance")
    rows = tuple((name, *[f"0.{number}00 ± 0.0{number}0" for number in range(10)]) for name in names)
    table = StatTable("Accuracy", ("setting", *epsilons), rows)
    out = io.StringIO()
    Console(width=width, file=out).print(*table.rich(width))
    text = out.getvalue()
    parts = len(table.rich(width))
    assert parts == {40: 10, 80: 3, 120: 2}[width]
    for name in names:
        assert len(re.findall(rf"^ *{name}  ", text, flags=re.MULTILINE)) == parts
    for part in ("0.100 ± 0.010", "0.900 ± 0.090", *epsilons):
        assert part in text
    assert text.count("(continued)") == parts - 1
    assert max(map(len, text.splitlines())) <= width


def test_row_names_break_only_if_they_leave_no_room() -> None:
    table = StatTable("T", ("setting", "a"), (("one two three four five six", "1"),))
    assert [part.columns[0].no_wrap for part in table.rich(80)] == [True]
    assert [part.columns[0].no_wrap for part in table.rich(40)] == [False]
    assert len(table.rich()) == 1


def test_a_file_is_shown_as_it_is() -> None:
    table = StatTable("File", ("TOML",), (("[mechanism]",), ("lam = -0.0",)), is_code=True)
    assert re.search(r"<pre[^>]*>\[mechanism\]\nlam = -0.0</pre>", table.html())


def test_settings_are_in_words_without_empty_ones() -> None:
    settings = {
        "lams": [0.0, 0.5], "words_for_n_w": 200, "records": 5574, "epsilons": [], "percentile": None,
        "reference_attack": 0.3, "compare_paper": False, "precision": [{"mean_distance": 4.5}],
    }  # fmt: skip
    assert labelled_settings(settings) == [
        ("λ", "0, 0.5"),
        ("words for N_w", "200"),
        ("number of texts", "5,574"),
        ("S that settings are compared at, % of words guessed", "30"),
        ("beside the paper's numbers", "no"),
        ("precision", "mean distance 4.5"),
    ]


def test_contents_lead_to_the_tables_whose_titles_are_headings() -> None:
    report = Report("a", "A", ("1.", "2.", "3."), tables=[StatTable("T", ("x",), (("1",),))])
    page = report.text("html")
    assert '<a href="#tables">Tables</a>' in page
    assert '<h3 class="title">T</h3>' in page
