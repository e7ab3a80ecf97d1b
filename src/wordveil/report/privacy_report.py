"""The report of a privacy sweep: N_w and S_w over ε and λ, their percentiles, and the paper's numbers."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from wordveil.evaluation.results import PrivacyResult
from wordveil.evaluation.verdicts import paper
from wordveil.report.charts import Chart, Panel
from wordveil.report.grids import Row, course, grid_table, lines_of, name_settings, tally, values_of
from wordveil.report.report import Report, make_report
from wordveil.report.tables import StatTable

__all__ = ["privacy_report"]

_PAPER_DRAWS: Final = 100  # S_w grows with the number of draws, so only 100 can be compared with the paper
_BENCHMARK_DIM: Final = 300  # of the vectors in the benchmark of 2024
_STATISTICS: Final = ("N_w", "S_w")
_PERCENTILES: Final = (5, 50, 95)
_MEANINGS: Final = {
    "N_w": "how often a word stays itself, in % of the draws; smaller is more private",
    "S_w": "how many different answers a word has in {draws} draws; larger is more private",
}
_DIFFERENT: Final = {
    "N_w": "Absolute numbers are not expected to agree: N_w depends on how far apart the vectors are, and "
    "the paper's vocabulary contains web addresses and misspellings, which are further from others.",
    "S_w": "Absolute numbers are not expected to agree: S_w depends on how many other words lie within reach "
    "of the noise, and the paper's vocabulary is another one.",
}


@make_report.register
def privacy_report(result: PrivacyResult) -> Report:
    """Return the report of a sweep over public words."""
    rows, settings = result.rows(), result.settings
    all_dims = sorted(values_of(rows, "dims"))
    parts = [
        _Part(
            settings,
            statistic,
            [r for r in rows if (r["dims"], r["statistic"]) == (dims, statistic)],
            all_dims,
        )
        for dims in all_dims
        for statistic in _STATISTICS
    ]
    last = parts[-len(_STATISTICS) :]  # on the most axes: all of them, as in the paper, if they were measured
    tables = [part.means() for part in parts] + [part.percentiles() for part in parts]
    if settings.get("compare_paper"):
        tables += [part.comparison() for part in last]
        tables += [_benchmark(last)] if all_dims[-1] == _BENCHMARK_DIM else []
    return Report(
        "privacy",
        f"How much privacy words get: {_space(rows, all_dims)}, {settings['words']:,} words",
        _summary(result, parts),
        result.verdicts(),
        [part.chart() for part in [*last, *parts[: -len(_STATISTICS)]] if values_of(part.rows, "epsilon")],
        [*tables, _intervals(rows, settings["draws"])],
        rows,
        settings,
        result.is_private,
        result.to_dict(),
    )


def _summary(result: PrivacyResult, parts: Sequence["_Part"]) -> tuple[str, str, str]:
    settings, rows = result.settings, result.rows()
    count = len(set(name_settings(rows)))
    return (
        f"{settings['words']:,} public words of {_vectors(rows)} were drawn {settings['draws']} times "
        f"each at {count} setting{'s'[: count > 1]} and {len(values_of(rows, 'epsilon'))} ε.",
        f"N_w, the share of draws in which a word stays itself, {_courses(parts, 'N_w', '%')}; S_w, the "
        f"number of different answers in {settings['draws']} draws, {_courses(parts, 'S_w')}.",
        f"A smaller N_w and a larger S_w are more private. {tally(result.verdicts())}",
    )


def _courses(parts: Sequence["_Part"], statistic: str, unit: str = "") -> str:
    """Return where a statistic goes with ε, on each number of axes if there are several."""
    chosen = [part for part in parts if part.statistic == statistic]
    courses = [course(part.rows, 1, unit) for part in chosen]
    if len(chosen) == 1:
        return courses[0]
    return "; ".join(
        f"on {part.rows[0]['dims']} dims {words}" for part, words in zip(chosen, courses, strict=True)
    )


def _vectors(rows: Sequence[Row]) -> str:
    """Return the names of the vectors that rows are about, without the number of their axes."""
    names = [name.partition("[")[0] for name in values_of(rows, "vectors")]
    return ", ".join(dict.fromkeys(filter(None, names))) or "these vectors"


def _space(rows: Sequence[Row], dims: Sequence[int]) -> str:
    """Return the vectors, and the numbers of axes if there are several or not all of them."""
    is_projected = any("[" in name for name in values_of(rows, "vectors"))
    *others, last = map(str, dims)
    listed = f"{', '.join(others)} and {last}" if others else last
    return f"{_vectors(rows)}, {listed} dims" if others or is_projected else _vectors(rows)


@dataclass(frozen=True, slots=True)
class _Part:
    """One statistic on one number of axes."""

    settings: Mapping[str, Any]
    statistic: str
    rows: Sequence[Row]
    all_dims: Sequence[int]

    @property
    def place(self) -> str:
        """The vectors of these rows, and their number of axes if there are several or not all of them."""
        if len(self.all_dims) > 1:
            return f"{_vectors(self.rows)}, {self.rows[0]['dims']} dims"
        return _space(self.rows, self.all_dims)

    @property
    def meaning(self) -> str:
        """What the statistic says, with its unit."""
        return _MEANINGS[self.statistic].format(draws=self.settings["draws"])

    @property
    def is_comparable(self) -> bool:
        """Whether it can be compared with the paper's: S_w depends on the number of draws and on η."""
        return self.statistic == "N_w" or (
            self.settings["draws"] == _PAPER_DRAWS and not self.settings.get("eta")
        )

    def _table(self, what: str, cell: Callable[[Row], str], note: str = "") -> StatTable:
        return grid_table(f"{self.statistic}: {what}, {self.place}", self.rows, cell, note=note)

    def means(self) -> StatTable:
        """Return means and standard deviations."""

        def cell(row: Row) -> str:
            return f"{row['mean']:.2f} ± {row['deviation']:.2f}"

        note = f"{self.statistic} is {self.meaning}."
        return self._table("mean ± standard deviation over words", cell, note)

    def percentiles(self) -> StatTable:
        """Return the percentiles over words."""
        values = [row[f"p{level}"] for row in self.rows for level in _PERCENTILES]
        decimals = 0 if all(float(value).is_integer() for value in values) else 1

        def cell(row: Row) -> str:
            return " / ".join(f"{row[f'p{level}']:.{decimals}f}" for level in _PERCENTILES)

        note = f"{self.statistic} is {self.meaning}."
        return self._table("5th / 50th / 95th percentile over words", cell, note)

    def chart(self) -> Chart:
        """Return the percentiles over words against ε: one panel per percentile, one line per setting."""
        stem = self.statistic.lower().replace("_", "-")
        dims = f"-{self.rows[0]['dims']}" if len(self.all_dims) > 1 else ""
        draws = self.settings["draws"]
        unit, most = (
            ("% of draws", 100.0) if self.statistic == "N_w" else (f"answers in {draws} draws", draws)
        )
        return Chart(
            f"{stem}-percentiles{dims}",
            f"{self.statistic}, {self.meaning}: percentiles over words against ε, {self.place}.",
            tuple(
                Panel(f"{level}th percentile of words", lines_of(self.rows, f"p{level}"))
                for level in _PERCENTILES
            ),
            "ε",
            f"{self.statistic}, {unit}",
            (0.0, float(most)),
            decimals=0,
        )

    def comparison(self) -> StatTable:
        """Return the paper's means, with the difference of ours where both have a value."""
        paper_values = paper()
        rows = [
            {"vectors": name, "lam": lam, "epsilon": epsilon, "mean": mean}
            for name, tables in paper_values["tables"].items()
            for lam, line in zip(paper_values["lams"], tables[self.statistic], strict=True)
            for epsilon, (mean, _) in zip(paper_values["epsilons"], line, strict=True)
        ]
        difference = f" (ours minus it, {self.place})" if self.is_comparable else f", beside {self.place}"
        note = _DIFFERENT[self.statistic]
        if not self.is_comparable:
            note += f" S_w depends on the number of draws: the paper uses {_PAPER_DRAWS}, with η = 0."
        title = f"{self.statistic}: the paper's mean{difference}"
        return grid_table(
            title, rows, lambda row: self.beside(row["lam"], row["epsilon"], row["mean"]), note=note
        )

    def beside(self, lam: float, epsilon: float, reference: float) -> str:
        """Return a reference value, and the difference of ours if there is one at the same setting."""
        ours = [
            row["mean"]
            for row in self.rows
            if (row["lam"], row["epsilon"]) == (lam, epsilon) and row.get("mechanism") in _PAPER_MECHANISMS
        ]
        if not ours or not self.is_comparable:
            return f"{reference:.2f}"
        return f"{reference:.2f} ({ours[0] - reference:+.1f})"


