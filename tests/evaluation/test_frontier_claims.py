"""The claims of a frontier, and what its report shows: names of lines, and baselines."""

from pathlib import Path
from typing import Any

import pytest

import wordveil as wv
from wordveil.evaluation.frontier_claims import frontier_claims
from wordveil.evaluation.results import load_result
from wordveil.report.frontier_tables import curve_names

from .test_frontier import DATA, small_frontier

EXPERIMENTS = Path(__file__).parent.parent.parent / "docs" / "experiments"


@pytest.mark.parametrize(
    ("difference", "outcome"), [(0.1, "holds"), (-0.1, "does not hold"), (0.001, "undecided")]
)
def test_claims_are_judged_by_intervals(difference: float, outcome: str) -> None:
    rows = []
    for lam, cosine in ((0.0, 0.5 + difference), (1.0, 0.5)):
        for attack in (0.2, 0.4):
            cosines = {"cosine_content": cosine, "cosine_content_low": cosine - 0.02}
            setting = {"space": "10 axes", "mechanism": "mahalanobis", "lam": lam, "dims": 10, "options": ""}
            rows.append(
                setting
                | cosines
                | {"answer": "nearest", "attack": attack, "cosine_content_high": cosine + 0.02}
            )
    verdict = frontier_claims(rows, 0.3)[0]
    assert verdict.claim.startswith("λ = 1 is no closer than λ = 0")
    assert verdict.outcome == outcome


def line(cosine: float, reach: float = 0.02, **setting: Any) -> list[dict[str, Any]]:
    facts = {
        "space": "10 axes", "mechanism": "mahalanobis", "lam": 0.0, "dims": 10, "options": "", "answer": "nearest",
        "cosine_content": cosine, "cosine_content_low": cosine - reach, "cosine_content_high": cosine + reach,
    }  # fmt: skip
    return [facts | setting | {"attack": attack} for attack in (0.2, 0.4)]


def test_claims_are_about_the_papers_mechanisms() -> None:
    """Vickrey on 5 axes has the largest value; the claims about dims and maps leave it out."""
    rows = [
        *line(0.5), *line(0.45, space="all 300 dims", dims=300), *line(0.52, space="map m"),
        *line(0.9, space="5 axes", dims=5, mechanism="vickrey"),
    ]  # fmt: skip
    verdicts = frontier_claims(rows, 0.3)
    assert len(verdicts) == 2
    assert not any("5 axes has" in verdict.evidence for verdict in verdicts)


@pytest.mark.parametrize(
    ("attack", "cosine", "outcome"),
    [(0.34, 0.4, "holds"), (0.34, 0.515, "undecided"), (0.34, 0.7, "undecided"), (0.25, 0.4, None)],
)
def test_a_map_is_compared_with_axes_at_larger_attacks_too(
    attack: float, cosine: float, outcome: str | None
) -> None:
    """Closer answers at a larger attack decide nothing; a line that ends below the attack leaves it open."""
    axes = [row | {"attack": attack} for row in line(cosine)[:1]]
    rows = [*axes, *line(0.3, space="all 300 dims", dims=300), *line(0.52, space="map m")]
    verdicts = {verdict.claim: verdict for verdict in frontier_claims(rows, 0.3)}
    claim = "a map is closer than all measured numbers of axes at equal S (nearest answer)"
    if outcome is None:
        assert claim not in verdicts
        return
    assert verdicts[claim].outcome == outcome
    is_bound = cosine > 0.3  # the line of the axes, and not that of all dimensions, is compared
    assert (
        f"10 axes, λ = 0 has {cosine:.3f} ± 0.020 at S = {100 * attack:.1f}%" in verdicts[claim].evidence
    ) == is_bound


def test_an_attack_that_is_known_roughly_leaves_more_undecided() -> None:
    """Along a line of slope 1, ±0.05 in S is ±0.05 in the statistic."""

    def rows(reach: float) -> list[dict[str, Any]]:
        lines = *line(0.55, lam=0.0), *line(0.5, lam=1.0)
        for row in lines:
            row["attack_low"], row["attack_high"] = row["attack"] - reach, row["attack"] + reach
            for name in ("cosine_content", "cosine_content_low", "cosine_content_high"):
                row[name] += row["attack"] - 0.3
        return list(lines)

    assert frontier_claims(rows(0.001), 0.3)[0].outcome == "holds"
    verdict = frontier_claims(rows(0.05), 0.3)[0]
    assert verdict.outcome == "undecided"
    assert "λ = 0 has 0.550 ± 0.054" in verdict.evidence


