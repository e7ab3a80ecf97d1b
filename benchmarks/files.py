"""What a complete file takes per word, in all: CSV to CSV and Parquet to Parquet, by the command.

    python -m benchmarks.files --rows 1000000

15 axes, the Laplace mechanism, ε = 6.2, the default vectors, two of three columns written. The command runs
in a process of its own, and its time is that of the whole command. `perturb_ids` gets the same words on the
same threads in this process: the file can't take less. All run `--repeat` times in turn, and the medians are
printed. On a machine that does other work, compare the processor time.
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
import pyarrow.csv
import pyarrow.parquet
from threadpoolctl import threadpool_limits

import wordveil as wv

DIMS, EPSILON = 15, 6.2
WORDS = 15  # per row: about the length of an SMS or a tweet
# The peak is that of the command alone: what `wait4` states includes the memory of this process.
COMMAND = """
import sys
from pathlib import Path
from benchmarks.clock import memory
from wordveil_command import main
code = main()
Path("peak").write_text(str(memory("VmHWM")))
sys.exit(code)
"""

Row = dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/files.json"))
    args = parser.parse_args()
    embedding = wv.load_embedding()
    words = args.rows * WORDS
    load_before = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        ids = make_table(embedding, folder / "in.csv", args.rows)
        pyarrow.parquet.write_table(pyarrow.csv.read_csv(folder / "in.csv"), folder / "in.parquet")
        size = (folder / "in.csv").stat().st_size
        runs: dict[str, list[Row]] = {"csv": [], "parquet": [], "perturb_ids": []}
        for _ in range(args.repeat):
            for kind in ("csv", "parquet"):
                runs[kind].append(of_command(folder, kind, args.threads))
            runs["perturb_ids"].append(of_ids(embedding, ids, args.threads))
    print(
        f"{args.rows:,} rows of {WORDS} words ({size / 1e6:.0f} MB of CSV), {DIMS} axes, "
        f"{args.threads} threads, median of {args.repeat}, load before {load_before:.1f}"
    )
    for kind, rows in runs.items():
        print(line(kind, rows, words))
    record = {
        "made_by": f"python -m benchmarks.files --rows {args.rows} --repeat {args.repeat}",
        "rows": args.rows,
        "words": words,
        "dims": DIMS,
        "epsilon": EPSILON,
        "mechanism": "laplace",
        "threads": args.threads,
        "load_before": load_before,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "versions": {name: version(name) for name in ("numpy", "pyarrow", "wordveil")},
        "runs": runs,
        "microseconds_a_word": {kind: median(rows, "seconds") / words * 1e6 for kind, rows in runs.items()},
    }
    args.out.write_text(json.dumps(record, indent=2) + "\n")


def line(kind: str, rows: list[Row], words: int) -> str:
    seconds, processor = median(rows, "seconds"), median(rows, "processor_seconds")
    peak = f"  peak memory {max(row['peak_mb'] for row in rows):.0f} MB" if "peak_mb" in rows[0] else ""
    return (
        f"  {kind:12} {seconds:8.1f} s  {seconds / words * 1e6:6.2f} µs per word"
        f"  (processor {processor / words * 1e6:5.2f} µs){peak}"
    )


def median(rows: list[Row], name: str) -> float:
    return statistics.median(row[name] for row in rows)


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


def of_command(folder: Path, kind: str, threads: int) -> Row:
    arguments = [
        "perturb", f"in.{kind}", f"out.{kind}", "--text", "message", "--keep", "label",
        "--epsilon", str(EPSILON), "--dims", str(DIMS), "--mechanism", "laplace",
        "--workers", str(threads), "--force",
    ]  # fmt: skip
    paths = os.pathsep.join(str(Path(path or ".").resolve()) for path in ("", *sys.path))
    before = os.times()
    with tempfile.TemporaryDirectory() as state:
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-c", COMMAND, *arguments], cwd=folder, check=True, capture_output=True,
            env=os.environ | {"XDG_STATE_HOME": state, "PYTHONPATH": paths},
        )  # fmt: skip
        seconds = time.perf_counter() - start
    after = os.times()
    return {
        "seconds": seconds,
        "processor_seconds": after.children_user
        + after.children_system
        - before.children_user
        - before.children_system,
        "peak_mb": int((folder / "peak").read_text()) / 1e6,
    }


def of_ids(embedding: wv.Embedding, ids: np.ndarray, threads: int) -> Row:
    """Return how long `perturb_ids` takes, with the projection of the vectors, which the command does too."""
    start, processor_start = time.perf_counter(), time.process_time()
    mechanism = wv.Laplace(embedding.project(DIMS), EPSILON)
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
    return {
        "seconds": time.perf_counter() - start,
        "processor_seconds": time.process_time() - processor_start,
    }


if __name__ == "__main__":
    main()
