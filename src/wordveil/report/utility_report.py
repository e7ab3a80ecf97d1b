"""The report of a utility experiment: scores of classifiers trained on private text."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from wordveil.evaluation.results import UtilityResult
from wordveil.evaluation.verdicts import paper
from wordveil.report.charts import Chart, Level, Panel
from wordveil.report.grids import Row, ends, grid_table, lines_of, name_settings, tally, values_of
from wordveil.report.report import Report, make_report
from wordveil.report.tables import StatTable

__all__ = ["utility_report"]

_MACRO: Final = ("macro_precision", "macro_recall", "macro_f1")
_BY_LABEL: Final = ("precision", "recall", "f1")
_BASELINES: Final = ("unperturbed", "majority", "chance")
_MIN_PREDICTIONS: Final = 10  # of fewer, a precision means nothing
_SETTING: Final = (
    "tested_on", "setting", "vectors", "mechanism", "dims", "lam", "epsilon", "answer", "options",
)  # fmt: skip
_MAX_LABELS: Final = 20  # with tables of their own; the files for machines have all of them
_NOTES: Final = {
    False: "± or in brackets: the 95% interval over repetitions, corrected because they share data (Nadeau "
    "and Bengio).",
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
        _score_table(part, f"{statistic.replace('_', ' ')}, {result.name}, tested on {on} text", note)
        for statistic in ("accuracy", *_MACRO)
        for on in tested
        if (part := _of(rows, statistic, on))
    ]
    labels = values_of(rows, "label")[:_MAX_LABELS]
    tables += [_label_table(result, rows, label, on) for label in labels for on in tested]
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
        f"tested on {on} text, accuracy goes {ends(part, 2)}"
        for on, part in zip(tested, accuracy, strict=True)
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
        f"{', '.join(names).replace('_', ' ').capitalize()} against ε, tested on {on} text. "
        "Macro is the mean over all labels.",
        tuple(_panel(_of(rows, name, on), name.replace("_", " ")) for name in names),
        "ε",
        "score",
        (0.0, 1.0),
        decimals=2,
    )


def _score_table(rows: Sequence[Row], title: str, note: str) -> StatTable:
    has_intervals = any(row["low"] is not None for row in rows)
    return grid_table(
        f"{title[0].upper()}{title[1:]}",
        rows,
        _cell,
        below=dict(_levels(rows[0])),
        note=note if has_intervals else "",
    )


def _cell(row: Row) -> str:
    if row.get("is_rare"):
        return "–"
    mean, low, high = row["mean"], row["low"], row["high"]
    if low is None:
        return f"{mean:.3f}"
    below, above = f"{mean - low:.3f}", f"{high - mean:.3f}"
    # An interval that is cut off at 0 or 1 has unequal sides.
    return f"{mean:.3f} ± {above}" if below == above else f"{mean:.3f} ({low:.3f} to {high:.3f})"


def _label_table(result: UtilityResult, rows: Sequence[Row], label: str, on: str) -> StatTable:
    """Return precision, recall and F1 of one label."""
    parts = {statistic: part for statistic in _BY_LABEL if (part := _of(rows, statistic, on, label))}
    chosen = [
        {
            "setting": f"{statistic}, {name}",
            **{key: row[key] for key in ("epsilon", "mean", "low", "high")},
            "is_rare": statistic == "precision" and _is_rare(result, rows, row),
        }
        for statistic, part in parts.items()
        for name, row in zip(name_settings(part), part, strict=True)
    ]
    below = {
        f"{statistic}, {name}": text for statistic, part in parts.items() for name, text in _levels(part[0])
    }
    is_any_rare = any(row["is_rare"] for row in chosen)
    note = f"–: the label was predicted fewer than {_MIN_PREDICTIONS} times." if is_any_rare else ""
    table = grid_table(f"Label '{label}', tested on {on} text", chosen, _cell, below=below, note=note)
    return replace(table, is_detail=True)


def _is_rare(result: UtilityResult, rows: Sequence[Row], row: Row) -> bool:
    """Return whether a label is hardly ever predicted at a setting, which the recalls of two labels tell."""
    settings = result.settings
    labels, count = settings.get("labels") or (), settings.get("tested_records")
    if len(labels) != 2 or count is None or row["label"] not in labels:
        return False
    recall = {
        other["label"]: other["mean"]
        for other in rows
        if other["statistic"] == "recall" and all(other[key] == row[key] for key in _SETTING)
    }
    majority = next(other["majority"] for other in rows if other["statistic"] == "accuracy")
    share = majority if row["label"] == settings.get("majority_label") else 1.0 - majority
    other = next(label for label in labels if label != row["label"])
    predicted = count * (share * recall[row["label"]] + (1.0 - share) * (1.0 - recall[other]))
    return bool(predicted < _MIN_PREDICTIONS)


def _comparison(result: UtilityResult, paper_name: str) -> StatTable:
    """Return the scores on unperturbed text, for either label, beside the paper's."""
    clean = [row for row in result.rows() if row["mechanism"] is None]
    own = f"ours, {result.settings.get('classifier', 'classifier')}"
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
