"""Every fast search against the float64 oracle, on real noisy queries: the number of differences must be 0.

make verify-exact
"""

import argparse
import json
import platform
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import wordveil as wv
from wordveil.nearest import BruteSearch, SingleSearch
from wordveil.nearest.screened import ScreenedSearch

FAST = {"float32": SingleSearch, "integers": ScreenedSearch}
EPSILONS = (1.0, 5.0, 10.0, 20.0, 40.0)
BLOCK = 10_000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--queries", type=int, default=100_000, help="for each ε, half at λ = 0, half at λ = 1"
    )
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/exactness.json"))
    chosen = parser.parse_args()
    embedding = wv.load_embedding()
    start = time.perf_counter()
    rows = [compare(embedding, epsilon, chosen.queries) for epsilon in EPSILONS]
    total = sum(row["differences"][name] for row in rows for name in FAST)
    record = {
        "made_by": "make verify-exact",
        "python": platform.python_version(),
        "machine": platform.machine(),
        "versions": {name: version(name) for name in ("numpy", "wordveil")},
        "fingerprint": embedding.fingerprint,
        "words": len(embedding),
        "dims": embedding.dim,
        "seconds": round(time.perf_counter() - start),
        "differences": total,
        "by_epsilon": rows,
    }
    chosen.out.write_text(json.dumps(record, indent=2) + "\n")
    print(f"{total} differences in {chosen.queries * len(EPSILONS):,} queries for each of: {', '.join(FAST)}")
    if total:
        raise SystemExit(1)


def compare(embedding: wv.Embedding, epsilon: float, queries: int) -> dict[str, Any]:
    differences = dict.fromkeys(FAST, 0)
    for lam in (0.0, 1.0):
        mechanism = wv.Mahalanobis(embedding, epsilon, lam)
        places = mechanism._places[:-1]
        oracle, fast = BruteSearch(places), {name: kind(places) for name, kind in FAST.items()}
        stream, ids = (
            wv.insecure_stream(int(epsilon)),
            np.random.default_rng(1).integers(0, len(embedding), queries // 2),
        )
        for begin in range(0, len(ids), BLOCK):
            points = mechanism._noisy_points(ids[begin : begin + BLOCK], stream)
            right = oracle.nearest(points)
            for name, search in fast.items():
                differences[name] += int((search.nearest(points) != right).sum())
    print(f"  ε = {epsilon:g}: {queries:,} queries, differences {differences}", flush=True)
    return {"epsilon": epsilon, "queries": queries, "differences": differences}


if __name__ == "__main__":
    main()
