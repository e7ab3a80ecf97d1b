"""The report of a density experiment: the table of the paper's appendix, and N_w by distance."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from wordveil.evaluation.results import DensityResult
from wordveil.evaluation.verdicts import paper
from wordveil.report.charts import Chart, Cloud, Line, Panel
from wordveil.report.grids import Row, values_of
from wordveil.report.report import Report, make_report
from wordveil.report.tables import StatTable

__all__ = ["density_report"]

_MAX_BINS: Final = 10  # as many as a table shows at once; chosen by judgement
_MIN_BIN_SIZE: Final = 20  # a mean over fewer words is mostly noise


@make_report.register
def density_report(result: DensityResult) -> Report:
    """Return the report on how densely the words of some texts lie."""
    rows, charts = result.rows(), _charts(result)
    return Report(
        "density",
        f"Words in sparse regions: {result.name}",
        _summary(result, rows[0], charts),
        result.verdicts(),
        charts,
        [_table(result, rows[0])],
        rows,
        result.settings,
        result.is_private,
        result.to_dict(),
    )


def _summary(result: DensityResult, row: Row, charts: Sequence[Chart]) -> tuple[str, str, str]:
    observed = "Words without near neighbours stay themselves more often: noise seldom reaches another word."
    if charts:
        shares = "; ".join(
            f"{line.name}: from {line.y[0]:.0f}% to {line.y[-1]:.0f}%" for line in charts[0].panels[0].lines
        )
        observed = (
            "From the words with the nearest neighbours to those with the farthest, the share of draws in "
            f"which a word stays itself (N_w) goes as follows. {shares}."
        )
    return (
        f"{row['records']:,} texts of {result.name} contain {row['vocabulary']:,} words that have a vector.",
        f"The {row['extreme_words']} sparsest words are {row['sparsest_over_densest']:.1f} times as far from "
        f"their nearest neighbours as the {row['extreme_words']} densest; a sparse one occurs in "
        f"{row['share_with_sparsest']:.2%} of the texts on average.",
        observed,
    )


def _table(result: DensityResult, row: Row) -> StatTable:
    """Return the table of the paper's appendix, beside the paper's own data sets."""
    rows = [_cells(result.name, row)]
    if row.get("at_lam_1"):
        rows.append(_cells(f"{result.name}, λ = 1", {**row, **row["at_lam_1"]}))
    if result.settings.get("compare_paper"):
        rows += [
            _cells(f"the paper's {title}", _paper_row(values)) for title, values in paper()["density"].items()
        ]
    count = row["extreme_words"]
    header = (
        "texts", "records", "words per record", "vocabulary", "d_max/d_min", "sparsest / densest",
        "records with a sparse word",
    )  # fmt: skip
    note = (
        "Distances are those to the nearest other word of the texts; ± is the standard deviation. Sparsest / "
        f"densest is the mean distance of the {count} sparsest words over that of the {count} densest; "
        f"records with a sparse word: in how many one of the {count} sparsest occurs, on average."
    )
    return StatTable(f"How densely the words of {result.name} lie", header, tuple(rows), note)


def _paper_row(values: dict[str, Any]) -> dict[str, Any]:
    mean, deviation = values["words_per_record"]
    return {**values, "words_per_record_mean": mean, "words_per_record_deviation": deviation}


def _cells(name: str, row: Row) -> tuple[str, ...]:
    return (
        name,
        f"{row['records']:,}",
        f"{row['words_per_record_mean']:.1f} ± {row['words_per_record_deviation']:.1f}",
        f"{row['vocabulary']:,}",
        f"{row['d_max_over_d_min']:.2f}",
        f"{row['sparsest_over_densest']:.2f}",
        f"{row['share_with_sparsest']:.2%}",
    )


def _charts(result: DensityResult) -> list[Chart]:
    """Return N_w against the distance to the nearest neighbour, as a dot per word and means."""
    lines, clouds = [], []
    for lam in values_of(result.points, "lam"):
        points = [point for point in result.points if point["lam"] == lam]
        x = np.array([point["distance"] for point in points])
        y = np.array([point["n_w"] for point in points])
        lines.append(Line(f"λ = {lam:g}", *_bin_means(x, y)))
        clouds.append(Cloud(f"λ = {lam:g}", tuple(x.tolist()), tuple(y.tolist())))
    if not lines:
        return []
    caption = (
        f"{result.name}: N_w against the distance to the nearest word of the entire vocabulary, at ε = "
        f"{result.points[0]['epsilon']:g}: one dot per word ({len(clouds[0].x):,} of the texts' words), "
        "and means."
    )
    panel = Panel("", tuple(lines), (), tuple(clouds))
    chart = Chart(
        "density",
        caption,
        (panel,),
        "distance to the nearest neighbour",
        "N_w, % of draws",
        (0.0, 100.0),
        decimals=0,
    )
    return [chart]


def _bin_means(x: Any, y: Any) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the means of x and y in up to ten bins that hold equally many points.

    Examples
    --------
    >>> _bin_means(np.arange(40.0), np.repeat([0.0, 10.0], 20))
    ((9.5, 29.5), (0.0, 10.0))
    """
    count = max(1, min(_MAX_BINS, len(x) // _MIN_BIN_SIZE))
    bins = np.array_split(np.argsort(x, kind="stable"), count)
    return tuple(float(x[part].mean()) for part in bins), tuple(float(y[part].mean()) for part in bins)
