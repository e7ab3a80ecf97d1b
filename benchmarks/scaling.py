"""Words per second of the search against the size of the vocabulary, its dimensions and the threads.

    python -m benchmarks.scaling

draws the figure again from the record of `benchmarks.searching`.
"""

import json
import os
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import wordveil as wv
from wordveil.nearest.screened import ScreenedSearch
from wordveil.nearest.threads import one_thread
from wordveil.report.drawing import svg_of
from wordveil.report.plots import figure_class

SIZES = (1_000, 3_000, 10_000, 33_000, 100_000, 200_000, 341_000)
DIMS = (25, 50, 100, 200, 300)
RECORD = Path("benchmarks/results/searching.json")
FIGURE = Path("docs/speed")


def scaling(embedding: wv.Embedding, large: str | None) -> list[dict[str, Any]]:
    """Return one row per setting; vocabularies larger than the default one come from `large`."""
    rows = []
    full = embedding if large is None else wv.load_embedding(large)
    places = wv.Mahalanobis(full, 10.0, 1.0)._places[:-1]
    for size in SIZES:
        if size <= len(places):
            rows += measure(places[:size], f"{full.dim} dimensions")
    for dims in DIMS:
        axes = embedding if dims == embedding.dim else embedding.project(dims)
        rows += measure(wv.Mahalanobis(axes, 10.0, 1.0)._places[:-1], "default words")
    return rows


def measure(places: NDArray[np.float64], series: str) -> list[dict[str, Any]]:
    search = ScreenedSearch(places)
    random = np.random.default_rng(1)
    # The same work at every size, 2e10 multiplications, within limits: enough points for all threads, and not
    # more than fit into memory.
    count = int(np.clip(2e10 / places.size, 3072, 60_000))
    points = places[random.integers(0, len(places), count)] + random.normal(size=(count, places.shape[1]))
    rows = []
    for threads in (1, os.cpu_count() or 1):
        best = float("inf")
        for _ in range(3):
            start = time.perf_counter()
            if threads == 1:
                with one_thread():
                    search.nearest(points)
            else:
                search.nearest(points)
            best = min(best, time.perf_counter() - start)
        rows.append(
            {
                "series": series,
                "words": len(places),
                "dims": places.shape[1],
                "threads": threads,
                "words_a_second": round(count / best),
            }
        )
        print(f"  {rows[-1]}", flush=True)
    return rows


def draw_scaling(rows: list[dict[str, Any]], path: Path) -> None:
    """Draw words per second against V, and against m, as PNG and SVG."""
    figure = figure_class()(figsize=(9.0, 3.8), layout="constrained")
    panels = figure.subplots(1, 2)
    threads = sorted({row["threads"] for row in rows})
    all_series = sorted({row["series"] for row in rows})
    for panel, axis, series in zip(panels, ("words", "dims"), all_series, strict=True):
        for number, colour, mark in zip(threads, ("#000000", "#0072b2"), ("o", "s"), strict=False):
            line = [row for row in rows if row["series"] == series and row["threads"] == number]
            panel.loglog(
                [row[axis] for row in line], [row["words_a_second"] for row in line],
                color=colour, marker=mark, markersize=4, label=f"{number} thread{'s' * (number > 1)}",
            )  # fmt: skip
        last = line[-1]
        panel.loglog(
            [row[axis] for row in line],
            [last["words_a_second"] * last[axis] / row[axis] for row in line],
            color="#777777", linewidth=1, linestyle=":", label="proportional",
        )  # fmt: skip
        panel.set_title(f"{series}" if axis == "dims" else f"vocabulary, {series}")
        ticks = sorted({row[axis] for row in line})
        labels = [f"{tick:,}" for tick in ticks]
        panel.set_xticks(ticks, labels, rotation=30, ha="right", rotation_mode="anchor", fontsize=8)
        label_words_per_second(panel.yaxis)
        panel.minorticks_off()
        panel.set_xlabel("words in the vocabulary" if axis == "words" else "dimensions")
        panel.set_ylabel("words per second")
        panel.grid(color="#dddddd", linewidth=0.5)
        panel.legend(fontsize=8)
    figure.savefig(path.with_suffix(".png"), dpi=130)
    path.with_suffix(".svg").write_text(svg_of(figure), encoding="utf-8")


def label_words_per_second(axis: Any) -> None:
    """Put labels at 1, 2 and 5 times each power of ten, since the range may be less than a decade."""
    from matplotlib.ticker import LogLocator, StrMethodFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))


if __name__ == "__main__":
    draw_scaling(json.loads(RECORD.read_text())["scaling"], FIGURE)
