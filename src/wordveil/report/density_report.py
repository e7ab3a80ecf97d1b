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
from wordveil.report.page import Page
from wordveil.report.tables import StatTable, write_texts

__all__ = ["density_table", "write_density"]


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
        "texts", "records", "words a record", "vocabulary", "d_max/d_min", "sparsest 50 / densest 50",
        "share of records with a given one of the sparsest 50",
    )  # fmt: skip
    return StatTable("Where the words of these texts stand", header, tuple(rows))


def write_density(
    folder: Path, table: StatTable, sweep: Sweep, sparseness: NDArray[np.float64], settings: dict[str, Any]
) -> list[Path]:
    """Write the table, the picture and the page into a folder; return the paths."""
    folder.mkdir(parents=True, exist_ok=True)
    groups = [(f"λ = {lam:g}", sparseness, sweep.n_w[i, 0]) for i, lam in enumerate(sweep.grid.lams)]
    figure = scatter_figure(groups, "distance to the nearest neighbour", "N_w")
    pictures = save_figure(figure, folder / "density")
    page = Page("Words in sparse regions")
    page.text(
        "A word that has no neighbours stays itself more often than others: the noise seldom reaches another "
        "word. Noise that is shaped like the vectors goes further where the vectors do."
    )
    page.table(table)
    page.figure(
        svg_of(figure), f"N_w against distance, at ε = {sweep.grid.epsilons[0]:g}: a dot a word, and means."
    )
    page.settings(settings)
    texts = {
        "density.html": page.whole(),
        "density.csv": table.csv(),
        "density.md": table.markdown() + "\n",
        "density.tex": table.latex() + "\n",
        "density.json": json.dumps(
            {
                "settings": settings,
                "rows": [dict(zip(table.columns, row, strict=True)) for row in table.rows],
            },
            indent=2,
        ),
    }
    return [*write_texts(folder, texts), *pictures]