@pytest.mark.parametrize(("reach", "outcome"), [(0.001, "holds"), (0.02, "undecided")])
def test_a_line_with_one_setting_may_be_steep(reach: float, outcome: str) -> None:
    """A gap of 0.05 at S = 0.3: from (0.05, 0.1) to (0.3, 0.5) the slope is 1.6, so ±0.02 in S is ±0.032."""
    rows = [line(cosine, 0.01, lam=lam)[0] for lam, cosine in ((0.0, 0.55), (1.0, 0.5))]
    for row in rows:
        row |= {"attack": 0.3, "attack_low": 0.3 - reach, "attack_high": 0.3 + reach}
        row |= {"attack_alone": 0.05, "random_cosine_content": 0.1}
    verdict = frontier_claims(rows, 0.3)[0]
    assert verdict.outcome == outcome
    if outcome == "undecided":
        assert "λ = 1 has 0.500 ± 0.034" in verdict.evidence


@pytest.mark.parametrize(("attack", "outcome"), [(0.3, "holds"), (0.314, "undecided")])
def test_a_line_that_ends_elsewhere_is_known_less(attack: float, outcome: str) -> None:
    rows = [line(cosine, 0.01, lam=lam)[0] for lam, cosine in ((0.0, 0.525), (1.0, 0.5))]
    rows[0]["attack"], rows[1]["attack"] = attack, 0.3
    for row in rows:
        row |= {"attack_low": row["attack"], "attack_high": row["attack"]}
        row |= {"attack_alone": 0.05, "random_cosine_content": 0.1}
    assert frontier_claims(rows, 0.3)[0].outcome == outcome


def test_the_best_of_many_needs_more_evidence() -> None:
    everything = line(0.45, space="all 300 dims", dims=300)
    few = [*everything, *line(0.485)]
    assert frontier_claims(few, 0.3)[0].outcome == "holds"
    many = [row for dims in range(5, 15) for row in line(0.485, space=f"{dims} axes", dims=dims)]
    verdict = frontier_claims([*everything, *many], 0.3)[0]
    assert verdict.outcome == "undecided"
    assert "the best of 10 pairs (Bonferroni)" in verdict.evidence


def claims_about(name: str, rows: list[dict[str, Any]]) -> list[str]:
    return [verdict.claim for verdict in frontier_claims(rows, 0.3) if verdict.name == name]


def test_fewer_dimensions_are_compared_with_all_only_if_these_were_measured() -> None:
    few = [*line(0.6, space="5 axes", dims=5), *line(0.5)]
    assert claims_about("few_dims_closer", few) == []
    rows = [*few, *line(0.4, space="all 300 dims", dims=300)]
    verdict = frontier_claims(rows, 0.3)[0]
    assert verdict.claim == "fewer dimensions are closer than all 300 at equal S (λ = 0, nearest answer)"
    assert "5 axes has 0.600 ± 0.020, all 300 dims has 0.400 ± 0.020" in verdict.evidence


def test_different_vectors_are_not_compared_with_each_other() -> None:
    """Equal numbers of dimensions do not hide each other either, and a claim says which vectors it is about."""
    small = [line(0.4, vectors="a", parent="1", space="all 100 dims", dims=100),
             line(0.6, vectors="a[10]", parent="1")]  # fmt: skip
    large = [line(0.5, vectors="b", parent="2", space="all 300 dims", dims=300),
             line(0.45, vectors="b[10]", parent="2")]  # fmt: skip
    for parts in ([*small, *large], [*large, *small]):
        rows = [row for part in parts for row in part]
        verdicts = {verdict.claim: verdict for verdict in frontier_claims(rows, 0.3)}
        first = verdicts["fewer dimensions are closer than all 100 at equal S (λ = 0, nearest answer), a"]
        second = verdicts["fewer dimensions are closer than all 300 at equal S (λ = 0, nearest answer), b"]
        assert (first.outcome, second.outcome) == ("holds", "does not hold")
    assert claims_about("few_dims_closer", [*small[0], *large[0]]) == []


def test_different_vectors_without_a_name_are_not_compared() -> None:
    rows = [*line(0.4, vectors="", parent="1", space="all 10 dims"), *line(0.9, vectors="", parent="2", lam=1.0,
            space="all 10 dims"), *line(0.6, vectors="unnamed[5]", parent="3", space="5 axes", dims=5)]  # fmt: skip
    assert frontier_claims(rows, 0.3) == []


