"""The report of a frontier: what settings are worth at equal attack, and how misleading equal ε is."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

from wordveil.evaluation.frontier_claims import curve_of
from wordveil.evaluation.frontier_rings import is_promised, undominated
from wordveil.evaluation.results import FrontierResult
from wordveil.report.charts import Chart, Level, Line, Panel
from wordveil.report.frontier_tables import curve_names, frontier_tables, full_names, group_names
from wordveil.report.grids import Row, tally, values_of
from wordveil.report.report import Report, make_report

__all__ = ["frontier_report"]

_S: Final = "S, % of words that an attacker guesses"
_IN_PERCENT: Final = ("attack", "linkage")
_MARK: Final = "undominated (ringed)"
_BESIDE: Final = 0.02  # two percentage points: about what S is known to
_S_BARS: Final = "Horizontal bars are the intervals of S."
_RINGS: Final = (
    "Rings mark settings that no other one, in any panel, beats: none is better in one of the two beyond the "
    "95% intervals and not worse in the other beyond them. What is no better than an answer that does not "
    "depend on the word gets no ring. Where S is known by bounds only, its upper end counts."
)


@make_report.register
def frontier_report(result: FrontierResult) -> Report:
    """Return the report on what λ, spaces, mechanisms and answers buy."""
    rows = result.rows()
    undominated(rows, "cosine_content", "undominated", "constant_cosine_content")
    if "accuracy" in rows[0]:
        undominated(rows, "accuracy", "undominated_accuracy", "accuracy_majority")
    at = result.settings["reference_attack"]
    charts = [*_text_charts(rows, 100.0 * at), *_closeness_charts(rows, 100.0 * at)]
    tables = frontier_tables(rows, at)
    return Report(
        "frontier",
        _title(result, rows),
        _summary(result, rows),
        result.verdicts(),
        charts,
        tables,
        rows,
        result.settings,
        result.is_private,
        result.to_dict(),
    )


def _title(result: FrontierResult, rows: Sequence[Row]) -> str:
    """Return what was compared, on which vectors; maps and projections are named by what they are made of."""
    mechanisms = values_of(rows, "mechanism")
    what = f"{len(mechanisms)} mechanisms" if len(mechanisms) > 1 else "settings"
    spaces = {row["vectors"].partition("[")[0]: row["space"] for row in rows}
    bases = [name for name, space in spaces.items() if not space.startswith("map ")]
    texts = f"{result.name}, " if "accuracy" in rows[0] else ""
    return f"What {what} are worth at equal attack: {texts}{', '.join(bases or spaces)}"


def _summary(result: FrontierResult, rows: Sequence[Row]) -> tuple[str, str, str]:
    """Return what was compared and what is best near one S, among settings that promise something."""
    at = result.settings["reference_attack"]
    head = f"{len(rows)} settings were compared by S, the % of words that an attacker guesses"
    promised = [row for row in rows if is_promised(dict(row))]
    if unpromised := values_of([row for row in rows if not is_promised(dict(row))], "mechanism"):
        are = "is" if len(unpromised) == 1 else "are"
        head += (
            f"; {', '.join(unpromised)} {are} not among those named here, since nothing is promised between "
            "some words, whatever ε is"
        )
    head += "."
    beside = [row for row in promised if abs(row["attack"] - at) <= _BESIDE]
    what = f"Within {100 * _BESIDE:g} percentage points of S = {100 * at:g}%"
    names = dict(zip(map(id, rows), full_names(rows), strict=True))
    lesson = tally(result.verdicts()) + _about_lam(rows)
    if not beside:
        return head, f"{what} lies no setting.", lesson

    def named(row: Row) -> str:
        return f"{names[id(row)]}, ε = {row['epsilon']:g}, S = {100 * row['attack']:.1f}%"

    if "accuracy" in rows[0]:
        top = max(beside, key=lambda row: row["accuracy"])
        return (
            head,
            f"{what}, the best accuracy is {top['accuracy']:.3f} ({named(top)}), "
            f"{top['accuracy_unperturbed']:.3f} on unperturbed text and {top['accuracy_majority']:.3f} by "
            f"the most frequent label; there {top['linkage']:.0%} of the texts are linked to their "
            "originals.",
            lesson,
        )
    best = max(beside, key=lambda row: row["cosine_content"])
    worst = min(beside, key=lambda row: row["cosine_content"])
    return (
        head,
        f"{what}, answers to content words have a mean cosine of {best['cosine_content']:.2f} at best "
        f"({named(best)}) and {worst['cosine_content']:.2f} at worst ({named(worst)}); one and the same "
        f"answer for every word has {best['constant_cosine_content']:.2f}.",
        lesson,
    )


def _about_lam(rows: Sequence[Row]) -> str:
    """Return what λ is good for, if it was measured: the rows compare equal S, where that can't be seen."""
    if not any(row["lam"] for row in rows):
        return ""
    return (
        " What λ > 0 is good for shows at equal ε: on the default vectors fewer words stay as they are than "
        "with λ = 0, above all words in sparse regions (docs/frontier.md)."
    )


