"""The utility experiment as tables, the paper's three-panel figure and a page."""

import json
import math
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from wordveil.evaluation.claims import Verdict
from wordveil.evaluation.utility import Scores, Utility, utility_claims
from wordveil.report.figures import Line, lines_figure, save_figure, svg_of
from wordveil.report.page import Page
from wordveil.report.tables import StatTable, finite, write_texts

__all__ = ["UtilityReport"]

_DRAWN: Final = ("accuracy", "precision", "recall")


class UtilityReport:
    """What is left of a classifier that learnt from private text, at every setting.

    Parameters
    ----------
    name : str
        Of the data.
    positive : str
        The label that precision and recall are about.
    found : Utility
        The scores.
    sms : bool
        Whether this is the SMS Spam Collection, about which the paper has a claim of its own.
    """

    def __init__(self, name: str, positive: str, found: Utility, *, sms: bool = False) -> None:
        self.name, self.positive, self.found = name, positive, found
        self.verdicts: list[Verdict] = utility_claims(found, sms=sms)

    def tables(self) -> list[StatTable]:
        """Return a table for each score: ε across, λ down, the unperturbed benchmark below."""
        return [self._table(number, score) for number, score in enumerate(Scores._fields)]

    def _table(self, number: int, score: str) -> StatTable:
        grid = self.found.grid
        rows = []
        for i, lam in enumerate(grid.lams):
            cells = [self._cell(self.found.scores[i, j, :, number]) for j in range(len(grid.epsilons))]
            rows.append((f"{lam:g}", *cells))
        clean = self._cell(self.found.clean[:, number])
        rows.append(("unperturbed", *[clean] * len(grid.epsilons)))
        title = f"{score}, {self.name}, {grid.classifier}, tested on {grid.test} text"
        return StatTable(title, ("λ", *(f"ε = {epsilon:g}" for epsilon in grid.epsilons)), tuple(rows))

    def _cell(self, values: Any) -> str:
        mean, half = self.found.interval(values)
        return f"{mean:.3f} ± {half:.3f}" if math.isfinite(half) else f"{mean:.3f}"

    def figure(self) -> Any:
        """Return accuracy, precision and recall against ε, a line for each λ, the benchmark across."""
        grid = self.found.grid
        panels = []
        for score in _DRAWN:
            number = Scores._fields.index(score)
            lines: list[Line] = []
            for i, lam in enumerate(grid.lams):
                both = [
                    self.found.interval(self.found.scores[i, j, :, number]) for j in range(len(grid.epsilons))
                ]
                bars = [half for _, half in both] if grid.repetitions > 1 else None
                lines.append((f"λ = {lam:g}", grid.epsilons, [mean for mean, _ in both], bars))
            panels.append((score, lines))
        level = [float(self.found.clean[:, Scores._fields.index(score)].mean()) for score in _DRAWN]
        return lines_figure(panels, "ε", list(_DRAWN), level=level)

    def facts(self) -> list[dict[str, Any]]:
        """Return a row for every setting and score, for machines."""
        grid = self.found.grid
        rows = []
        for number, score in enumerate(Scores._fields):
            mean, half = self.found.interval(self.found.clean[:, number])
            rows.append(
                {"score": score, "lam": None, "epsilon": None, "mean": mean, "half_width": finite(half)}
            )
            for i, lam in enumerate(grid.lams):
                for j, epsilon in enumerate(grid.epsilons):
                    mean, half = self.found.interval(self.found.scores[i, j, :, number])
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
        pictures = save_figure(figure, folder / "utility")
        verdicts = [asdict(verdict) for verdict in self.verdicts]
        facts = self.facts()
        long = StatTable(
            "", tuple(facts[0]), tuple(tuple(str(value) for value in row.values()) for row in facts)
        )
        texts = {
            "utility.html": self._page(tables, figure, settings),
            "utility.csv": long.csv(),
            "utility.md": "\n\n".join(table.markdown() for table in tables) + "\n",
            "utility.tex": "\n\n".join(table.latex() for table in tables) + "\n",
            "utility.json": json.dumps({"settings": settings, "rows": facts, "claims": verdicts}, indent=2),
        }
        return [*write_texts(folder, texts), *pictures]

    def _page(self, tables: list[StatTable], figure: Any, settings: dict[str, Any]) -> str:
        grid = self.found.grid
        page = Page(f"What private text is good for: {self.name}")
        page.text(
            f"A classifier ({grid.classifier}) learns from 70% of the texts, perturbed, and is tested on the "
            f"other 30%, {grid.test}; {grid.repetitions} repetitions, ± is the 95% interval over them. "
            f"Precision and recall are about the label '{self.positive}'. Fits of fastText that ended with a "
            f"NaN and were tried again: {self.found.failed_fits}."
        )
        page.heading("Does what the paper claims hold here?")
        for verdict in self.verdicts:
            page.verdict(verdict.claim, holds=verdict.holds, found=verdict.found)
        page.figure(svg_of(figure), "Scores against ε; the grey line is the classifier on unperturbed text.")
        page.heading("Tables")
        for table in tables:
            page.table(table)
        page.settings(settings)
        return page.whole()