_PAPER_MECHANISMS: Final = (None, "mahalanobis")


def _benchmark(parts: Sequence[_Part]) -> StatTable:
    benchmark = paper()["benchmark_2024"]
    cells = tuple(part.beside(0.0, 10.0, benchmark[part.statistic]) for part in parts)
    title = f"A later benchmark, beside {parts[0].place}: {benchmark['what']}"
    return StatTable(title, ("", *_STATISTICS), (("benchmark (ours minus it)", *cells),))


def _intervals(rows: Sequence[Row], draws: int) -> StatTable:
    def interval(row: Row, low: str, high: str) -> str:
        most = 100.0 if row["statistic"] == "N_w" else float(draws)
        return "" if row[low] is None else f"{max(0.0, row[low]):.2f} to {min(most, row[high]):.2f}"

    lines = tuple(
        (
            f"{row['statistic']}, {name}" + ("" if row["epsilon"] is None else f", ε = {row['epsilon']:g}"),
            f"{row['mean']:.2f}",
            interval(row, "low", "high"),
            interval(row, "paper_low", "paper_high"),
        )
        for name, row in zip(name_settings(rows), rows, strict=True)
    )
    note = (
        f"N_w in % of draws, S_w in answers in {draws} draws. 95% intervals. The words of a block share the "
        "directions of their noise, so ours use the means of blocks; the paper's rule is mean ± "
        "1.96·std/√100."
    )
    header = ("setting", "mean", "by blocks", "by the paper's rule")
    return StatTable("How precise the means over words are", header, lines, note, is_detail=True)
