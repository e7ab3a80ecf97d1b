"""The density table of the paper's appendix, and the figure that motivates its method."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.evaluation.claims import paper
from wordveil.evaluation.density import Density
from wordveil.evaluation.sweep import Sweep
from wordveil.report.figures import save_figure, scatter_figure, svg_of
from wordveil.report.output import result_texts, write_texts
from wordveil.report.page import NOT_FOR_RELEASE, Page
from wordveil.report.tables import StatTable

__all__ = ["density_facts", "density_table", "write_density"]


def density_table(name: str, density: Density, *, compare: bool) -> StatTable:
    """Return the table of the paper's appendix; `compare` adds rows for the paper's own data sets."""
    facts = density_facts(name, density)
    rows = [_row(name, facts, density.words_mean, density.words_deviation)]
    if density.shaped is not None:
        shaped = facts | dict(zip(("d_max_over_d_min", "sparsest_over_densest"), density.shaped, strict=True))
        rows.append(_row(f"{name}, λ = 1", shaped, density.words_mean, density.words_deviation))
    if compare:
        rows += [
            _row(f"the paper's {title}", values, *values["words_a_record"])
            for title, values in paper()["density"].items()
        ]
    header = (
        "texts", "records", "words per record", "vocabulary", "d_max/d_min",
        f"sparsest {density.extreme_words} / densest {density.extreme_words}",
        f"records with a given one of the sparsest {density.extreme_words}",
    )  # fmt: skip
    return StatTable("How densely the words of these texts lie", header, tuple(rows))


def _row(name: str, facts: dict[str, Any], words_mean: float, words_deviation: float) -> tuple[str, ...]:
    return (
        name,
        f"{facts['records']:,}",
        f"{words_mean:.1f} ± {words_deviation:.1f}",
        f"{facts['vocabulary']:,}",
        f"{facts['d_max_over_d_min']:.2f}",
        f"{facts['sparsest_over_densest']:.2f}",
        f"{facts['share_with_sparsest']:.2%}",
    )


def density_facts(name: str, density: Density) -> dict[str, Any]:
    """Return the numbers of the table, for machines."""
    return {
        "texts": name,
        "records": density.records,
        "words_a_record_mean": density.words_mean,
        "words_a_record_deviation": density.words_deviation,
        "vocabulary": density.vocabulary,
        "d_max_over_d_min": density.spread,
        "extreme_words": density.extreme_words,
        "sparsest_over_densest": density.extremes,
        "share_with_sparsest": density.share,
        "at_lam_1": None
        if density.shaped is None
        else dict(zip(("d_max_over_d_min", "sparsest_over_densest"), density.shaped, strict=True)),
    }


def write_density(
    folder: Path,
    table: StatTable,
    facts: dict[str, Any],
    sweep: Sweep,
    sparseness: NDArray[np.float64],
    settings: dict[str, Any],
) -> list[Path]:
    """Write the table, the figure and the page into a folder; return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    groups = [(f"λ = {lam:g}", sparseness, sweep.n_w[i, 0]) for i, lam in enumerate(sweep.grid.lams)]
    figure = scatter_figure(groups, "distance to the nearest neighbour", "$N_w$")
    figure_paths = save_figure(figure, folder / "density", private=True)
    page = Page("Words in sparse regions")
    page.text(
        "The observation that the paper starts from: a word without near neighbours stays itself more often "
        "than others, because the noise seldom reaches another word. Noise that follows the shape of the "
        "vectors is meant to reduce that."
    )
    page.text(NOT_FOR_RELEASE)
    page.table(table)
    page.text("Distances in the table are those to the nearest other word of the texts.")
    page.figure(
        svg_of(figure),
        f"N_w against the distance to the nearest word of the entire vocabulary, at ε = "
        f"{sweep.grid.epsilons[0]:g}: one dot per word ({len(sweep.ids):,} of the texts' words), and means.",
    )
    page.settings(settings)
    texts = {"density.html": page.html(), **result_texts("density", [table], settings, [facts])}
    return [*write_texts(folder, texts, private=True), *figure_paths]
