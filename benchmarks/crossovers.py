"""Where one search becomes faster than another: the numbers that `AutomaticSearch` chooses by.

    python -m benchmarks.crossovers

One thread, µs per point, the best of some passes in turns: boxes, boxes with integers, integers alone and
float32, on the default vectors with the noise at which the best guess of an attacker is right in about 30% of
cases; and over fewer rows, at 300 dimensions. WORDVEIL_KERNELS=avx2 measures other loops.
"""

import argparse
import json
import os
import platform
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import wordveil as wv
from wordveil import kernels
from wordveil.evaluation.calibration import calibrate_attack
from wordveil.nearest import NearestSearch, SingleSearch
from wordveil.nearest.cells import CellSearch
from wordveil.nearest.coded_cells import MOST_CODED_DIMS, CodedCellSearch
from wordveil.nearest.screened import MOST_DIMS, ScreenedSearch
from wordveil.nearest.threads import one_thread

DIMS = (5, 8, 9, 10, 12, 15, 18, 20, 21, 25, 50)
ROWS = (500, 1000, 1500, 2000, 4000)
TARGET = 0.3
MOST_CELL_DIMS = 25  # boxes alone take far longer beyond

Points = NDArray[np.float64]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--points", type=int, default=8192)
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/crossovers.json"))
    args = parser.parse_args()
    glove = wv.load_embedding()
    record: dict[str, Any] = {
        "made_by": "python -m benchmarks.crossovers",
        "python": platform.python_version(),
        "loops": kernels.level,
        "cores": os.cpu_count(),
        "versions": {name: version(name) for name in ("numpy", "wordveil", "wordveil-kernels")},
        "by_dimensions": [by_dimensions(glove, dims, args.points, args.passes) for dims in DIMS],
        "by_rows": [by_rows(glove, rows, args.points, args.passes) for rows in ROWS],
    }
    args.out.write_text(json.dumps(record, indent=2) + "\n")


def by_dimensions(glove: wv.Embedding, dims: int, points: int, passes: int) -> dict[str, Any]:
    axes = glove.project(dims)
    epsilon = calibrate_attack(lambda e: wv.Laplace(axes, e), wv.Prior.english(axes), TARGET).epsilon
    mechanism = wv.Laplace(axes, epsilon)
    return {"dims": dims, "epsilon": epsilon} | compared(
        mechanism._places[:-1], noisy(mechanism, points), passes
    )


def by_rows(glove: wv.Embedding, rows: int, points: int, passes: int) -> dict[str, Any]:
    mechanism = wv.Laplace(wv.Embedding(glove.words[:rows], glove.vectors[:rows], public=True), 10.0)
    return {"rows": rows, "dims": glove.dim} | compared(
        mechanism._places[:-1], noisy(mechanism, points), passes
    )


def noisy(mechanism: wv.Laplace, points: int) -> Points:
    ids = np.random.default_rng(1).integers(0, len(mechanism.embedding), points)
    return mechanism._noisy_points(ids, wv.insecure_stream(1))


def compared(places: Points, points: Points, passes: int) -> dict[str, Any]:
    """Return the least µs per point of each search that can be built here."""
    dims = places.shape[1]
    kinds: dict[str, Callable[[Points], NearestSearch]] = {"float32": SingleSearch}
    if kernels.kernels and dims <= MOST_CELL_DIMS:
        kinds["boxes"] = CellSearch
    if kernels.has_codes() and dims <= MOST_CODED_DIMS:
        kinds["boxes with integers"] = CodedCellSearch
    if kernels.has_codes() and dims <= MOST_DIMS:
        kinds["integers"] = ScreenedSearch
    searches = {name: make(places) for name, make in kinds.items()}
    best = dict.fromkeys(searches, float("inf"))
    with one_thread():
        for _ in range(passes):
            for name, search in searches.items():
                start = time.perf_counter()
                search.nearest(points)
                best[name] = min(best[name], time.perf_counter() - start)
    row = {name: round(1e6 * seconds / len(points), 2) for name, seconds in best.items()}
    print(f"  {len(places)} rows, {dims} dimensions: {row}", flush=True)
    return {"microseconds_per_point": row}


if __name__ == "__main__":
    main()
