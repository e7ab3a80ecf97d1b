"""The privacy experiment as tables, figures and a page."""

from collections.abc import Callable, Iterator
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
from wordveil.report.output import result_texts, write_texts
from wordveil.report.page import Page
from wordveil.report.tables import StatTable, finite

__all__ = ["PrivacyReport", "ProjectedSweep"]

_PAPER_DRAWS: Final = 100  # S_w grows with the number of draws, so only 100 can be compared with the paper
_BENCHMARK_DIM: Final = 300  # of the vectors in the benchmark of 2024
_STATISTICS: Final = {"N_w": "how often a word stays, of 100", "S_w": "how many answers it has"}


@dataclass(frozen=True, eq=False)
class ProjectedSweep:
    """A sweep on one number of principal axes.

    `sparseness` is the distance of each of its words to the nearest neighbour, `traces` the trace of A for
    each λ.
    """

    sweep: Sweep
    sparseness: NDArray[np.float64]
    traces: list[float]

    def values(self, statistic: str) -> NDArray[np.float64]:
        """Return N_w or S_w, of shape (λ, ε, words)."""
        return self.sweep.n_w if statistic == "N_w" else self.sweep.s_w

    def verdicts(self) -> list[Verdict]:
        """Return the verdicts on the paper's claims; none if there is only one λ."""
        comparable = len(self.sweep.grid.lams) > 1
        return claims(self.sweep, self.sparseness, self.traces) if comparable else []


