"""How fast and in how much memory vectors are read, compared with gensim on the same file in the same run.

    make bench

Each reading runs in its own process. Memory is the rise of the peak over what the process used after its
imports, as a multiple of the float32 matrix; time is the best of the repetitions. The text file has the
default vectors with as many digits as GloVe; the large file is synthetic.
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
from typing import Any

import numpy as np

import wordveil as wv
from benchmarks.clock import memory

BUILD = Path("build")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", nargs=2, metavar=("WHAT", "FILE"), help=argparse.SUPPRESS)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--large", type=int, default=400_000, help="words of the large file (0: none)")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/reading.json"))
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(measure(*args.measure)))
        return
    BUILD.mkdir(exist_ok=True)
    report(args.repeat, args.large, args.out)


def report(repeat: int, large: int, out: Path) -> None:
    glove = glove_text(wv.load_embedding(), BUILD / "bench-glove.txt")
    results = {what: best(what, glove, repeat) for what in ("gensim", "arrow", "numpy")}
    if large:
        large_file = large_text(large, 300, BUILD / "bench-large.txt")
        results["large"] = best("arrow", large_file, 1)
        large_file.unlink()
    gensim_seconds = results["gensim"]["seconds"]
    print(
        f"reading {glove.stat().st_size / 1e6:.0f} MB of GloVe text, {os.cpu_count()} cores, best of {repeat}"
    )
    for what, row in results.items():
        ratio = (
            ""
            if what in ("gensim", "large")
            else f"  {gensim_seconds / row['seconds']:5.1f} times as fast as gensim"
        )
        memory_text = f"memory {row['memory_ratio']:.2f} times the matrix"
        print(f"  {what:7} {row['words']:>8,} words  {row['seconds']:6.2f} s  {memory_text}{ratio}")
    opened = best("default", glove, repeat)
    print(f"  opening the default vectors and looking up a word: {opened['seconds'] * 1000:.0f} ms")
    packages = ("numpy", "pyarrow", "gensim", "wordveil")
    record = {
        "made_by": "make bench",
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "versions": {name: version(name) for name in packages},
        "file_bytes": glove.stat().st_size,
        "results": results | {"default": opened},
        "times_as_fast_as_gensim": {
            what: gensim_seconds / results[what]["seconds"] for what in ("arrow", "numpy")
        },
    }
    out.write_text(json.dumps(record, indent=2) + "\n")


def best(what: str, path: Path, repeat: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.reading", "--measure", what, str(path)]
    runs = [
        json.loads(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(repeat)
    ]
    fastest: dict[str, Any] = min(runs, key=lambda run: run["seconds"])
    return fastest | {"memory_ratio": max(run["memory_ratio"] for run in runs)}


def measure(what: str, path: str) -> dict[str, Any]:
    read = {"gensim": by_gensim, "default": by_default, "arrow": by_arrow, "numpy": by_numpy}[what]()
    before = memory("VmRSS")
    start = time.perf_counter()
    words, dim = read(path)
    seconds = time.perf_counter() - start
    matrix = words * dim * 4
    return {
        "words": words,
        "dims": dim,
        "seconds": seconds,
        "memory_ratio": (memory("VmHWM") - before) / matrix,
    }


def by_gensim() -> Any:
    from gensim.models import KeyedVectors

    def read(path: str) -> tuple[int, int]:
        vectors = KeyedVectors.load_word2vec_format(path)
        return vectors.vectors.shape  # type: ignore[no-any-return]  # gensim has no types

    return read


def by_default() -> Any:
    def read(_: str) -> tuple[int, int]:
        embedding = wv.load_embedding()
        embedding.vector("king")
        return len(embedding), embedding.dim

    return read


def by_arrow() -> Any:
    import pyarrow.csv  # noqa: F401  # imported here, so its import is not measured

    return read_ours


def by_numpy() -> Any:
    from wordveil.embedding.formats import numbers

    numbers._has_arrow = lambda: False  # type: ignore[assignment]  # as if pyarrow were not installed
    return read_ours


def read_ours(path: str) -> tuple[int, int]:
    embedding, _ = wv.read_embedding(path)
    return len(embedding), embedding.dim


def glove_text(embedding: wv.Embedding, path: Path) -> Path:
    """Write the default vectors as word2vec text with as many digits as GloVe."""
    with path.open("w", encoding="utf-8") as file:
        file.write(f"{len(embedding)} {embedding.dim}\n")
        for word, row in zip(embedding.words, embedding.vectors.tolist(), strict=True):
            file.write(f"{word} {' '.join(f'{value:.5g}' for value in row)}\n")
    return path


def large_text(rows: int, dim: int, path: Path) -> Path:
    """Write synthetic vectors: different words, but only 2,000 different lines of numbers."""
    random = np.random.default_rng(7)
    tails = [" ".join(f"{value:.5g}" for value in row) for row in random.normal(size=(2000, dim))]
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"w{i} {tails[i % 2000]}\n" for i in range(rows))
    return path


if __name__ == "__main__":
    main()
