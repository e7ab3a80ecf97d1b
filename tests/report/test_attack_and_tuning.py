"""The reports of attacks and of a setting for a goal, from plain results."""

from dataclasses import replace
from typing import Any

from wordveil.evaluation.attacks_result import Attack, Attacks
from wordveil.evaluation.results import FrontierResult, TuningResult
from wordveil.intervals import Share
from wordveil.report.drawing import draw_chart
from wordveil.report.frontier_tables import interpolated, ranked
from wordveil.report.report import make_report


def tuned(runner_up: float) -> TuningResult:
    """Return a choice with a cosine of 0.55 ± 0.02, and a runner-up with this one ± 0.02."""

    def row(lam: float, answer: str, share: float) -> dict[str, Any]:
        judged = {
            "attack": {"share": 0.28, "low": 0.27, "high": 0.296, "flaw": "", "limit": 0.3},
            "closeness": {
                "share": share, "low": share - 0.02, "high": share + 0.02, "flaw": "", "limit": None,
            },
        }  # fmt: skip
        values = {"attack": 0.28, "closeness": share, "constant_cosine_content": 0.36, "attack_alone": 0.05}
        values |= {"closeness_low": share - 0.02, "closeness_high": share + 0.02}
        values |= {"draws": 5000, "excess_middle": -0.07}
        place = {"space": "10 axes", "mechanism": "mahalanobis", "lam": lam, "answer": answer, "epsilon": 5.0}
        return place | values | {"judged": judged, "toml": "lam = 0.5\n"}

    problem: dict[str, Any] = {
        "goal": "largest mean cosine", "constraints": [], "limits": {"attack": 0.3},
        "optimised": "closeness", "percentile": None,
    }  # fmt: skip
    chosen, other = row(0.5, "closest", 0.55), row(0.0, "nearest", runner_up)
    settings = {"settings_tried": 1200, "lams": [0.0, 0.5]}
    return TuningResult(
        "v", settings, [chosen, other], [], False, problem, chosen, other, [chosen, other], is_met=True
    )


def test_the_picture_of_a_goal_has_intervals_a_baseline_and_the_choice() -> None:
    (chart,) = make_report(tuned(0.5)).charts
    (panel,) = chart.panels
    assert [(level.name, level.value) for level in panel.levels] == [("constant answer", 0.36)]
    choice, *others = panel.lines
    assert (choice.name, choice.x, choice.y, choice.marked) == (
        "choice: 10 axes, closest", (0.5,), (0.55,), (True,),
    )  # fmt: skip
    assert all(line.low and line.high for line in (choice, *others))
    assert len(others) == 2


def test_the_picture_shows_only_what_is_within_all_limits() -> None:
    result = tuned(0.5)
    row = result.facts[0]
    near = {"draws": 160, "closeness": 0.6, "excess_middle": 0.01}  # luckier, with few draws
    beyond = {"draws": 9000, "closeness": 0.9, "excess_middle": 0.03}
    rows = [row, row | near, row | beyond, row | near | {"lam": 0.25}, row | beyond | {"lam": 0.75}]
    no_lam = {"lam": None, "answer": None, "mechanism": "custext"}
    rows += [row | no_lam, row | no_lam | beyond]
    (chart,) = make_report(replace(result, facts=rows)).charts
    _, line = chart.panels[0].lines
    assert (line.x, line.y) == ((0.25, 0.5), (0.6, 0.55))
    assert [(level.name, level.value) for level in chart.panels[0].levels] == [
        ("constant answer", 0.36), ("10 axes, custext", 0.55),
    ]  # fmt: skip
    assert "within limits (S, how often a word is guessed: at most 30%)" in chart.caption
    assert not make_report(replace(result, facts=rows[-2:])).charts
    (chart,) = make_report(replace(result, facts=rows, is_met=False, shortfall="No.")).charts
    assert not any(line.marked for line in chart.panels[0].lines)
    assert "choice" not in chart.caption


def test_with_one_lam_the_axis_has_no_other() -> None:
    """Matplotlib would place the axis around it: from -0.04 to 0.04 if it is 0."""
    result = tuned(0.5)
    rows = [row | {"lam": 0.0} for row in result.facts]
    chosen = (result.chosen or {}) | {"lam": 0.0}
    (chart,) = make_report(replace(result, facts=rows, chosen=chosen)).charts
    for narrow in (False, True):
        axes = draw_chart(chart, narrow=narrow).axes[0]
        assert [tick.get_text() for tick in axes.get_xticklabels()] == ["0"]
    (several,) = make_report(result).charts
    figure = draw_chart(several)
    figure.draw_without_rendering()
    low, high = figure.axes[0].get_xlim()
    ticks = [float(tick) for tick in figure.axes[0].get_xticks() if low <= tick <= high]
    assert 0.0 <= min(ticks) < max(ticks) <= 1.0


def test_the_label_of_every_goal_fits_beside_the_axis() -> None:
    result = tuned(0.5)
    for goal in ("accuracy", "closeness", "attack"):
        values = {goal: 0.5, f"{goal}_low": 0.45, f"{goal}_high": 0.55}
        rows = [row | values for row in result.facts]
        problem = {**result.problem, "optimised": goal}
        chosen = (result.chosen or {}) | {"accuracy_majority": 0.4, "accuracy_unperturbed": 0.8}
        (chart,) = make_report(replace(result, facts=rows, chosen=chosen, problem=problem)).charts
        for narrow in (False, True):
            figure = draw_chart(chart, narrow=narrow)
            figure.draw_without_rendering()
            label = figure.axes[0].yaxis.label.get_window_extent()
            assert label.height <= figure.axes[0].bbox.height, goal


