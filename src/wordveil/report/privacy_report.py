"""The privacy experiment as tables, figures and a page."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wordveil.evaluation.claims import Interval, Verdict, claims, mean_interval, paper
from wordveil.evaluation.sweep import Sweep
from wordveil.report.figures import Line, lines_figure, save_figure, svg_of
from wordveil.report.page import Page
from wordveil.report.tables import StatTable, finite

__all__ = ["PrivacyReport"]

_PERCENTILES: Final = (5, 50, 95)
_WHY_OTHER: Final = (
    "Absolute numbers are not expected to agree. N_w depends on how far apart the vectors stand, and so on "
    "the vocabulary: the paper's 28,596 words hold web addresses and misspellings of two data sets, which we "
    "do not have as vectors; ours are common words, in denser company, so that fewer stay at the same ε."
)
_STATISTICS: Final = {"N_w": "how often a word stays, of 100", "S_w": "how many answers it has"}


class PrivacyReport:
    """What a sweep says, in the forms of the paper: N_w and S_w, ε across, λ down, and their percentiles.

    Parameters
    ----------
    name : str
        Of the vectors.
    sweep : Sweep
        What was drawn.
    sparseness : array
        Of each of its words, the distance to the nearest neighbour.
    traces : list of float
        Of each λ, the trace of A.
    compare : bool
        Put the paper's numbers beside ours.
    """

    def __init__(
        self, name: str, sweep: Sweep, sparseness: NDArray[np.float64], traces: list[float], *, compare: bool
    ) -> None:
        self.name, self.sweep, self.compare = name, sweep, compare
        self.values = {"N_w": sweep.n_w, "S_w": sweep.s_w}
        self.verdicts: list[Verdict] = claims(sweep, sparseness, traces) if len(sweep.grid.lams) > 1 else []

    def tables(self) -> list[StatTable]:
        """Return the tables of the paper, and beside them, if asked for, the paper's own."""
        found = [self._table(statistic) for statistic in self.values]
        if self.compare:
            found += [self._comparison(statistic) for statistic in self.values]
            found += [self._benchmark()]
        return found

    def _header(self) -> tuple[str, ...]:
        return ("λ", *(f"ε = {epsilon:g}" for epsilon in self.sweep.grid.epsilons))

    def _table(self, statistic: str) -> StatTable:
        rows = []
        for lam, row in zip(self.sweep.grid.lams, self.values[statistic], strict=True):
            cells = [f"{value.mean():.2f} ± {value.std(ddof=1):.2f}" for value in row]
            rows.append((f"{lam:g}", *cells))
        title = f"{statistic}, {_STATISTICS[statistic]}: mean ± standard deviation over words, {self.name}"
        return StatTable(title, self._header(), tuple(rows))

    def _comparison(self, statistic: str) -> StatTable:
        """Return ours less the paper's, where both have a number."""
        theirs = paper()
        rows = []
        for name, tables in theirs["tables"].items():
            for lam, row in zip(theirs["lams"], tables[statistic], strict=True):
                cells = [
                    self._beside(statistic, lam, epsilon, mean)
                    for epsilon, (mean, _) in zip(theirs["epsilons"], row, strict=True)
                ]
                rows.append((f"{name}, λ = {lam:g}", *cells))
        header = ("the paper's vectors", *(f"ε = {epsilon:g}" for epsilon in theirs["epsilons"]))
        return StatTable(f"{statistic}: the paper's mean, and ours less the paper's", header, tuple(rows))

    def _beside(self, statistic: str, lam: float, epsilon: float, theirs: float) -> str:
        grid = self.sweep.grid
        if lam not in grid.lams or epsilon not in grid.epsilons:
            return f"{theirs:.2f}"
        ours = self.values[statistic][grid.lams.index(lam), grid.epsilons.index(epsilon)].mean()
        return f"{theirs:.2f} ({ours - theirs:+.1f})"

    def _benchmark(self) -> StatTable:
        theirs = paper()["benchmark_2024"]
        cells = tuple(self._beside(statistic, 0.0, 10.0, theirs[statistic]) for statistic in self.values)
        return StatTable(
            f"A later benchmark: {theirs['what']}", ("", *self.values), (("theirs (ours less)", *cells),)
        )

    def figure(self, statistic: str) -> Any:
        """Return the percentiles over words against ε: a panel for each, a line for each λ."""
        grid = self.sweep.grid
        panels = []
        for percentile in _PERCENTILES:
            levels = np.percentile(self.values[statistic], percentile, axis=2)
            lines: list[Line] = [
                (f"λ = {lam:g}", grid.epsilons, row.tolist(), None)
                for lam, row in zip(grid.lams, levels, strict=True)
            ]
            panels.append((f"{percentile}th percentile over words", lines))
        return lines_figure(panels, "ε", [statistic] * len(panels))

    def facts(self) -> list[dict[str, Any]]:
        """Return a row for every statistic and setting, for machines."""
        rows = []
        for statistic, values in self.values.items():
            for i, lam in enumerate(self.sweep.grid.lams):
                for j, epsilon in enumerate(self.sweep.grid.epsilons):
                    interval: Interval = mean_interval(self.sweep, values[i, j])
                    levels = np.percentile(values[i, j], _PERCENTILES).tolist()
                    named = {f"p{p}": level for p, level in zip(_PERCENTILES, levels, strict=True)}
                    rows.append(
                        {"statistic": statistic, "dims": self.sweep.dim, "lam": lam, "epsilon": epsilon}
                        | {name: finite(value) for name, value in asdict(interval).items()}
                        | named
                    )
        return rows

    def write(self, folder: Path, settings: dict[str, Any]) -> list[Path]:
        """Write everything into a folder; return the paths."""
        folder.mkdir(parents=True, exist_ok=True)
        tables, facts = self.tables(), self.facts()
        head = tuple(facts[0])
        long = StatTable("", head, tuple(tuple(str(row[name]) for name in head) for row in facts))
        verdicts = [asdict(verdict) for verdict in self.verdicts]
        texts = {
            "privacy.csv": long.csv(),
            "privacy.json": json.dumps({"settings": settings, "rows": facts, "claims": verdicts}, indent=2),
            "privacy.md": "\n\n".join(table.markdown() for table in tables) + "\n",
            "privacy.tex": "\n\n".join(table.latex() for table in tables) + "\n",
        }
        figures = {statistic: self.figure(statistic) for statistic in self.values}
        for statistic, figure in figures.items():
            save_figure(figure, folder / f"{statistic.lower().replace('_', '-')}-percentiles")
        texts["privacy.html"] = self._page(tables, figures, settings)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
        return [folder / name for name in texts]

    def _page(self, tables: list[StatTable], figures: dict[str, Any], settings: dict[str, Any]) -> str:
        page = Page(f"How much privacy words get: {self.name}")
        page.text(
            f"{len(self.sweep.ids):,} public words, {self.sweep.grid.draws} draws of each at every "
            "setting. N_w is how often a word stays itself, S_w how many different answers it has: a smaller "
            "N_w and a larger S_w are more private."
        )
        page.heading("Does what the paper claims hold here?")
        for verdict in self.verdicts:
            page.verdict(verdict.claim, holds=verdict.holds, found=verdict.found)
        if self.compare:
            page.text(_WHY_OTHER)
        page.heading("Tables")
        for table in tables:
            page.table(table)
        page.heading("Percentiles over words")
        for statistic, figure in figures.items():
            page.figure(svg_of(figure), f"{statistic}, {_STATISTICS[statistic]}, against ε.")
        page.heading("How sure are the means?")
        page.table(self._intervals())
        page.text(
            "Intervals of 95%. Words of a block share the directions of their noise, so that ours go by the "
            f"means of {int(self.sweep.block.max()) + 1} blocks; the paper's rule is mean ± 1.96·std/√100. "
            "Drawn in float32; of a sample of draws, the exact search answers this share otherwise: "
            f"{self.sweep.disagreement.share:.1e}, at most {self.sweep.disagreement.high:.1e} (95%)."
        )
        page.settings(settings)
        return page.whole()

    def _intervals(self) -> StatTable:
        rows = [
            (
                f"{row['statistic']}, λ = {row['lam']:g}, ε = {row['epsilon']:g}",
                f"{row['mean']:.2f}",
                "" if row["low"] is None else f"{row['low']:.2f} to {row['high']:.2f}",
                f"{row['paper_low']:.2f} to {row['paper_high']:.2f}",
            )
            for row in self.facts()
        ]
        header = ("setting", "mean", "by blocks", "by the paper's rule")
        return StatTable("Means over words", header, tuple(rows))
