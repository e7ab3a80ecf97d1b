"""What a whole file costs beside its words: CSV to CSV against `perturb_ids` alone, in one run.

    python -m benchmarks.files --rows 1000000

The same words and threads, on 25 axes, where the search is cheap and everything else shows. The file runs
as the command does, in a process of its own, so that its peak memory is its own. Both are done `--repeat`
times in turn, and the medians compared.
"""

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np
from threadpoolctl import threadpool_limits

import wordveil as wv

DIMS, EPSILON, WORDS = 25, 6.0, 15


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/files.json"))
    chosen = parser.parse_args()
    embedding = wv.load_embedding()
    words = chosen.rows * WORDS
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        ids = make_table(embedding, folder / "in.csv", chosen.rows)
        rows = [measure(embedding, ids, folder, chosen.threads) for _ in range(chosen.repeat)]
        size = (folder / "in.csv").stat().st_size
    seconds = {name: statistics.median(row[name] for row in rows) for name in ("file", "ids")}
    peak = max(row["peak_mb"] for row in rows)
    more = (seconds["file"] - seconds["ids"]) / words * 1e6
    print(
        f"{chosen.rows:,} rows of {WORDS} words ({size / 1e6:.0f} MB), {DIMS} axes, "
        f"{chosen.threads} threads, median of {chosen.repeat}\n"
        f"  file         {seconds['file']:8.1f} s  {seconds['file'] / words * 1e6:6.2f} µs a word  "
        f"peak memory {peak:.0f} MB\n"
        f"  perturb_ids  {seconds['ids']:8.1f} s  {seconds['ids'] / words * 1e6:6.2f} µs a word\n"
        f"  more         {more:28.2f} µs a word"
    )
    record = {
        "made_by": f"python -m benchmarks.files --rows {chosen.rows} --repeat {chosen.repeat}",
        "rows": chosen.rows,
        "words": words,
        "dims": DIMS,
        "threads": chosen.threads,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "versions": {name: version(name) for name in ("numpy", "wordveil")},
        "runs": rows,
        "microseconds_a_word_more": more,
        "peak_mb": peak,
    }
    chosen.out.write_text(json.dumps(record, indent=2) + "\n")


def make_table(embedding: wv.Embedding, path: Path, rows: int) -> np.ndarray:
    """Write made-up rows: a number, so many words of the vocabulary, a label. Return the ids of the words."""
    draws = np.random.default_rng(5)
    ids = draws.integers(0, len(embedding), (rows, WORDS))
    vocabulary = np.array(embedding.words, dtype=object)
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write("id,message,label\n")
        for start in range(0, rows, 10_000):
            for number, row in enumerate(vocabulary[ids[start : start + 10_000]].tolist(), start):
                file.write(f"{number},{' '.join(row)},{'spam' if number % 3 else 'ham'}\n")
    return ids.ravel()


def measure(embedding: wv.Embedding, ids: np.ndarray, folder: Path, threads: int) -> dict[str, float]:
    command = [
        str(Path(sys.executable).parent / "wordveil"), "perturb", "in.csv", "out.csv",
        "--text", "message", "--keep", "label", "--epsilon", str(EPSILON), "--dims", str(DIMS),
        "--workers", str(threads), "--force",
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as state:
        begun = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, env=os.environ | {"XDG_STATE_HOME": state},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        _, status, usage = os.wait4(process.pid, 0)
        file = time.perf_counter() - begun
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return {"file": file, "ids": alone(embedding, ids, threads), "peak_mb": peak_of(usage)}


def peak_of(usage: resource.struct_rusage) -> float:
    return usage.ru_maxrss / 1024


def alone(embedding: wv.Embedding, ids: np.ndarray, threads: int) -> float:
    """Return how long `perturb_ids` takes, from loading the vectors on, as the command must too."""
    begun = time.perf_counter()
    mechanism = wv.Mahalanobis(embedding.project(DIMS), EPSILON)
    with threadpool_limits(1, user_api="blas"):
        mechanism.perturb_ids([-1])
        running = [
            threading.Thread(target=mechanism.perturb_ids, args=(part,))
            for part in np.array_split(ids, threads)
        ]
        for each in running:
            each.start()
        for each in running:
            each.join()
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