def test_the_note_says_whether_the_limits_are_satisfied() -> None:
    result = tuned(0.5)
    assert "Each at the ε where the constraints end, measured" in make_report(result).tables[1].note
    unmet = make_report(replace(result, is_met=False, shortfall="No.")).tables[1].note
    assert "No setting satisfies every constraint: each is at the ε that came closest, measured" in unmet


def test_a_runner_up_that_could_be_better_by_chance_is_said_to_be() -> None:
    near, far = (make_report(tuned(share)).summary[1] for share in (0.53, 0.5))
    assert "is within its 95% interval (0.550 and 0.530)" in near
    assert "within" not in far


def test_shares_are_in_percent_with_the_same_decimals() -> None:
    report = make_report(tuned(0.5))
    judged, contenders = report.tables[:2]
    assert judged.rows[0][1:3] == ("at most 30%", "28.0% (27.0% to 29.6%)")
    assert judged.rows[1][2] == "0.550 (0.530 to 0.570)"
    assert "always the same answer" in [row[0] for row in contenders.rows]  # there are no labels
    assert "at most 30%" in report.summary[0]
    assert "limits" not in report.settings


def test_settings_that_were_attacked_are_in_words() -> None:
    setting = {"mechanism": "mahalanobis", "lam": 1.0, "answer": "nearest", "dims": 10}
    attacks = tuple(
        Attack("words", name, Share(0.2, 0.1, 0.3), null, 100, setting | {"epsilon": epsilon})
        for epsilon in (2.0, 4.0)
        for name, null in (("best guess", 0.05), ("best guess from answers", 0.05), ("topic prior", 0.09))
    )
    result = Attacks({"settings": [attack.setting for attack in attacks[::3]], "draws": 100}, attacks)
    report = make_report(result)
    assert report.settings == {
        "mechanism": ["mahalanobis"], "lam": [1.0], "answer": ["nearest"], "dims": [10],
        "epsilon": [2.0, 4.0], "draws": 100,
    }  # fmt: skip
    assert report.summary[0].startswith("2 settings were attacked")
    (panel,) = report.charts[0].panels
    assert {level.name: level.value for level in panel.levels} == {
        "without the output": 5.0, "topic prior, without output": 9.0,
    }  # fmt: skip
    assert report.charts[0].ylabel == "success, %"


def test_a_frontier_names_its_vectors_and_has_s_in_percent() -> None:
    measures = {
        f"{name}{end}": 0.3
        for name in ("attack", "attack_content", "answers_attack", "answers_attack_content", "watched")
        for end in ("", "_low", "_high")
    }
    kinds = ("tokens", "content", "uniform")
    measures |= {f"cosine_{kind}{end}": 0.5 for kind in kinds for end in ("", "_low", "_high")}
    measures |= {f"{null}_cosine_{kind}": 0.3 for null in ("constant", "random") for kind in kinds}
    measures |= dict.fromkeys(("exponent", "exponent_p95", "exponent_worst", "n_w", "n_w_p95"), 5.0)
    measures |= {"watched_above_half": 3, "watched_words": 9}
    rows = [
        {
            "space": space, "vectors": vectors, "mechanism": "mahalanobis", "dims": 10, "lam": lam,
            "epsilon": 5.0, "answer": "nearest", "options": "", "undominated": False, "setting": None,
        } | measures
        for space, vectors in (("map m-map10", "m-map10"), ("10 axes", "m-300d[10]"))
        for lam in (0.0, 1.0)
    ]  # fmt: skip
    result = FrontierResult("m-map10", {"reference_attack": 0.3}, rows)
    report = make_report(result)
    assert report.title == "What settings are worth at equal attack: m-300d"
    assert report.summary[1].startswith("Within 2 percentage points of S = 30%, ")
    assert (
        report.tables[0].title
        == "For each line the setting nearest to S = 30%, in order of closeness at that S"
    )
    chart = report.charts[0]
    assert (chart.xlabel, chart.reference) == ("S, % of words that an attacker guesses", 30.0)
    lines = chart.panels[0].lines
    assert [line.x for line in lines] == [(30.0,)] * 4
    assert [line.group for line in lines] == ["m-map10"] * 2 + ["10 axes"] * 2
    assert all(line.name.startswith(line.group) for line in lines)
    several = [row | {"mechanism": name} for row in rows for name in ("laplace", "vickrey")]
    title = make_report(replace(result, facts=several)).title
    assert title == "What 2 mechanisms are worth at equal attack: m-300d"


def test_lines_are_ranked_at_the_same_attack_and_not_where_each_was_measured() -> None:
    """The first has a larger cosine where it was measured, since its S is larger there."""

    def line(space: str, *points: tuple[float, float]) -> list[dict[str, Any]]:
        return [
            {
                "space": space, "attack": attack, "attack_low": attack - 0.01, "attack_high": attack + 0.01,
                "cosine_content": value, "cosine_content_low": value - 0.02,
                "cosine_content_high": value + 0.02,
            }
            for attack, value in points
        ]  # fmt: skip

    rows = [
        *line("measured beyond", (0.2, 0.40), (0.33, 0.66)),
        *line("at it", (0.2, 0.52), (0.3, 0.62)),
        *line("too far away", (0.1, 0.7), (0.2, 0.8)),
    ]
    places = ranked(rows, 0.3)
    assert [row["space"] for row, _ in places] == ["at it", "measured beyond", "too far away"]
    assert [interpolated(at) for _, at in places] == ["0.62 ± 0.02", "0.60 ± 0.03", ""]
