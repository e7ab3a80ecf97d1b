"""The report of `tune`: the setting that was chosen, the runner-up, what was traded away, what was tried."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from wordveil.evaluation.results import TuningResult
from wordveil.evaluation.tuning_problem import STATISTICS
from wordveil.evaluation.tuning_words import (
    NOT_PRIVATE,
    SHARES,
    limit_in_words,
    limits_in_words,
    setting_name,
)
from wordveil.report.report import Report, make_report
from wordveil.report.tables import StatTable
from wordveil.report.tuning_chart import tuning_chart
from wordveil.rounding import at_most

__all__ = ["tuning_report"]

_COLUMNS: Final[tuple[tuple[str, str, Callable[[float], str]], ...]] = (
    ("S", "attack", "{:.1%}".format),
    ("S, content", "attack_content", "{:.1%}".format),
    ("from answers", "answers_attack", "{:.1%}".format),
    ("watched words", "watched", "{:.1%}".format),
    ("stay", "unchanged", "{:.1%}".format),
    ("ε·d in meaning", "exponent", at_most),
    ("ε·diameter", "exponent_worst", partial(at_most, digits=0)),
    ("cosine, content", "cosine_content", "{:.2f}".format),
    ("100 nearest, content", "near_100_content", "{:.1%}".format),
    ("accuracy", "accuracy", "{:.3f}".format),
    ("linked", "linkage", "{:.1%}".format),
)
_ENDS: Final = ("share", "low", "high")


@make_report.register
def tuning_report(result: TuningResult) -> Report:
    """Return the report on the setting that serves a goal best."""
    charts = [chart] if (chart := tuning_chart(result)) is not None else []
    return Report(
        "tuning",
        f"A setting for a goal: {result.name}",
        _summary(result),
        [],
        charts,
        [
            _judged(result),
            _contenders(result.contenders, is_met=result.is_met),
            _traded(result),
            *([_toml(result)] if result.is_met else []),
        ],
        result.rows(),
        _settings(result),
        result.is_private,
        result.to_dict(),
    )


def _settings(result: TuningResult) -> dict[str, Any]:
    """Return the problem in words and the settings; limits are part of the constraints."""
    problem = {"goal": result.problem["goal"], "constraints": limits_in_words(result.problem)}
    return problem | {"percentile": result.problem.get("percentile"), **result.settings}


def _shown(name: str, value: float) -> str:
    """Return a statistic with as many decimals as all its other values have."""
    return f"{100.0 * value:.1f}%" if name in SHARES else f"{value:.1f}" if value >= 10.0 else f"{value:.3f}"


def _summary(result: TuningResult) -> tuple[str, str, str]:
    tried = f"{result.settings['settings_tried']:,} settings were tried"
    first = f"{tried}, for the {result.problem['goal']}, with {'; '.join(limits_in_words(result.problem))}."
    assert result.chosen is not None
    if not result.is_met:
        second = f"{result.shortfall} It is {setting_name(result.chosen)}."
    else:
        second = f"The choice is {setting_name(result.chosen)}{_runner_up(result)}."
    return first, second, NOT_PRIVATE if result.is_private else " ".join(result.traded[:1])


def _runner_up(result: TuningResult) -> str:
    """Return the runner-up, and whether its value of the goal could be better by chance."""
    if not result.runner_up:
        return ""
    goal = result.problem["optimised"]
    first, second = ((row or {}).get("judged", {}).get(goal) for row in (result.chosen, result.runner_up))
    words = f"; the runner-up is {setting_name(result.runner_up)}"
    if not first or not second:
        return words
    # Both are measured by themselves, so the half-widths add up as errors do.
    room = math.hypot(
        *(max(row["high"] - row["share"], row["share"] - row["low"]) for row in (first, second))
    )
    if abs(first["share"] - second["share"]) > room:
        return words
    values = f"{_shown(goal, first['share'])} and {_shown(goal, second['share'])}"
    return f"{words}, whose difference from the choice is within its 95% interval ({values})"


def _judged(result: TuningResult) -> StatTable:
    """Return what the choice and the runner-up were judged by."""
    rows = []
    for name, judged in (result.chosen or {})["judged"].items():
        values = [(row or {}).get("judged", {}).get(name) for row in (result.chosen, result.runner_up)]
        cells = [
            "" if value is None else "{} ({} to {})".format(*(_shown(name, value[end]) for end in _ENDS))
            for value in values
        ]
        asked = "the goal" if judged["limit"] is None else limit_in_words(name, judged["limit"])
        rows.append((STATISTICS[name].label_at(result.problem.get("percentile")), asked, *cells))
    note = (
        "95% intervals; a constraint is satisfied if the unfavourable end is within the limit, and one on "
        "accuracy only if the classifier is significantly better than the most frequent label."
    )
    return StatTable("Judged by", ("statistic", "asked for", "choice", "runner-up"), tuple(rows), note)


def _contenders(rows: Sequence[dict[str, Any]], *, is_met: bool) -> StatTable:
    columns = [column for column in _COLUMNS if column[1] in rows[0]]
    lines = tuple(
        (
            setting_name(row),
            *("" if row.get(key) is None else show(row[key]) for _, key, show in columns),
        )
        for row in rows
    )
    lines += tuple(
        (name, *("" if values.get(key) is None else show(values[key]) for _, key, show in columns))
        for name, values in _baselines(rows[0]).items()
    )
    place = (
        "Each at the ε where the constraints end"
        if is_met
        else "No setting satisfies every constraint: each is at the ε that came closest"
    )
    note = f"{place}, measured with other draws than those that found this ε."
    return StatTable("The contenders, the best first", ("setting", *(c[0] for c in columns)), lines, note)


def _baselines(row: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the same columns for answers that tell nothing and for unperturbed text, as far as measured."""
    constant = {
        "attack": "attack_alone",
        "attack_content": "attack_content_alone",
        "cosine_content": "constant_cosine_content",
        "near_100_content": "constant_near_100_content",
        "accuracy": "accuracy_majority",
        "linkage": "linkage_by_length",
    }
    random = {name: f"random_{name}" for name in ("cosine_content", "near_100_content")}
    has_labels = row.get("accuracy_majority") is not None
    sources = {
        f"always the same answer{' (most frequent label)' if has_labels else ''}": constant,
        "a random answer": constant | random,
        "unperturbed text": {"accuracy": "accuracy_unperturbed"},
        "chance": {"accuracy": "accuracy_chance", "linkage": "linkage_by_guessing"},
    }
    values = {
        name: {column: row.get(source) for column, source in columns.items()}
        for name, columns in sources.items()
    }
    return {name: cells for name, cells in values.items() if any(v is not None for v in cells.values())}


def _traded(result: TuningResult) -> StatTable:
    rows = tuple((sentence,) for sentence in result.traded)
    return StatTable("What was traded away", ("in words",), rows, is_text=True)


def _toml(result: TuningResult) -> StatTable:
    lines = tuple((line,) for line in (result.chosen or {})["toml"].splitlines() if line)
    return StatTable(
        "The settings file, for 'wordveil perturb --config FILE'", ("TOML",), lines, is_code=True
    )
