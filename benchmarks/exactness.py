"""Every fast search against the float64 oracle, on real noisy queries: the number of differences must be 0.

    make verify-exact

Three embeddings if WORDVEIL_TEST_DATA names the folder of test data, else the default one; ε = 1 to 40, λ = 0
and 1, all axes and fewer.
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

import wordveil as wv
from wordveil import kernels
from wordveil.embedding.catalog import MAP_NAME
from wordveil.nearest import AutomaticSearch, BruteSearch, NearestSearch, SingleSearch
from wordveil.nearest.cells import CellSearch
from wordveil.nearest.coded_cells import MOST_CODED_DIMS, CodedCellSearch
from wordveil.nearest.screened import ScreenedSearch
from wordveil.nearest.two import TableOfTwo, TwoNearest

FAST: dict[str, Callable[[Any], NearestSearch]] = {"float32": SingleSearch}
FAST |= {"cells": CellSearch} if kernels.kernels else {}
FAST |= {"integers": ScreenedSearch} if kernels.has_codes() else {}
FAST |= {"automatic": lambda rows: AutomaticSearch(rows).prepare(1_000_000)}
EPSILONS = (1.0, 5.0, 10.0, 20.0, 40.0)
PAIRS = 500  # queries for the two nearest
BLOCK = 10_000  # queries at once: bounds memory, and is enough for every search to use all cores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--queries", type=int, default=12_000, help="for each ε and λ, on the default vectors"
    )
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/exactness.json"))
    args = parser.parse_args()
    start = time.perf_counter()
    rows = [
        compare(name, axes, epsilon, lam, count)
        for name, axes, count in spaces(args.queries)
        for lam in (0.0, 1.0)
        for epsilon in EPSILONS
    ]
    differences = {
        name: sum(row["differences"].get(name, 0) for row in rows)
        for name in (*FAST, "coded cells", "two nearest", "other layouts")
    }
    queries = sum(row["queries"] for row in rows)
    record = {
        "made_by": "make verify-exact",
        "python": platform.python_version(),
        "machine": platform.machine(),
        "versions": {name: version(name) for name in ("numpy", "wordveil", "wordveil-kernels")},
        "loops": kernels.level,
        "seconds": round(time.perf_counter() - start),
        "queries": queries,
        "differences": differences,
        "rows": rows,
    }
    args.out.write_text(json.dumps(record, indent=2) + "\n")
    print(f"differences in {queries:,} queries: {differences}")
    if any(differences.values()):
        raise SystemExit(1)


def spaces(queries: int) -> list[tuple[str, wv.Embedding, int]]:
    """Return names, vectors and numbers of queries: fewer where a query takes longer."""
    glove = wv.load_embedding()
    embeddings = [
        ("default", glove, queries),
        *(("default", glove.project(dims), queries) for dims in (5, 10, 15, 25, 50, 100)),
        ("map", wv.load_embedding(MAP_NAME), queries),
    ]
    data = os.environ.get("WORDVEIL_TEST_DATA")
    if data is not None:
        word2vec = wv.load_embedding(str(Path(data) / "word2vec-googlenews-300d-26k.npy"))
        large = wv.load_embedding(str(Path(data) / "glove-6b-100d-341k.npy"))
        embeddings += [("word2vec", word2vec, queries // 2), ("GloVe 6B", large, queries // 30)]
    return embeddings


def has_coded_cells(dims: int) -> bool:
    return kernels.has_codes() and dims <= MOST_CODED_DIMS


def compare(name: str, axes: wv.Embedding, epsilon: float, lam: float, queries: int) -> dict[str, Any]:
    kinds_here = (*FAST, "coded cells") if has_coded_cells(axes.dim) else FAST
    differences = dict.fromkeys((*kinds_here, "two nearest", "other layouts"), 0)
    mechanism = wv.Mahalanobis(axes, epsilon, lam)
    places = mechanism._places[:-1]
    kinds = FAST | ({"coded cells": CodedCellSearch} if has_coded_cells(axes.dim) else {})
    oracle, fast = BruteSearch(places), {kind: search(places) for kind, search in kinds.items()}
    stream = wv.insecure_stream(int(epsilon))
    ids = np.random.default_rng(1).integers(0, len(axes), queries)
    for first in range(0, len(ids), BLOCK):
        points = mechanism._noisy_points(ids[first : first + BLOCK], stream)
        exact = oracle.nearest(points)
        for kind, search in fast.items():
            differences[kind] += int((search.nearest(points) != exact).sum())
        for layout in (np.asfortranarray(points), np.repeat(points, 2, axis=0)[::2], points[::-1]):
            answers = fast["automatic"].nearest(layout)
            expected = exact[::-1] if layout.strides[0] < 0 else exact
            differences["other layouts"] += int((answers != expected).sum())
    # The two nearest, of the last points: their own table of all scores is compared with the oracle in tests.
    table, few = TableOfTwo(places), points[:PAIRS]
    expected = np.stack(table.find(few)[:2])
    for search in fast.values():
        result = np.stack(TwoNearest(search, table).find(few)[:2])
        differences["two nearest"] += int((result != expected).any(axis=0).sum())
    setting = {"vectors": name, "words": len(axes), "dims": axes.dim, "epsilon": epsilon, "lam": lam}
    print(f"  {setting}: {queries:,} queries, differences {differences}", flush=True)
    return setting | {"queries": queries, "differences": differences}


if __name__ == "__main__":
    main()
