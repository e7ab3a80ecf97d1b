"""How fast words are perturbed and in how much memory, beside a plain NumPy product in the same run.

make bench
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np

import wordveil as wv
from benchmarks.reading import memory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--million", type=int, metavar="WORDS", help=argparse.SUPPRESS)
    parser.add_argument("--words", type=int, default=20_000)
    parser.add_argument("--memory-words", type=int, default=100_000, help="1000000 is the full measurement")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/perturbing.json"))
    chosen = parser.parse_args()
    if chosen.million:
        print(json.dumps(many(chosen.million)))
        return
    report(chosen.words, chosen.memory_words, chosen.out)


def report(words: int, memory_words: int, out: Path) -> None:
    embedding = wv.load_embedding()
    mechanism = wv.Mahalanobis(embedding, 10.0, 1.0)
    ids = np.random.default_rng(1).integers(0, len(embedding), words)
    mechanism.perturb_ids(ids[:1000])
    ours = min(timed(lambda: mechanism.perturb_ids(ids)) for _ in range(3)) / words
    plain = min(timed(lambda: by_numpy(mechanism, ids)) for _ in range(3)) / words
    command = [sys.executable, "-m", "benchmarks.perturbing", "--million", str(memory_words)]
    apart = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    print(f"perturbing, {len(embedding):,} words × {embedding.dim}, ε = 10, λ = 1, {os.cpu_count()} cores")
    print(f"  perturb_ids            {ours * 1e6:7.0f} µs a word, exact")
    print(f"  NumPy float32, argmax  {plain * 1e6:7.0f} µs a word: {plain / ours:.2f} times ours")
    print(
        f"  {memory_words:,} words in one call: peak {apart['peak'] / 1e9:.2f} GB, {apart['seconds']:.0f} s"
    )
    record = {
        "made_by": "make bench",
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "versions": {name: version(name) for name in ("numpy", "randomgen", "wordveil")},
        "microseconds_a_word": {"perturb_ids": ours * 1e6, "numpy_float32": plain * 1e6},
        "one_call": {"words": memory_words} | apart,
    }
    out.write_text(json.dumps(record, indent=2) + "\n")


def timed(act: object) -> float:
    assert callable(act)
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def by_numpy(mechanism: wv.Mahalanobis, ids: np.ndarray) -> None:
    """The plain way: the same noise, a float32 product and an argmax, not exact."""
    places = mechanism._places[:-1].astype(np.float32)
    halves = np.einsum("ij,ij->i", places, places) / 2.0
    stream = wv.secure_stream()
    for start in range(0, len(ids), 512):
        points = mechanism._noisy_points(ids[start : start + 512], stream).astype(np.float32)
        (points @ places.T - halves).argmax(axis=1)


def many(words: int) -> dict[str, float]:
    embedding = wv.load_embedding()
    mechanism = wv.Mahalanobis(embedding, 10.0, 1.0)
    ids = np.random.default_rng(1).integers(0, len(embedding), words)
    start = time.perf_counter()
    mechanism.perturb_ids(ids)
    return {"seconds": time.perf_counter() - start, "peak": memory("VmHWM")}


if __name__ == "__main__":
    main()
