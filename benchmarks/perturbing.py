"""How fast words are perturbed and in how much memory, compared with a plain NumPy product in the same run.

make bench
"""

import argparse
import json
import os
import platform
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np

import wordveil as wv
from benchmarks.clock import memory, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one-call", type=int, metavar="WORDS", help=argparse.SUPPRESS)
    parser.add_argument("--words", type=int, default=20_000)
    parser.add_argument("--memory-words", type=int, default=100_000, help="1000000 is the full measurement")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/perturbing.json"))
    args = parser.parse_args()
    if args.one_call:
        print(json.dumps(measure_one_call(args.one_call)))
        return
    report(args.words, args.memory_words, args.out)


def report(words: int, memory_words: int, out: Path) -> None:
    embedding = wv.load_embedding()
    mechanism = wv.Mahalanobis(embedding, 10.0, 1.0)
    ids = np.random.default_rng(1).integers(0, len(embedding), words)
    mechanism.perturb_ids(ids[:1000])
    exact = min(seconds(lambda: mechanism.perturb_ids(ids)) for _ in range(3)) / words
    plain = min(seconds(lambda: by_numpy(mechanism, ids)) for _ in range(3)) / words
    command = [sys.executable, "-m", "benchmarks.perturbing", "--one-call", str(memory_words)]
    one_call = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    print(f"perturbing, {len(embedding):,} words × {embedding.dim}, ε = 10, λ = 1, {os.cpu_count()} cores")
    print(f"  perturb_ids            {exact * 1e6:7.0f} µs per word, exact")
    print(f"  NumPy float32, argmax  {plain * 1e6:7.0f} µs per word: {plain / exact:.2f} times ours")
    print(
        f"  {memory_words:,} words in one call: peak {one_call['peak'] / 1e9:.2f} GB, "
        f"{one_call['seconds']:.0f} s"
    )
    record = {
        "made_by": "make bench",
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "versions": {name: version(name) for name in ("numpy", "randomgen", "wordveil")},
        "microseconds_a_word": {"perturb_ids": exact * 1e6, "numpy_float32": plain * 1e6},
        "one_call": {"words": memory_words} | one_call,
    }
    out.write_text(json.dumps(record, indent=2) + "\n")


def by_numpy(mechanism: wv.Mahalanobis, ids: np.ndarray) -> None:
    """Search in the plain way: the same noise, a float32 product and an argmax, which is not exact."""
    places = mechanism._places[:-1].astype(np.float32)
    halves = np.einsum("ij,ij->i", places, places) / 2.0
    stream = wv.secure_stream()
    for start in range(0, len(ids), 512):
        points = mechanism._noisy_points(ids[start : start + 512], stream).astype(np.float32)
        (points @ places.T - halves).argmax(axis=1)


def measure_one_call(words: int) -> dict[str, float]:
    embedding = wv.load_embedding()
    mechanism = wv.Mahalanobis(embedding, 10.0, 1.0)
    ids = np.random.default_rng(1).integers(0, len(embedding), words)
    return {"seconds": seconds(lambda: mechanism.perturb_ids(ids)), "peak": memory("VmHWM")}


if __name__ == "__main__":
    main()
