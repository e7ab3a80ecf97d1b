"""What a file costs in addition to its words: CSV to CSV against `perturb_ids` alone, in one run.

    python -m benchmarks.files --rows 1000000

Both use the same words and threads, on 25 axes, where the search is cheap and everything else shows. The file
is perturbed by the command, in a separate process, so its peak memory can be measured. Both run `--repeat`
times in turn, and the medians are compared.
"""

import argparse
import json
import os
import platform
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

DIMS, EPSILON = 25, 6.0
WORDS = 15  # per row: about the length of an SMS or a tweet


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/files.json"))
    args = parser.parse_args()
    embedding = wv.load_embedding()
    words = args.rows * WORDS
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        ids = make_table(embedding, folder / "in.csv", args.rows)
        rows = [measure(embedding, ids, folder, args.threads) for _ in range(args.repeat)]
        size = (folder / "in.csv").stat().st_size
    seconds = {name: statistics.median(row[name] for row in rows) for name in ("file", "ids")}
    peak = max(row["peak_mb"] for row in rows)
    difference = (seconds["file"] - seconds["ids"]) / words * 1e6
    print(
        f"{args.rows:,} rows of {WORDS} words ({size / 1e6:.0f} MB), {DIMS} axes, "
        f"{args.threads} threads, median of {args.repeat}\n"
        f"  file         {seconds['file']:8.1f} s  {seconds['file'] / words * 1e6:6.2f} µs per word  "
        f"peak memory {peak:.0f} MB\n"
        f"  perturb_ids  {seconds['ids']:8.1f} s  {seconds['ids'] / words * 1e6:6.2f} µs per word\n"
        f"  difference   {difference:18.2f} µs per word"
    )
    record = {
        "made_by": f"python -m benchmarks.files --rows {args.rows} --repeat {args.repeat}",
        "rows": args.rows,
        "words": words,
        "dims": DIMS,
        "threads": args.threads,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "versions": {name: version(name) for name in ("numpy", "wordveil")},
        "runs": rows,
        "microseconds_a_word_more": difference,
        "peak_mb": peak,
    }
    args.out.write_text(json.dumps(record, indent=2) + "\n")


def make_table(embedding: wv.Embedding, path: Path, rows: int) -> np.ndarray:
    """Write synthetic rows: a number, WORDS words of the vocabulary, a label. Return the ids of the words."""
    random = np.random.default_rng(5)
    ids = random.integers(0, len(embedding), (rows, WORDS))
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
        start = time.perf_counter()
        process = subprocess.Popen(
            command, cwd=folder, env=os.environ | {"XDG_STATE_HOME": state},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        _, status, usage = os.wait4(process.pid, 0)
        file_seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return {
        "file": file_seconds,
        "ids": without_file(embedding, ids, threads),
        "peak_mb": usage.ru_maxrss / 1024,
    }


def without_file(embedding: wv.Embedding, ids: np.ndarray, threads: int) -> float:
    """Return how long `perturb_ids` takes, with the projection of the vectors, which the command does too."""
    start = time.perf_counter()
    mechanism = wv.Mahalanobis(embedding.project(DIMS), EPSILON)
    with threadpool_limits(1, user_api="blas"):
        mechanism.perturb_ids([-1])
        workers = [
            threading.Thread(target=mechanism.perturb_ids, args=(part,))
            for part in np.array_split(ids, threads)
        ]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
