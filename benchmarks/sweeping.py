"""How fast the sweep is beside the same number of draws by a plain NumPy product and argmax, in one run.

    python -m benchmarks.sweeping

The grid of the paper (5 ε × 5 λ × 100 draws) on a sample of words; the plain way does a float32 product of
noisy points with all vectors, and an argmax, on the same threads; making the noise is not counted for it.
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
    chosen = parser.parse_args()
    embedding, grid = wv.load_embedding(), Grid()
    ids = np.sort(np.random.default_rng(0).choice(len(embedding), chosen.words, replace=False))
    begun = time.perf_counter()
    found = sweep(embedding, grid, ids, workers=chosen.threads)
    swept = time.perf_counter() - begun
    draws = chosen.words * grid.draws * len(grid.epsilons) * len(grid.lams)
    each = {"sweep": swept / draws * 1e6, "plain": plain(embedding, chosen.plain_draws) * 1e6}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{chosen.words:,} of {len(embedding):,} words, {draws:,} draws, {chosen.threads} threads\n"
        f"  sweep  {each['sweep']:7.2f} µs a draw ({swept:.0f} s)\n"
        f"  plain  {each['plain']:7.2f} µs a draw (of {chosen.plain_draws:,})\n"
        f"  {each['plain'] / each['sweep']:.1f} times as fast; peak memory {peak:.0f} MB; "
        f"other answers than the exact search: {found.disagreement.share:.1e} "
        f"(at most {found.disagreement.high:.1e}, 95%)"
    )
    record = {
        "made_by": "python -m benchmarks.sweeping",
        "words": chosen.words,
        "draws": draws,
        "threads": chosen.threads,
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("numpy", "wordveil")},
        "microseconds_a_draw": each,
        "ratio": each["plain"] / each["sweep"],
        "peak_mb": peak,
        "disagreement": found.disagreement._asdict(),
    }
    chosen.out.write_text(json.dumps(record, indent=2) + "\n")


def plain(embedding: wv.Embedding, draws: int) -> float:
    """Return the seconds a draw takes by a product and an argmax, a block of 1,000 at a time."""
    vectors = np.ascontiguousarray(embedding.vectors, dtype=np.float32)
    halves = np.einsum("ij,ij->i", vectors, vectors) / 2
    points = np.random.default_rng(1).normal(size=(1000, embedding.dim)).astype(np.float32) * 3
    begun = time.perf_counter()
    for _ in range(draws // 1000):
        scores = points @ vectors.T
        scores -= halves
        scores.argmax(axis=1)
    return (time.perf_counter() - begun) / (draws // 1000 * 1000)


if __name__ == "__main__":
    main()
