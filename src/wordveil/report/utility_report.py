"""The utility experiment as tables, the paper's three-panel figure and a page."""

import math
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any, Final

from wordveil.evaluation.claims import Verdict, paper
from wordveil.evaluation.utility import Scores, Utility, interval, utility_claims
from wordveil.report.figures import Line, lines_figure, save_figure, svg_of
from wordveil.report.output import result_texts, write_texts
from wordveil.report.page import NOT_FOR_RELEASE, Page
from wordveil.report.tables import StatTable, finite

__all__ = ["UtilityReport"]

_PLOTTED: Final = ("accuracy", "precision", "recall")
_PAPER_CLASSIFIERS: Final = {"sms": "bag of words", "tweets": "fastText"}


class UtilityReport:
    """The scores of a classifier that learnt from private text, at every setting.

    Parameters
    ----------
    name : str
        Name of the data.
    labels : pair of str
        The label that precision and recall are about, and the other one.
    result : Utility
        The scores.
    paper_name : str
        "sms" or "tweets" if the data are one of the paper's data sets.
    """

    def __init__(self, name: str, labels: tuple[str, str], result: Utility, *, paper_name: str = "") -> None:
        self.name, self.labels, self.result, self.paper_name = name, labels, result, paper_name
        self.verdicts: list[Verdict] = utility_claims(result, labels if paper_name == "sms" else None)

    def tables(self) -> list[StatTable]:
        """Return one table per score: ε across, λ down, the unperturbed benchmark below."""
        tables = [self._table(number, score) for number, score in enumerate(Scores._fields)]
        return [*tables, self._comparison()] if self.paper_name else tables

    def _comparison(self) -> StatTable:
        """Return the scores on unperturbed text, for either label, beside the paper's."""
        paper_scores = paper()["utility"][self.paper_name]
        clean = dict(zip(Scores._fields, self.result.clean.mean(axis=0).tolist(), strict=True))
        classifier = self.result.grid.classifier
        rows = (
            (
                f"ours, {classifier}, about '{self.labels[0]}'",
                *(f"{clean[score]:.3f}" for score in ("accuracy", "precision", "recall")),
            ),
            (
                f"ours, {classifier}, about '{self.labels[1]}'",
                *(f"{clean[score]:.3f}" for score in ("accuracy", "other_precision", "other_recall")),
            ),
            (
                f"the paper's, {_PAPER_CLASSIFIERS[self.paper_name]}",
                *(f"{paper_scores[score]:.2f}" for score in _PLOTTED),
            ),
        )
        return StatTable("Unperturbed text, ours and the paper's", ("", *_PLOTTED), rows)

    def _table(self, number: int, score: str) -> StatTable:
        grid = self.result.grid
        rows = []
        for i, lam in enumerate(grid.lams):
            cells = [self._cell(self.result.scores[i, j, :, number]) for j in range(len(grid.epsilons))]
            rows.append((f"{lam:g}", *cells))
        clean = self._cell(self.result.clean[:, number])
        rows.append(("unperturbed", *[clean] * len(grid.epsilons)))
        if score == "accuracy":
            rows.append(("the more frequent label", *[f"{self.result.majority:.3f}"] * len(grid.epsilons)))
        title = f"{score}, {self.name}, {grid.classifier}, tested on {grid.test} text"
        return StatTable(title, ("λ", *(f"ε = {epsilon:g}" for epsilon in grid.epsilons)), tuple(rows))

    def _cell(self, values: Any) -> str:
        mean, half = interval(values)
        return f"{mean:.3f} ± {half:.3f}" if math.isfinite(half) else f"{mean:.3f}"

    def figure(self) -> Any:
        """Return accuracy, precision and recall against ε: one line per λ, the benchmark across."""
        grid = self.result.grid
        panels = []
        for score in _PLOTTED:
            number = Scores._fields.index(score)
            lines: list[Line] = []
            for i, lam in enumerate(grid.lams):
                intervals = [interval(values) for values in self.result.scores[i, :, :, number]]
                bars = [half for _, half in intervals] if grid.repetitions > 1 else None
                lines.append((f"λ = {lam:g}", grid.epsilons, [mean for mean, _ in intervals], bars))
            panels.append((score, lines))
        level = [float(self.result.clean[:, Scores._fields.index(score)].mean()) for score in _PLOTTED]
        return lines_figure(panels, "ε", list(_PLOTTED), level=level, shares=True)

    def facts(self) -> list[dict[str, Any]]:
        """Return one row per score and setting, for machines; λ and ε are null for unperturbed text."""
        return list(self._facts())

    def _facts(self) -> Iterator[dict[str, Any]]:
        grid = self.result.grid
        settings = list(product(enumerate(grid.lams), enumerate(grid.epsilons)))
        for number, score in enumerate(Scores._fields):
            yield _fact(score, None, None, self.result.clean[:, number])
            for (i, lam), (j, epsilon) in settings:
                yield _fact(score, lam, epsilon, self.result.scores[i, j, :, number])

    def write(self, folder: Path, settings: dict[str, Any]) -> list[Path]:
        """Write everything into a folder; return the paths."""
        folder.mkdir(parents=True, exist_ok=True)
        tables, figure = self.tables(), self.figure()
        figure_paths = save_figure(figure, folder / "utility", private=True)
        texts = {
            "utility.html": self._page(tables, figure, settings),
            **result_texts("utility", tables, settings, self.facts(), self.verdicts),
        }
        return [*write_texts(folder, texts, private=True), *figure_paths]

    def _page(self, tables: list[StatTable], figure: Any, settings: dict[str, Any]) -> str:
        grid = self.result.grid
        page = Page(f"How useful private text is: {self.name}")
        page.text(
            f"A classifier ({grid.classifier}) learns from 70% of the texts, perturbed, and is tested on the "
            f"other 30%, {grid.test}; {grid.repetitions} repetitions. ± is the 95% interval over them, "
            "widened because they share data (Nadeau and Bengio). Precision, recall and f1 are about the "
            f"label '{self.labels[0]}', other_precision and other_recall about '{self.labels[1]}'."
        )
        if grid.classifier == "fasttext":
            page.text(f"Fits that ended with a NaN and were repeated: {self.result.failed_fits}.")
        page.text(NOT_FOR_RELEASE)
        page.verdicts(self.verdicts)
        page.figure(svg_of(figure), "Scores against ε; the grey line is the classifier on unperturbed text.")
        page.heading("Tables")
        for table in tables:
            page.table(table)
        page.settings(settings)
        return page.html()


def _fact(score: str, lam: float | None, epsilon: float | None, values: Any) -> dict[str, Any]:
    mean, half = interval(values)
    return {"score": score, "lam": lam, "epsilon": epsilon, "mean": mean, "half_width": finite(half)}
