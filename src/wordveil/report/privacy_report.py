"""The privacy experiment as tables, figures and a page."""

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wordveil.evaluation.claims import PERCENTILES, Interval, Verdict, claims, mean_interval, paper
from wordveil.evaluation.student import deviation_of
from wordveil.evaluation.sweep import Sweep
from wordveil.report.figures import Line, lines_figure, save_figure, svg_of
from wordveil.report.page import Page
from wordveil.report.tables import StatTable, facts_csv, finite, write_texts

__all__ = ["Drawn", "PrivacyReport"]

_THEIR_DRAWS: Final = 100
_THEIR_DIM: Final = 300
_STATISTICS: Final = {"N_w": "how often a word stays, of 100", "S_w": "how many answers it has"}


@dataclass(frozen=True, eq=False)
class Drawn:
    """What was drawn on so many axes.

    Attributes
    ----------
    sweep : Sweep
    sparseness : array
        Of each of its words, the distance to the nearest neighbour.
    traces : list of float
        Of each λ, the trace of A.
    """

    sweep: Sweep
    sparseness: NDArray[np.float64]
    traces: list[float]

    def values(self, statistic: str) -> NDArray[np.float64]:
        """Return N_w or S_w, of shape (λ, ε, words)."""
        return self.sweep.n_w if statistic == "N_w" else self.sweep.s_w

    def verdicts(self) -> list[Verdict]:
        """Return what holds, if there are λ to compare."""
        several = len(self.sweep.grid.lams) > 1
        return claims(self.sweep, self.sparseness, self.traces) if several else []


