"""Tables and settings on a page: sentences at the left, numbers that stay together, names in words."""

import re

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
    assert [column.justify for column in table.rich().columns] == ["left", "right", "left"]


def test_cells_that_stand_below_each_other_say_which_column_they_are_of() -> None:
    table = StatTable("T", ("claim", "ours"), (("It <rises>.", "0.9"),), is_text=True)
    assert '<td>It &lt;rises&gt;.</td><td data-label="ours">0.9</td>' in table.html()


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
