"""The report of a utility experiment: scores of classifiers trained on private text."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from wordveil.evaluation.results import UtilityResult
from wordveil.evaluation.verdicts import paper
from wordveil.report.charts import Chart, Level, Panel
from wordveil.report.grids import Row, course, grid_table, lines_of, name_settings, tally, values_of
from wordveil.report.report import Report, make_report
from wordveil.report.tables import StatTable

__all__ = ["score_cell", "utility_report"]

_MACRO: Final = ("macro_precision", "macro_recall", "macro_f1")
_BY_LABEL: Final = ("precision", "recall", "f1")
_BASELINES: Final = ("unperturbed", "majority", "chance")
_NEVER_PREDICTED: Final = "the precision of a label that is never predicted counts as 0"
_EQUAL_SIDES: Final = 0.0025  # of an interval: a smaller difference is not worth two numbers
_MAX_LABELS: Final = 20  # with tables of their own; the files for machines have all of them
_NOTES: Final = {
    False: "± or in brackets: the 95% interval over repetitions, corrected because they share data (Nadeau "
    "and Bengio), and at least as wide as Clopper and Pearson's over the tested records.",
    True: "± or in brackets: the 95% interval over tested records, which are resampled; at least as wide as "
    "Clopper and Pearson's.",
}
"""What intervals are, for random splits and for a fixed one."""
_CLASSIFIERS: Final = {"bow": "bag of words", "fasttext": "fastText", "embeddings": "mean of vectors"}
_PAPER_CLASSIFIERS: Final = {"sms": "bag of words", "tweets": "fastText"}


@make_report.register
def utility_report(result: UtilityResult) -> Report:
    """Return the report on what classifiers learn from private text."""
    rows = [row for row in result.rows() if row["mechanism"] is not None]
    tested = values_of(rows, "tested_on")
    main = Chart(
        "accuracy",
        f"Accuracy against ε, {result.name}. The bars are 95% intervals; the dashed lines are the classifier "
        "on unperturbed text, always answering with the most frequent label (majority), and chance.",
        tuple(_panel(_of(rows, "accuracy", on), f"tested on {on} text") for on in tested),
        "ε",
        "accuracy",
        (0.0, 1.0),
        decimals=2,
    )
    note = _NOTES[result.settings.get("split") == "fixed"]
    charts = [chart for on in tested if (chart := _scores_chart(rows, on)).panels]
    tables = [
        _score_table(part, f"{_words(statistic)}, {result.name}, tested on {on} text", note)
        for statistic in ("accuracy", *_MACRO)
        for on in tested
        if (part := _of(rows, statistic, on))
    ]
    labels = values_of(rows, "label")[:_MAX_LABELS]
    tables += [_label_table(rows, label, on) for label in labels for on in tested]
    if paper_name := result.settings.get("paper"):
        tables.append(_comparison(result, str(paper_name)))
    return Report(
        "utility",
        f"How useful private text is: {result.name}, {_classifier(result)}",
        _summary(result, rows, tested),
        result.verdicts(),
        [main, *charts],
        tables,
        result.rows(),
        result.settings,
        result.is_private,
        result.to_dict(),
    )


def _classifier(result: UtilityResult) -> str:
    name = str(result.settings.get("classifier", "classifier"))
    return _CLASSIFIERS.get(name, name)


def _summary(result: UtilityResult, rows: Sequence[Row], tested: Sequence[str]) -> tuple[str, str, str]:
    settings, accuracy = result.settings, [_of(rows, "accuracy", on) for on in tested]
    count = len({*name_settings(accuracy[0])})
    known = {"records": "{:,} texts", "classifier": "classifier: {}", "repetitions": "{} repetitions"}
    shown = {**settings, "classifier": _classifier(result)}
    details = ", ".join(text.format(shown[key]) for key, text in known.items() if settings.get(key))
    ranges = "; ".join(
        f"tested on {on} text, accuracy {course(part, 2)}" for on, part in zip(tested, accuracy, strict=True)
    )
    levels = ", ".join(f"{name} {value}" for name, value in _levels(accuracy[0][0], decimals=2))
    return (
        f"A classifier was trained on private text of {result.name} at {count} setting{'s'[: count > 1]} and "
        f"{len(values_of(rows, 'epsilon'))} ε{f' ({details})' if details else ''}.",
        f"{ranges[0].upper()}{ranges[1:]}; {levels}.",
        tally(result.verdicts()),
    )


def _levels(row: Row, decimals: int = 3) -> list[tuple[str, str]]:
    """Return the baselines that are shown beside every score, as text."""
    return [(name, f"{row[name]:.{decimals}f}") for name in _BASELINES if row.get(name) is not None]


def _of(rows: Sequence[Row], statistic: str, on: str, label: str | None = None) -> list[Row]:
    """Return the rows of one statistic, on one kind of test text."""
    wanted = (statistic, on, label)
    return [
        row
        for row in rows
        if (row["statistic"], row["tested_on"], row["label"]) == wanted and row["mechanism"] is not None
    ]


def _panel(rows: Sequence[Row], title: str) -> Panel:
    levels = tuple(Level(name, float(rows[0][name])) for name in _BASELINES if rows[0].get(name) is not None)
    return Panel(title, lines_of(rows, "mean", "low", "high"), levels)


def _scores_chart(rows: Sequence[Row], on: str) -> Chart:
    names = [name for name in _MACRO if _of(rows, name, on)]
    return Chart(
        f"scores-{on}",
        f"{', '.join(map(_words, names)).replace('macro', 'Macro', 1)} against ε, tested on {on} text. "
        f"Macro is the mean over all labels; {_NEVER_PREDICTED}.",
        tuple(_panel(_of(rows, name, on), _words(name)) for name in names),
        "ε",
        "score",
        (0.0, 1.0),
        decimals=2,
    )


def _score_table(rows: Sequence[Row], title: str, note: str) -> StatTable:
    notes = [note] if any(row["low"] is not None for row in rows) else []
    if rows[0]["statistic"] == "macro_precision":
        notes.append(f"{_NEVER_PREDICTED[0].upper()}{_NEVER_PREDICTED[1:]}.")
    return grid_table(
        f"{title[0].upper()}{title[1:]}", rows, score_cell, below=dict(_levels(rows[0])), note=" ".join(notes)
    )


def _words(statistic: str) -> str:
    return statistic.replace("_", " ").replace("f1", "F1")


def score_cell(row: Row) -> str:
    """Return a score with its interval."""
    if row.get("is_undefined"):
        return "–"
    mean, low, high = row["mean"], row["low"], row["high"]
    if low is None:
        return f"{mean:.3f}"
    below, above = mean - low, high - mean
    # An exact interval has unequal sides, and so has one that is cut off at 0 or 1.
    if abs(below - above) < _EQUAL_SIDES:
        return f"{mean:.3f} ± {max(below, above):.3f}"
    return f"{mean:.3f} ({low:.3f} to {high:.3f})"


def _label_table(rows: Sequence[Row], label: str, on: str) -> StatTable:
    """Return precision, recall and F1 of one label."""
    parts = {statistic: part for statistic in _BY_LABEL if (part := _of(rows, statistic, on, label))}
    chosen = [
        {
            "setting": f"{_words(statistic)}, {name}",
            **{key: row[key] for key in ("epsilon", "mean", "low", "high")},
            "is_undefined": statistic == "precision" and row.get("predicted") == 0.0,
        }
        for statistic, part in parts.items()
        for name, row in zip(name_settings(part), part, strict=True)
    ]
    below = {
        f"{_words(statistic)}, {name}": text
        for statistic, part in parts.items()
        for name, text in _levels(part[0])
    }
    note = "–: the label was never predicted." if any(row["is_undefined"] for row in chosen) else ""
    table = grid_table(f"Label '{label}', tested on {on} text", chosen, score_cell, below=below, note=note)
    return replace(table, is_detail=True)


def _comparison(result: UtilityResult, paper_name: str) -> StatTable:
    """Return the scores on unperturbed text, for either label, beside the paper's."""
    clean = [row for row in result.rows() if row["mechanism"] is None]
    own = f"ours, {_classifier(result)}"
    scores = ("accuracy", "precision", "recall")
    rows: list[tuple[str, ...]] = []
    for name, key in ((own, "mean"), ("majority", "majority"), ("chance", "chance")):
        values = {(row["statistic"], row["label"]): f"{row[key]:.3f}" for row in clean}
        rows += [
            (f"{name}, about '{label}'", values["accuracy", None], *(values[s, label] for s in scores[1:]))
            for label in values_of(clean, "label")
        ]
    paper_scores: dict[str, float] = paper()["utility"][paper_name]
    rows.append(
        (f"the paper's, {_PAPER_CLASSIFIERS[paper_name]}", *(f"{paper_scores[s]:.2f}" for s in scores))
    )
    return StatTable(f"Unperturbed text of {result.name}, ours and the paper's", ("", *scores), tuple(rows))
