"""The density table of the appendix, and the picture that motivates the method."""

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wordveil.evaluation.claims import paper
from wordveil.evaluation.density import Density
from wordveil.evaluation.sweep import Sweep
from wordveil.report.figures import save_figure, scatter_figure, svg_of
from wordveil.report.page import NOT_FOR_RELEASE, Page
from wordveil.report.tables import StatTable, facts_csv, write_texts

__all__ = ["density_facts", "density_table", "write_density"]


def density_table(name: str, found: Density, *, compare: bool) -> StatTable:
    """Return the table of the paper's appendix, and if asked for the paper's own data sets beside it."""
    rows = [
        (
            name,
            f"{found.records:,}",
            f"{found.words_mean:.1f} ± {found.words_deviation:.1f}",
            f"{found.vocabulary:,}",
            f"{found.spread:.2f}",
            f"{found.extremes:.2f}",
            f"{found.share:.2%}",
        )
    ]
    if compare:
        for title, theirs in paper()["density"].items():
            mean, deviation = theirs["words_a_record"]
            rows.append(
                (
                    f"the paper's {title}",
                    f"{theirs['records']:,}",
                    f"{mean:.1f} ± {deviation:.1f}",
                    f"{theirs['vocabulary']:,}",
                    f"{theirs['d_max_over_d_min']:.2f}",
                    f"{theirs['sparsest_over_densest']:.2f}",
                    f"{theirs['share_with_sparsest']:.2%}",
                )
            )
    header = (
        "texts", "records", "words a record", "vocabulary", "d_max/d_min",
        f"sparsest {found.extreme_words} / densest {found.extreme_words}",
        f"records with a given one of the sparsest {found.extreme_words}",
    )  # fmt: skip
    return StatTable("Where the words of these texts stand", header, tuple(rows))


def density_facts(name: str, found: Density) -> dict[str, Any]:
    """Return the numbers of the table, for machines."""
    return {
        "texts": name,
        "records": found.records,
        "words_a_record_mean": found.words_mean,
        "words_a_record_deviation": found.words_deviation,
        "vocabulary": found.vocabulary,
        "d_max_over_d_min": found.spread,
        "extreme_words": found.extreme_words,
        "sparsest_over_densest": found.extremes,
        "share_with_sparsest": found.share,
    }


def write_density(
    folder: Path,
    table: StatTable,
    facts: dict[str, Any],
    sweep: Sweep,
    sparseness: NDArray[np.float64],
    settings: dict[str, Any],
) -> list[Path]:
    """Write the table, the picture and the page into a folder; return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    groups = [(f"λ = {lam:g}", sparseness, sweep.n_w[i, 0]) for i, lam in enumerate(sweep.grid.lams)]
    figure = scatter_figure(groups, "distance to the nearest neighbour", "$N_w$")
    pictures = save_figure(figure, folder / "density", private=True)
    page = Page("Words in sparse regions")
    page.text(
        "What the paper starts from: a word that has no neighbours stays itself more often than others, "
        "because the noise seldom reaches another word; noise that is shaped like the vectors is meant to "
        "lessen that."
    )
    page.text(NOT_FOR_RELEASE)
    page.table(table)
    page.text("Distances in the table are those to the nearest of the words that the texts hold.")
    page.figure(
        svg_of(figure),
        f"N_w against the distance to the nearest word of the whole vocabulary, at ε = "
        f"{sweep.grid.epsilons[0]:g}: a dot a word ({len(sweep.ids):,} of the texts' words), and means.",
    )
    page.settings(settings)
    texts = {
        "density.html": page.whole(),
        "density.csv": facts_csv([facts]),
        "density.md": table.markdown() + "\n",
        "density.tex": table.latex() + "\n",
        "density.json": json.dumps({"settings": settings, "rows": [facts]}, indent=2),
    }
    return [*write_texts(folder, texts, private=True), *pictures]