class PrivacyReport:
    """What sweeps say, in the forms of the paper: N_w and S_w, ε across, λ down, and their percentiles.

    Parameters
    ----------
    name : str
        Of the vectors.
    parts : list of Drawn
        A sweep for each number of axes, all of one grid; the last is what the paper is compared with.
    compare : bool
        Put the paper's numbers beside ours.
    """

    def __init__(self, name: str, parts: list[Drawn], *, compare: bool) -> None:
        self.name, self.parts, self.compare = name, parts, compare
        self.sweep = parts[-1].sweep
        self.verdicts: list[Verdict] = [
            replace(verdict, claim=verdict.claim + self._axes(part))
            for part in parts
            for verdict in part.verdicts()
        ]

    def _axes(self, part: Drawn, before: str = ", on ", after: str = " axes") -> str:
        """Return which axes this is about, if there are several choices."""
        return f"{before}{part.sweep.dim}{after}" if len(self.parts) > 1 else ""

    def tables(self) -> list[StatTable]:
        """Return the tables of the paper, and beside them, if asked for, the paper's own."""
        found = [self._table(statistic, part) for part in self.parts for statistic in _STATISTICS]
        found += [self._levels(statistic, part) for part in self.parts for statistic in _STATISTICS]
        if self.compare:
            found += [self._comparison(statistic) for statistic in _STATISTICS]
            found += [self._benchmark()] if self.sweep.dim == _THEIR_DIM else []
        return found

    def _header(self) -> tuple[str, ...]:
        return ("λ", *(f"ε = {epsilon:g}" for epsilon in self.sweep.grid.epsilons))

    def _table(self, statistic: str, part: Drawn) -> StatTable:
        rows = []
        for lam, row in zip(self.sweep.grid.lams, part.values(statistic), strict=True):
            cells = [f"{value.mean():.2f} ± {deviation_of(value):.2f}" for value in row]
            rows.append((f"{lam:g}", *cells))
        title = (
            f"{statistic}, {_STATISTICS[statistic]}: mean ± standard deviation over words, {self.name}"
            f"{self._axes(part)}"
        )
        return StatTable(title, self._header(), tuple(rows))

    def _levels(self, statistic: str, part: Drawn) -> StatTable:
        rows = []
        for lam, row in zip(self.sweep.grid.lams, part.values(statistic), strict=True):
            cells = (" / ".join(f"{level:g}" for level in np.percentile(value, PERCENTILES)) for value in row)
            rows.append((f"{lam:g}", *cells))
        title = f"{statistic}: 5th / 50th / 95th percentile over words, {self.name}{self._axes(part)}"
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
        ours = f", and ours less the paper's{self._axes(self.parts[-1])}" if self._like(statistic) else ""
        return StatTable(f"{statistic}: the paper's mean{ours}", header, tuple(rows))

    def _like(self, statistic: str) -> bool:
        """Return whether ours can be compared: S_w depends on the number of draws and on η."""
        grid = self.sweep.grid
        return statistic == "N_w" or (grid.draws == _THEIR_DRAWS and grid.eta == 0.0)

    def _beside(self, statistic: str, lam: float, epsilon: float, theirs: float) -> str:
        grid = self.sweep.grid
        if lam not in grid.lams or epsilon not in grid.epsilons or not self._like(statistic):
            return f"{theirs:.2f}"
        values = self.parts[-1].values(statistic)
        ours = values[grid.lams.index(lam), grid.epsilons.index(epsilon)].mean()
        return f"{theirs:.2f} ({ours - theirs:+.1f})"

    def _benchmark(self) -> StatTable:
        theirs = paper()["benchmark_2024"]
        cells = tuple(self._beside(statistic, 0.0, 10.0, theirs[statistic]) for statistic in _STATISTICS)
        return StatTable(
            f"A later benchmark: {theirs['what']}", ("", *_STATISTICS), (("theirs (ours less)", *cells),)
        )

    def figure(self, statistic: str, part: Drawn) -> Any:
        """Return the percentiles over words against ε: a panel for each, a line for each λ."""
        grid = self.sweep.grid
        panels = []
        for percentile in PERCENTILES:
            levels = np.percentile(part.values(statistic), percentile, axis=2)
            lines: list[Line] = [
                (f"λ = {lam:g}", grid.epsilons, row.tolist(), None)
                for lam, row in zip(grid.lams, levels, strict=True)
            ]
            panels.append((f"{percentile}th percentile over words", lines))
        return lines_figure(panels, "ε", [f"${statistic}$"] * len(panels), shared=True)

    def facts(self) -> list[dict[str, Any]]:
        """Return a row for every statistic and setting, for machines."""
        return [row for part in self.parts for statistic in _STATISTICS for row in _facts(part, statistic)]

    def write(self, folder: Path, settings: dict[str, Any]) -> list[Path]:
        """Write everything into a folder; return the paths."""
        folder.mkdir(parents=True, exist_ok=True)
        tables, facts = self.tables(), self.facts()
        verdicts = [asdict(verdict) for verdict in self.verdicts]
        texts = {
            "privacy.csv": facts_csv(facts),
            "privacy.json": json.dumps({"settings": settings, "rows": facts, "claims": verdicts}, indent=2),
            "privacy.md": "\n\n".join(table.markdown() for table in tables) + "\n",
            "privacy.tex": "\n\n".join(table.latex() for table in tables) + "\n",
        }
        paths, figures = [], {}
        for part in self.parts:
            for statistic, what in _STATISTICS.items():
                figure = self.figure(statistic, part)
                stem = f"{statistic.lower().replace('_', '-')}-percentiles{self._axes(part, '-', '')}"
                paths += save_figure(figure, folder / stem)
                figures[f"{statistic}, {what}, against ε{self._axes(part)}."] = figure
        texts["privacy.html"] = self._page(tables, figures, settings)
        return [*write_texts(folder, texts), *paths]

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
            page.text(self._why_other())
        page.heading("Tables")
        for table in tables:
            page.table(table)
        page.heading("Percentiles over words")
        for caption, figure in figures.items():
            page.figure(svg_of(figure), caption)
        page.heading("How sure are the means?")
        page.table(self._intervals())
        page.text(
            "Intervals of 95%. Words of a block share the directions of their noise, so that ours go by the "
            f"means of {int(self.sweep.block.max()) + 1} blocks; the paper's rule is mean ± 1.96·std/√100. "
            f"Drawn in float32; the exact search answers otherwise: {self.disagreement()}."
        )
        page.settings(settings)
        return page.whole()

    def _why_other(self) -> str:
        """Return why absolute numbers differ, with those that say so."""
        apart = self.parts[-1].sparseness.mean()
        told = (
            "Absolute numbers are not expected to agree: N_w depends on how far apart the vectors stand. The "
            f"mean distance of these {len(self.sweep.ids):,} words to their nearest neighbours is "
            f"{apart:.2f} on {self.sweep.dim} axes. The paper has 28,596 words of two data sets, among them "
            "web addresses and misspellings, which stand further from others; its distances are not reported."
        )
        if not self._like("S_w"):
            told += f" S_w depends on the number of draws: the paper's are of {_THEIR_DRAWS}, with η = 0."
        return told

    def disagreement(self) -> str:
        """Return how often a sample of the draws differs from the exact search."""
        return "; ".join(
            f"{part.sweep.disagreement.share:.1e} of a sample of the draws, at most "
            f"{part.sweep.disagreement.high:.1e} (95%){self._axes(part)}"
            for part in self.parts
        )

    def _intervals(self) -> StatTable:
        def several(dims: int) -> str:
            return f", {dims} axes" if len(self.parts) > 1 else ""

        rows = [
            (
                f"{row['statistic']}, λ = {row['lam']:g}, ε = {row['epsilon']:g}" + several(row["dims"]),
                f"{row['mean']:.2f}",
                "" if row["low"] is None else f"{row['low']:.2f} to {row['high']:.2f}",
                f"{row['paper_low']:.2f} to {row['paper_high']:.2f}",
            )
            for row in self.facts()
        ]
        header = ("setting", "mean", "by blocks", "by the paper's rule")
        return StatTable("Means over words", header, tuple(rows))


def _facts(part: Drawn, statistic: str) -> Iterator[dict[str, Any]]:
    values, grid = part.values(statistic), part.sweep.grid
    for (i, lam), (j, epsilon) in product(enumerate(grid.lams), enumerate(grid.epsilons)):
        interval: Interval = mean_interval(part.sweep, values[i, j])
        levels = np.percentile(values[i, j], PERCENTILES).tolist()
        yield (
            {"statistic": statistic, "dims": part.sweep.dim, "lam": lam, "epsilon": epsilon}
            | {name: finite(value) for name, value in asdict(interval).items()}
            | {f"p{p}": level for p, level in zip(PERCENTILES, levels, strict=True)}
        )