def _panels(
    rows: Sequence[Row], x: str, y: str, levels: tuple[Level, ...], marked: str = ""
) -> tuple[Panel, ...]:
    """Return a panel for each answer, with a line for each space, mechanism and λ."""
    groups_of = dict(zip(names := curve_names(rows), group_names(rows), strict=True))
    panels = []
    for answer in dict.fromkeys(row["answer"] for row in rows):
        groups: dict[Any, list[Row]] = {}
        named: dict[Any, str] = {}
        for name, row in zip(names, rows, strict=True):
            if row["answer"] == answer:
                curve = curve_of(dict(row))
                named[curve] = name
                groups.setdefault(curve, []).append(row)
        lines = tuple(
            _line(named[curve], groups_of[named[curve]], sorted(group, key=lambda row: row[x]), x, y, marked)
            for curve, group in groups.items()
        )
        panels.append(Panel(f"{answer} answer" if answer else "own answers", lines, levels))
    return tuple(panels)


def _line(name: str, group: str, rows: Sequence[Row], x: str, y: str, marked: str) -> Line:
    def column(key: str) -> tuple[float, ...]:
        scale = 100.0 if key.startswith(_IN_PERCENT) else 1.0
        return tuple(scale * float(row[key]) for row in rows)

    has_bars = x == "attack" and all(row.get("attack_high") is not None for row in rows)
    return Line(
        name,
        column(x),
        column(y),
        column(f"{y}_low"),
        column(f"{y}_high"),
        tuple(bool(row[marked]) for row in rows) if marked else None,
        group,
        column("attack_low") if has_bars else None,
        column("attack_high") if has_bars else None,
    )


def _by_epsilon(chart: Chart, rows: Sequence[Row], y: str) -> list[Chart]:
    """Return a chart against ε, without the rows whose ε promises nothing between some words."""
    promised = [row for row in rows if is_promised(dict(row))]
    if not promised:
        return []
    left_out = values_of([row for row in rows if not is_promised(dict(row))], "mechanism")
    note = (
        f" Without {', '.join(left_out)}: nothing is promised there between some words." if left_out else ""
    )
    panels = _panels(promised, "epsilon", y, chart.panels[0].levels)
    return [replace(chart, caption=f"{chart.caption}{note}", panels=panels)]


def _closeness_charts(rows: Sequence[Row], reference: float) -> list[Chart]:
    nulls = (
        Level("constant", rows[0]["constant_cosine_content"]),
        Level("random", rows[0]["random_cosine_content"]),
    )
    what = "The mean cosine of content words and their answers, in all dimensions"
    bars = (
        "The bars are 95% intervals; the dashed lines are the best answer that is always the same, and a "
        "random word."
    )
    by_attack = Chart(
        "closeness",
        f"{what}, against S. {bars} {_S_BARS} {_RINGS}",
        _panels(rows, "attack", "cosine_content", nulls, "undominated"),
        _S,
        "cosine, content words",
        (-1.0, 1.0),
        decimals=2,
        scale="linear",
        mark=_MARK,
        reference=reference,
    )
    by_epsilon = Chart(
        "closeness-by-epsilon",
        f"{what}, against ε, for contrast: ε is a rate per unit of distance, so the same ε promises "
        f"different things in different spaces. {bars}",
        _panels(rows, "epsilon", "cosine_content", nulls),
        "ε",
        "cosine, content words",
        (-1.0, 1.0),
        decimals=2,
        scale="log",
    )
    return [by_attack, *_by_epsilon(by_epsilon, rows, "cosine_content")]


def _text_charts(rows: Sequence[Row], reference: float) -> list[Chart]:
    if "accuracy" not in rows[0]:
        return []
    first = rows[0]
    baselines = tuple(
        Level(name, first[f"accuracy_{name}"]) for name in ("unperturbed", "majority", "chance")
    )
    accuracy = Chart(
        "accuracy",
        "The accuracy of a classifier that learns from private text, against S. The bars are 95% intervals; "
        f"the dashed lines are unperturbed text, the most frequent label, and chance. {_S_BARS} {_RINGS}",
        _panels(rows, "attack", "accuracy", baselines, "undominated_accuracy"),
        _S,
        "accuracy",
        (0.0, 1.0),
        decimals=2,
        scale="linear",
        mark=_MARK,
        reference=reference,
    )
    linkage = Chart(
        "linkage",
        f"How often a private text is linked to its original among {first['linkage_candidates']:,}, by its "
        "words and its length, against S. The bars are 95% intervals; the dashed line is its length alone.",
        _panels(rows, "attack", "linkage", (Level("length", 100.0 * first["linkage_by_length"]),)),
        _S,
        "linked texts, %",
        (0.0, 100.0),
        decimals=1,
        scale="linear",
        reference=reference,
    )
    by_epsilon = Chart(
        "accuracy-by-epsilon",
        "The same accuracy against ε, for contrast.",
        _panels(rows, "epsilon", "accuracy", baselines),
        "ε",
        "accuracy",
        (0.0, 1.0),
        decimals=2,
        scale="log",
    )
    return [accuracy, linkage, *_by_epsilon(by_epsilon, rows, "accuracy")]