def test_a_map_is_compared_with_axes_of_its_own_vectors() -> None:
    rows = [
        *line(0.6, vectors="m", parent="1", space="map m"), *line(0.5, vectors="a[10]", parent="1"),
        *line(0.9, vectors="b[10]", parent="2"),
    ]  # fmt: skip
    (verdict,) = frontier_claims(rows, 0.3)
    assert verdict.outcome == "holds"
    assert verdict.claim.endswith("(nearest answer), a")
    assert claims_about("map_closer", [row for row in rows if row["vectors"] != "a[10]"]) == []


def test_rows_say_which_vectors_a_space_was_made_from(small: wv.Embedding) -> None:
    spaces = [small, small.project(2)]
    options: dict[str, Any] = {"lams": [0.0], "answers": ["nearest"], "epsilons": [2.0]}
    rows = wv.evaluation.frontier(spaces, **options, draws=20, word_draws=2, cache=False).rows()
    assert {row["parent"] for row in rows} == {small.fingerprint[:16]}


def test_lines_of_every_mechanism_and_lam_have_names_of_their_own(small: wv.Embedding) -> None:
    result = small_frontier(
        small,
        mechanisms=["mahalanobis", "vickrey"],
        lams=[0.0, 1.0],
        answers=["nearest"],
        epsilons=[1.0, 2.0],
    )
    report = wv.make_report(result)
    lines = [line for panel in report.charts[0].panels for line in panel.lines]
    names = [line.name for line in lines]
    assert len(names) == len(set(names)) == 4
    assert "all 3 dims, vickrey, λ = 1" in names
    assert {len(line.x) for line in lines} == {2}
    rows = [line(0.5, vectors=f"{name}[10]", options=option)[0] for name in "ab" for option in ("", "t=0.5")]
    assert curve_names(rows) == [
        "10 axes, a",
        "10 axes, a, t=0.5",
        "10 axes, b",
        "10 axes, b, t=0.5",
    ]


def test_baselines_stand_in_the_tables_of_accuracy(small: wv.Embedding) -> None:
    result = small_frontier(small, data=DATA, epsilons=[5.0], answers=["nearest"], repetitions=2, linked=20)
    row = result.rows()[0]
    near = wv.make_report(result).tables[0]
    cells = {line[0]: dict(zip(near.columns, line, strict=True)) for line in near.rows}
    for name, key in (
        ("always the same answer", "majority"),
        ("unperturbed text", "unperturbed"),
        ("chance", "chance"),
    ):
        assert cells[name]["accuracy"] == f"{row[f'accuracy_{key}']:.3f}"
    assert cells["a random answer"]["linked"] == f"{100 * row['linkage_by_length']:.1f}%"


@pytest.mark.parametrize(("lams", "said"), [([0.0], False), ([0.0, 0.5], True)])
def test_the_summary_says_what_lam_is_good_for(small: wv.Embedding, lams: list[float], said: bool) -> None:
    report = wv.make_report(small_frontier(small, lams=lams, answers=["nearest"], epsilons=[2.0]))
    sentence = "fewer words stay as they are than with λ = 0, above all words in sparse regions"
    assert (sentence in report.summary[2]) == said
    assert ("above all words in sparse regions" in report.text("html")) == said


def test_settings_without_a_guarantee_are_named_apart() -> None:
    """CusText is best near S = 30%, with an exponent of ∞: the summary and the figure against ε leave it out."""
    result = load_result(EXPERIMENTS / "mechanisms-sms.json")
    report = wv.make_report(result)
    assert (
        "words that an attacker guesses; custext is not among those named here, since nothing"
        in report.summary[0]
    )
    assert "custext" not in report.summary[1]
    assert "S = 30." in report.summary[1]
    by_epsilon = {chart.name: chart for chart in report.charts if chart.xlabel == "ε"}
    assert len(by_epsilon) == 2
    for chart in by_epsilon.values():
        assert min(x for panel in chart.panels for x in panel.x_values) > 1.0
        assert "Without custext" in chart.caption
    marked = [line for panel in report.charts[0].panels for line in panel.lines if "custext" in line.name]
    assert [line.name for line in marked] == [
        "15 axes, custext, no guarantee, λ = 0",
        "15 axes, custext, no guarantee, λ = 1",
    ]
    assert not any(mark for line in marked for mark in line.marked or ())
    assert all(line.x_low for line in marked)
