"""The report of `tune`: the setting that was chosen, the runner-up, what was traded away, what was tried."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from wordveil.evaluation.results import TuningResult
from wordveil.evaluation.tuning_problem import STATISTICS
from wordveil.evaluation.tuning_words import NOT_PRIVATE, setting_name
from wordveil.report.charts import Chart, Level, Line, Panel
from wordveil.report.report import Report, make_report
from wordveil.report.tables import StatTable
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
_MOST_LINES: Final = 6  # more could not be told apart


@make_report.register
def tuning_report(result: TuningResult) -> Report:
    """Return the report on the setting that serves a goal best."""
    charts = [chart] if (chart := _chart(result)) is not None else []
    return Report(
        "tuning",
        f"A setting for a goal: {result.name}",
        _summary(result),
        [],
        charts,
        [_judged(result), _contenders(result.contenders), _traded(result), _toml(result)],
        result.rows(),
        {**result.problem, **result.settings},
        result.is_private,
        result.to_dict(),
    )


def _summary(result: TuningResult) -> tuple[str, str, str]:
    tried = f"{result.settings['settings_tried']:,} settings were tried"
    asked = "; ".join(result.problem["constraints"])
    first = f"{tried}, for the {result.problem['goal']}, with {asked}."
    assert result.chosen is not None
    if not result.is_met:
        second = f"{result.shortfall} It is {setting_name(result.chosen)}."
    else:
        runner_up = f"; the runner-up is {setting_name(result.runner_up)}" if result.runner_up else ""
        second = f"The choice is {setting_name(result.chosen)}{runner_up}."
    return first, second, NOT_PRIVATE if result.is_private else " ".join(result.traded[:1])


def _judged(result: TuningResult) -> StatTable:
    """Return what the choice and the runner-up were judged by."""
    rows = []
    for name in (result.chosen or {})["judged"]:
        cells = []
        for row in (result.chosen, result.runner_up):
            value = (row or {}).get("judged", {}).get(name)
            cells.append(
                "" if value is None else f"{value['share']:.3g} ({value['low']:.3g} to {value['high']:.3g})"
            )
        limit = (result.chosen or {})["judged"][name]["limit"]
        is_privacy = STATISTICS[name].is_privacy
        asked = f"at {'most' if is_privacy else 'least'} {limit:g}" if limit is not None else "the goal"
        rows.append((STATISTICS[name].label, asked, *cells))
    note = (
        "95% intervals; a constraint is satisfied if the unfavourable end is within the limit, and one on "
        "accuracy only if the classifier is significantly better than the most frequent label."
    )
    return StatTable("Judged by", ("statistic", "asked for", "choice", "runner-up"), tuple(rows), note)


def _contenders(rows: Sequence[dict[str, Any]]) -> StatTable:
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
    note = "Each at the ε where the constraints end, measured with other draws than those that found this ε."
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
    sources = {
        "always the same answer (most frequent label)": constant,
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
    return StatTable("The settings file, for 'wordveil perturb --config FILE'", ("TOML",), lines)


def _chart(result: TuningResult) -> Chart | None:
    """Return the goal against λ, where the first constraint ends: a line for each space and answer."""
    goal = result.problem["optimised"]
    limited = next(iter(result.problem["limits"]))
    rows = [row for row in result.rows() if row.get(goal) is not None and row.get(limited) is not None]
    if goal == limited or not rows:
        return None
    by_line: dict[str, dict[float, float]] = {}
    for (
        row
    ) in rows:  # the first measurement, where the constraint ends; a contender is measured again below it
        by_line.setdefault(_line_name(row), {}).setdefault(row["lam"] or 0.0, row[goal])
    sign = 1.0 if STATISTICS[goal].is_privacy else -1.0
    names = sorted(by_line, key=lambda name: min(sign * value for value in by_line[name].values()))
    lines = tuple(_line(name, by_line[name]) for name in names[:_MOST_LINES])
    limit = result.problem["limits"][limited]
    x, y = (STATISTICS[name].label for name in (limited, goal))
    chosen = (result.chosen or {})["judged"].get(goal, {}).get("share")
    levels = (Level("choice", chosen),) if chosen is not None else ()
    return Chart(
        "tuning",
        f"{y[:1].upper()}{y[1:]}, against λ, at the ε where the constraint ({x}: {limit:g}) ends, with "
        "few draws. The dashed line is the choice, measured with other draws at an ε that is certain to "
        "satisfy the constraint.",
        (Panel("", lines, levels),),
        "λ",
        y,
        decimals=2,
        scale="linear",
    )


def _line_name(row: dict[str, Any]) -> str:
    mechanism = "" if row["mechanism"] == "mahalanobis" else f", {row['mechanism']}"
    return f"{row['space']}{mechanism}, {row['answer']}"


def _line(name: str, by_lam: dict[float, float]) -> Line:
    lams = sorted(by_lam)
    return Line(name, tuple(lams), tuple(by_lam[lam] for lam in lams))
