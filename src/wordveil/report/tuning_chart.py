"""The picture of `tune`: the goal against λ, of settings within all limits."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from wordveil.evaluation.results import TuningResult
from wordveil.evaluation.tuning_problem import NEARLY, STATISTICS
from wordveil.evaluation.tuning_words import SHARES, limits_in_words
from wordveil.report.charts import Chart, Level, Line, Panel

__all__ = ["tuning_chart"]

_MOST_LINES: Final = 5  # and the choice: more could not be told apart
_MOST_LEVELS: Final = 3  # dashed lines of baselines; chosen by judgement
_ENDS: Final = ("share", "low", "high")
# The same statistic for answers that tell nothing: its column, and what to call it.
_NULLS: Final = {
    "closeness": ("constant_cosine_content", "constant answer"),
    "accuracy": ("accuracy_majority", "most frequent label"),
    "attack": ("attack_alone", "without output"),
}


def tuning_chart(result: TuningResult) -> Chart | None:
    """Return the goal against λ: a line for each space and answer, a baseline for each that has no λ."""
    goal = result.problem["optimised"]
    by_line: dict[str, dict[float | None, dict[str, Any]]] = {}
    for row in result.rows():
        if row.get(goal) is not None and row["excess_middle"] <= NEARLY:
            by_lam = by_line.setdefault(_line_name(row), {})
            by_lam[row["lam"]] = _better(row, by_lam.get(row["lam"], row), goal)
    names = sorted(by_line, key=lambda name: min(_rank(row, goal) for row in by_line[name].values()))
    lines = [_line(name, goal, by_line[name]) for name in names if None not in by_line[name]]
    if not lines:
        return None
    levels = [_level(name, goal, by_line[name][None]) for name in names if None in by_line[name]]
    choice = _choice(result, goal)
    limits, part = "; ".join(limits_in_words(result.problem)), f"{100.0 * NEARLY:g}%"
    label = _label(goal)
    caption = (
        f"{label[:1].upper()}{label[1:]}, against λ. Points are the best settings within limits ({limits}), "
        f"of those with the most draws; with few draws, {part} beyond one counts as within. Where no "
        "setting is, there is no point. The bars are 95% intervals."
    )
    lams = {lam for line in (*choice, *lines[:_MOST_LINES]) for lam in line.x}
    if choice:
        caption += " The ringed point is the choice, of which the unfavourable ends are within all limits."
    return Chart(
        "tuning",
        caption,
        (Panel("", (*choice, *lines[:_MOST_LINES]), (*_nulls(result, goal), *levels[:_MOST_LEVELS])),),
        "λ",
        label,
        decimals=1 if goal in SHARES else 2,
        scale="linear" if len(lams) > 1 else "",  # around a single λ the axis would show impossible ones
        mark="the setting that was chosen (ringed)",
    )


def _label(goal: str) -> str:
    return f"{STATISTICS[goal].label}{', %' if goal in SHARES else ''}"


def _rank(row: Mapping[str, Any], goal: str) -> float:
    return float(row[goal] if STATISTICS[goal].is_privacy else -row[goal])


def _better(row: dict[str, Any], other: dict[str, Any], goal: str) -> dict[str, Any]:
    """Return the row with more draws: the best of those with few draws is the luckiest."""
    return min(row, other, key=lambda one: (-one["draws"], _rank(one, goal)))


def _scale(goal: str) -> float:
    return 100.0 if goal in SHARES else 1.0


def _choice(result: TuningResult, goal: str) -> tuple[Line, ...]:
    """Return the choice as a marked point with its interval, if it satisfies the limits and has a λ."""
    chosen = result.chosen or {}
    judged = chosen.get("judged", {}).get(goal)
    if judged is None or chosen["lam"] is None or not result.is_met:
        return ()
    y, low, high = (_scale(goal) * judged[end] for end in _ENDS)
    return (Line(f"choice: {_line_name(chosen)}", (chosen["lam"],), (y,), (low,), (high,), (True,)),)


def _nulls(result: TuningResult, goal: str) -> tuple[Level, ...]:
    """Return what answers that tell nothing have, if that was measured."""
    column, name = _NULLS[goal]
    row = result.chosen or {}
    if row.get(column) is None:
        return ()
    # The goal is accuracy relative to that on unperturbed text.
    unit = row["accuracy_unperturbed"] if goal == "accuracy" else 1.0
    return (Level(name, _scale(goal) * row[column] / unit),)


def _line_name(row: Mapping[str, Any]) -> str:
    mechanism = "" if row["mechanism"] == "mahalanobis" else row["mechanism"]
    return ", ".join(part for part in (row["space"], mechanism, row["answer"]) if part)


def _line(name: str, goal: str, by_lam: Mapping[Any, Mapping[str, Any]]) -> Line:
    lams: Iterable[float] = sorted(by_lam)
    y, low, high = (
        tuple(_scale(goal) * by_lam[lam][f"{goal}{end}"] for lam in lams) for end in ("", "_low", "_high")
    )
    return Line(name, tuple(lams), y, low, high)


def _level(name: str, goal: str, row: Mapping[str, Any]) -> Level:
    return Level(name, _scale(goal) * row[goal])
