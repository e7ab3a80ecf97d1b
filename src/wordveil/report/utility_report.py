"""The utility experiment as tables, the paper's three-panel figure and a page."""

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from wordveil.evaluation.claims import Verdict, paper
from wordveil.evaluation.utility import Scores, Utility, interval, utility_claims
from wordveil.report.figures import Line, lines_figure, save_figure, svg_of
from wordveil.report.page import NOT_FOR_RELEASE, Page
from wordveil.report.tables import StatTable, facts_csv, finite, write_texts

__all__ = ["UtilityReport"]

_DRAWN: Final = ("accuracy", "precision", "recall")
_THEIR_CLASSIFIERS: Final = {"sms": "bag of words", "tweets": "fastText"}


class UtilityReport:
    """What is left of a classifier that learnt from private text, at every setting.

    Parameters
    ----------
    name : str
        Of the data.
    labels : pair of str
        The label that precision and recall are about, and the other one.
    found : Utility
        The scores.
    known : str
        Which data set of the paper this is, if it is one: "sms" or "tweets".
    """

    def __init__(self, name: str, labels: tuple[str, str], found: Utility, *, known: str = "") -> None:
        self.name, self.labels, self.found, self.known = name, labels, found, known
        self.verdicts: list[Verdict] = utility_claims(found, labels if known == "sms" else None)

    def tables(self) -> list[StatTable]:
        """Return a table for each score: ε across, λ down, the unperturbed benchmark below."""
        found = [self._table(number, score) for number, score in enumerate(Scores._fields)]
        return [*found, self._comparison()] if self.known else found

    def _comparison(self) -> StatTable:
        """Return the unperturbed classifier, about either label, beside the paper's."""
        theirs = paper()["utility"][self.known]
        clean = dict(zip(Scores._fields, self.found.clean.mean(axis=0).tolist(), strict=True))
        kind = self.found.grid.classifier
        rows = (
            (
                f"ours, {kind}, about '{self.labels[0]}'",
                *(f"{clean[score]:.3f}" for score in ("accuracy", "precision", "recall")),
            ),
            (
                f"ours, {kind}, about '{self.labels[1]}'",
                *(f"{clean[score]:.3f}" for score in ("accuracy", "other_precision", "other_recall")),
            ),
            (
                f"the paper's, {_THEIR_CLASSIFIERS[self.known]}",
                *(f"{theirs[score]:.2f}" for score in _DRAWN),
            ),
        )
        return StatTable("Unperturbed, beside the paper's", ("", *_DRAWN), rows)

    def _table(self, number: int, score: str) -> StatTable:
        grid = self.found.grid
        rows = []
        for i, lam in enumerate(grid.lams):
            cells = [self._cell(self.found.scores[i, j, :, number]) for j in range(len(grid.epsilons))]
            rows.append((f"{lam:g}", *cells))
        clean = self._cell(self.found.clean[:, number])
        rows.append(("unperturbed", *[clean] * len(grid.epsilons)))
        if score == "accuracy":
            rows.append(("the more frequent label", *[f"{self.found.majority:.3f}"] * len(grid.epsilons)))
        title = f"{score}, {self.name}, {grid.classifier}, tested on {grid.test} text"
        return StatTable(title, ("λ", *(f"ε = {epsilon:g}" for epsilon in grid.epsilons)), tuple(rows))

    def _cell(self, values: Any) -> str:
        mean, half = interval(values)
        return f"{mean:.3f} ± {half:.3f}" if math.isfinite(half) else f"{mean:.3f}"

    def figure(self) -> Any:
        """Return accuracy, precision and recall against ε, a line for each λ, the benchmark across."""
        grid = self.found.grid
        panels = []
        for score in _DRAWN:
            number = Scores._fields.index(score)
            lines: list[Line] = []
            for i, lam in enumerate(grid.lams):
                both = [interval(self.found.scores[i, j, :, number]) for j in range(len(grid.epsilons))]
                bars = [half for _, half in both] if grid.repetitions > 1 else None
                lines.append((f"λ = {lam:g}", grid.epsilons, [mean for mean, _ in both], bars))
            panels.append((score, lines))
        level = [float(self.found.clean[:, Scores._fields.index(score)].mean()) for score in _DRAWN]
        return lines_figure(panels, "ε", list(_DRAWN), level=level, shares=True)

    def facts(self) -> list[dict[str, Any]]:
        """Return a row for every setting and score, for machines."""
        grid = self.found.grid
        rows = []
        for number, score in enumerate(Scores._fields):
            mean, half = interval(self.found.clean[:, number])
            rows.append(
                {"score": score, "lam": None, "epsilon": None, "mean": mean, "half_width": finite(half)}
            )
            for i, lam in enumerate(grid.lams):
                for j, epsilon in enumerate(grid.epsilons):
                    mean, half = interval(self.found.scores[i, j, :, number])
                    rows.append(
                        {
                            "score": score,
                            "lam": lam,
                            "epsilon": epsilon,
                            "mean": mean,
                            "half_width": finite(half),
                        }
                    )
        return rows

    def write(self, folder: Path, settings: dict[str, Any]) -> list[Path]:
        """Write everything into a folder; return the paths."""
        folder.mkdir(parents=True, exist_ok=True)
        tables, figure = self.tables(), self.figure()
        pictures = save_figure(figure, folder / "utility", private=True)
        verdicts = [asdict(verdict) for verdict in self.verdicts]
        facts = self.facts()
        texts = {
            "utility.html": self._page(tables, figure, settings),
            "utility.csv": facts_csv(facts),
            "utility.md": "\n\n".join(table.markdown() for table in tables) + "\n",
            "utility.tex": "\n\n".join(table.latex() for table in tables) + "\n",
            "utility.json": json.dumps({"settings": settings, "rows": facts, "claims": verdicts}, indent=2),
        }
        return [*write_texts(folder, texts, private=True), *pictures]

    def _page(self, tables: list[StatTable], figure: Any, settings: dict[str, Any]) -> str:
        grid = self.found.grid
        page = Page(f"What private text is good for: {self.name}")
        page.text(
            f"A classifier ({grid.classifier}) learns from 70% of the texts, perturbed, and is tested on the "
            f"other 30%, {grid.test}; {grid.repetitions} repetitions; ± is the 95% interval over them, wider "
            "because they share the data (Nadeau and Bengio). Precision, recall and f1 are about the label "
            f"'{self.labels[0]}', other_precision and other_recall about '{self.labels[1]}'."
        )
        if grid.classifier == "fasttext":
            page.text(f"Fits that ended with a NaN and were tried again: {self.found.failed_fits}.")
        page.text(NOT_FOR_RELEASE)
        page.heading("Does what the paper claims hold here?")
        for verdict in self.verdicts:
            page.verdict(verdict.claim, holds=verdict.holds, found=verdict.found)
        page.figure(svg_of(figure), "Scores against ε; the grey line is the classifier on unperturbed text.")
        page.heading("Tables")
        for table in tables:
            page.table(table)
        page.settings(settings)
        return page.whole()
