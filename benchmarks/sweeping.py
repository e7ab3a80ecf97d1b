"""How fast the sweep is, compared with as many draws by a plain NumPy product and argmax, in one run.

    python -m benchmarks.sweeping

The grid of the paper (5 ε × 5 λ × 100 draws) on a sample of words. The plain way is a float32 product of
noisy points with all vectors, and an argmax, on the same threads; drawing its noise is not counted.
"""

import argparse
import json
import os
import platform
import resource
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np

import wordveil as wv
from wordveil.evaluation.sweep import Grid, sweep


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", type=int, default=4096)
    parser.add_argument("--plain-draws", type=int, default=40_000)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/sweeping.json"))
    args = parser.parse_args()
    embedding, grid = wv.load_embedding(), Grid()
    ids = np.sort(np.random.default_rng(0).choice(len(embedding), args.words, replace=False))
    start = time.perf_counter()
    result = sweep(embedding, grid, ids, workers=args.threads)
    sweep_seconds = time.perf_counter() - start
    draws = args.words * grid.draws * len(grid.epsilons) * len(grid.lams)
    microseconds = {"sweep": sweep_seconds / draws * 1e6, "plain": plain(embedding, args.plain_draws) * 1e6}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{args.words:,} of {len(embedding):,} words, {draws:,} draws, {args.threads} threads\n"
        f"  sweep  {microseconds['sweep']:7.2f} µs per draw ({sweep_seconds:.0f} s)\n"
        f"  plain  {microseconds['plain']:7.2f} µs per draw (of {args.plain_draws:,})\n"
        f"  {microseconds['plain'] / microseconds['sweep']:.1f} times as fast; peak memory {peak:.0f} MB; "
        f"answers that differ from the exact search: {result.disagreement.share:.1e} "
        f"(at most {result.disagreement.high:.1e}, 95%)"
    )
    record = {
        "made_by": "python -m benchmarks.sweeping",
        "words": args.words,
        "draws": draws,
        "threads": args.threads,
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("numpy", "wordveil")},
        "microseconds_a_draw": microseconds,
        "ratio": microseconds["plain"] / microseconds["sweep"],
        "peak_mb": peak,
        "disagreement": result.disagreement._asdict(),
    }
    args.out.write_text(json.dumps(record, indent=2) + "\n")


def plain(embedding: wv.Embedding, draws: int) -> float:
    """Return the seconds per draw of a product and an argmax, in blocks of 1,000."""
    vectors = np.ascontiguousarray(embedding.vectors, dtype=np.float32)
    halves = np.einsum("ij,ij->i", vectors, vectors) / 2
    points = np.random.default_rng(1).normal(size=(1000, embedding.dim)).astype(np.float32) * 3
    start = time.perf_counter()
    for _ in range(draws // 1000):
        scores = points @ vectors.T
        scores -= halves
        scores.argmax(axis=1)
    return (time.perf_counter() - start) / (draws // 1000 * 1000)


if __name__ == "__main__":
    main()