class PrivacyReport:
    """The results of sweeps as in the paper: N_w and S_w, ε across, λ down, and their percentiles.

    Parameters
    ----------
    name : str
        Name of the vectors.
    parts : list of ProjectedSweep
        One sweep for each number of axes, all with the same grid; the last is compared with the paper.
    compare : bool
        Show the paper's numbers beside ours.
    """

    def __init__(self, name: str, parts: list[ProjectedSweep], *, compare: bool) -> None:
        self.name, self.parts, self.compare = name, parts, compare
        self.sweep = parts[-1].sweep
        self.verdicts: list[Verdict] = [
            replace(verdict, claim=verdict.claim + self._axes(part))
            for part in parts
            for verdict in part.verdicts()
        ]

    def _axes(self, part: ProjectedSweep, before: str = ", on ", after: str = " axes") -> str:
        """Return the number of axes in words; nothing if there is only one sweep."""
        return f"{before}{part.sweep.dim}{after}" if len(self.parts) > 1 else ""

    def tables(self) -> list[StatTable]:
        """Return the tables of the paper, and with `compare` the paper's own values."""
        tables = [self._means(statistic, part) for part in self.parts for statistic in _STATISTICS]
        tables += [self._percentiles(statistic, part) for part in self.parts for statistic in _STATISTICS]
        if self.compare:
            tables += [self._comparison(statistic) for statistic in _STATISTICS]
            tables += [self._benchmark()] if self.sweep.dim == _BENCHMARK_DIM else []
        return tables

    def _header(self) -> tuple[str, ...]:
        return ("λ", *(f"ε = {epsilon:g}" for epsilon in self.sweep.grid.epsilons))

    def _means(self, statistic: str, part: ProjectedSweep) -> StatTable:
        def cell(values: NDArray[np.float64]) -> str:
            return f"{values.mean():.2f} ± {deviation_of(values):.2f}"

        title = f"{statistic}, {_STATISTICS[statistic]}: mean ± standard deviation over words"
        return self._table(title, statistic, part, cell)

    def _percentiles(self, statistic: str, part: ProjectedSweep) -> StatTable:
        def cell(values: NDArray[np.float64]) -> str:
            return " / ".join(f"{level:g}" for level in np.percentile(values, PERCENTILES))

        return self._table(f"{statistic}: 5th / 50th / 95th percentile over words", statistic, part, cell)

    def _table(
        self, title: str, statistic: str, part: ProjectedSweep, cell: Callable[[NDArray[np.float64]], str]
    ) -> StatTable:
        """Return a table with ε across and λ down; `cell` formats the values of all words at a setting."""
        rows = tuple(
            (f"{lam:g}", *map(cell, values))
            for lam, values in zip(self.sweep.grid.lams, part.values(statistic), strict=True)
        )
        return StatTable(f"{title}, {self.name}{self._axes(part)}", self._header(), rows)

    def _comparison(self, statistic: str) -> StatTable:
        """Return the paper's means, with the difference of ours where both have a value."""
        paper_values = paper()
        rows = []
        for name, tables in paper_values["tables"].items():
            for lam, row in zip(paper_values["lams"], tables[statistic], strict=True):
                cells = [
                    self._with_difference(statistic, lam, epsilon, mean)
                    for epsilon, (mean, _) in zip(paper_values["epsilons"], row, strict=True)
                ]
                rows.append((f"{name}, λ = {lam:g}", *cells))
        header = ("the paper's vectors", *(f"ε = {epsilon:g}" for epsilon in paper_values["epsilons"]))
        axes = self._axes(self.parts[-1])
        difference = f" (ours minus the paper's{axes})" if self._is_comparable(statistic) else ""
        return StatTable(f"{statistic}: the paper's mean{difference}", header, tuple(rows))

    def _is_comparable(self, statistic: str) -> bool:
        """Return whether ours can be compared: S_w depends on the number of draws and on η."""
        grid = self.sweep.grid
        return statistic == "N_w" or (grid.draws == _PAPER_DRAWS and grid.eta == 0.0)

    def _with_difference(self, statistic: str, lam: float, epsilon: float, reference: float) -> str:
        grid = self.sweep.grid
        if lam not in grid.lams or epsilon not in grid.epsilons or not self._is_comparable(statistic):
            return f"{reference:.2f}"
        values = self.parts[-1].values(statistic)
        ours = values[grid.lams.index(lam), grid.epsilons.index(epsilon)].mean()
        return f"{reference:.2f} ({ours - reference:+.1f})"

    def _benchmark(self) -> StatTable:
        benchmark = paper()["benchmark_2024"]
        cells = tuple(
            self._with_difference(statistic, 0.0, 10.0, benchmark[statistic]) for statistic in _STATISTICS
        )
        title = f"A later benchmark: {benchmark['what']}"
        return StatTable(title, ("", *_STATISTICS), (("benchmark (ours minus it)", *cells),))

    def figure(self, statistic: str, part: ProjectedSweep) -> Any:
        """Return the percentiles over words against ε: one panel per percentile, one line per λ."""
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
        """Return one row per statistic and setting, for machines."""
        return [row for part in self.parts for statistic in _STATISTICS for row in _facts(part, statistic)]

    def write(self, folder: Path, settings: dict[str, Any]) -> list[Path]:
        """Write everything into a folder; return the paths."""
        folder.mkdir(parents=True, exist_ok=True)
        tables = self.tables()
        texts = result_texts("privacy", tables, settings, self.facts(), self.verdicts)
        figure_paths, figures = [], {}
        for part in self.parts:
            for statistic, meaning in _STATISTICS.items():
                figure = self.figure(statistic, part)
                stem = f"{statistic.lower().replace('_', '-')}-percentiles{self._axes(part, '-', '')}"
                figure_paths += save_figure(figure, folder / stem)
                figures[f"{statistic}, {meaning}, against ε{self._axes(part)}."] = figure
        texts["privacy.html"] = self._page(tables, figures, settings)
        return [*write_texts(folder, texts), *figure_paths]

    def _page(self, tables: list[StatTable], figures: dict[str, Any], settings: dict[str, Any]) -> str:
        page = Page(f"How much privacy words get: {self.name}")
        page.text(
            f"{len(self.sweep.ids):,} public words, {self.sweep.grid.draws} draws of each at every setting. "
            "N_w is how often a word stays itself, S_w how many different answers it has: a smaller N_w and "
            "a larger S_w are more private."
        )
        page.verdicts(self.verdicts)
        if self.compare:
            page.text(self._why_different())
        page.heading("Tables")
        for table in tables:
            page.table(table)
        page.heading("Percentiles over words")
        for caption, figure in figures.items():
            page.figure(svg_of(figure), caption)
        page.heading("How precise are the means?")
        page.table(self._intervals())
        page.text(
            "95% intervals. The words of a block share the directions of their noise, so ours use the means "
            f"of {int(self.sweep.block.max()) + 1} blocks; the paper's rule is mean ± 1.96·std/√100. "
            f"The draws use float32; the exact search has a different answer for {self.disagreement()}."
        )
        page.settings(settings)
        return page.html()

    def _why_different(self) -> str:
        """Return why absolute numbers differ from the paper's."""
        distance = self.parts[-1].sparseness.mean()
        text = (
            "Absolute numbers are not expected to agree: N_w depends on how far apart the vectors are. The "
            f"mean distance of these {len(self.sweep.ids):,} words to their nearest neighbours is "
            f"{distance:.2f} on {self.sweep.dim} axes. The paper has 28,596 words of two data sets, among "
            "them web addresses and misspellings, which are further from others; it reports no distances."
        )
        if not self._is_comparable("S_w"):
            text += f" S_w depends on the number of draws: the paper uses {_PAPER_DRAWS}, with η = 0."
        return text

    def disagreement(self) -> str:
        """Return how often the draws of a sample differ from the exact search, in words."""
        return "; ".join(
            f"{part.sweep.disagreement.share:.1e} of a sample of the draws, at most "
            f"{part.sweep.disagreement.high:.1e} (95%){self._axes(part)}"
            for part in self.parts
        )

    def _intervals(self) -> StatTable:
        def axes(dims: int) -> str:
            return f", {dims} axes" if len(self.parts) > 1 else ""

        rows = [
            (
                f"{row['statistic']}, λ = {row['lam']:g}, ε = {row['epsilon']:g}" + axes(row["dims"]),
                f"{row['mean']:.2f}",
                "" if row["low"] is None else f"{row['low']:.2f} to {row['high']:.2f}",
                f"{row['paper_low']:.2f} to {row['paper_high']:.2f}",
            )
            for row in self.facts()
        ]
        header = ("setting", "mean", "by blocks", "by the paper's rule")
        return StatTable("Means over words", header, tuple(rows))


def _facts(part: ProjectedSweep, statistic: str) -> Iterator[dict[str, Any]]:
    values, grid = part.values(statistic), part.sweep.grid
    for (i, lam), (j, epsilon) in product(enumerate(grid.lams), enumerate(grid.epsilons)):
        interval: Interval = mean_interval(part.sweep, values[i, j])
        levels = np.percentile(values[i, j], PERCENTILES).tolist()
        yield (
            {"statistic": statistic, "dims": part.sweep.dim, "lam": lam, "epsilon": epsilon}
            | {name: finite(value) for name, value in asdict(interval).items()}
            | {f"p{p}": level for p, level in zip(PERCENTILES, levels, strict=True)}
        )
