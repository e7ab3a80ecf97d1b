"""Spark on this machine: 200,000 rows end to end, and what that means for a cluster.

    make bench-spark

The command (file to file) and `wv.spark.perturb` (to Parquet, as on a cluster), each on local[N], compared
with the threads of one process on the same rows. The memory is that of the largest Python worker.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import threading
import time
from importlib.metadata import version
from pathlib import Path

import wordveil as wv
from benchmarks.files import WORDS, make_table

EPSILON = 6.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--cores", type=int, default=os.cpu_count())
    parser.add_argument("--dims", type=int, default=25)
    parser.add_argument("--out", type=Path, default=None)
    args = parser.parse_args()
    dims = args.dims
    master = f"local[{args.cores}]"
    words = args.rows * WORDS
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        make_table(wv.load_embedding(), folder / "in.csv", args.rows)
        peak = Peak()
        seconds = {
            "threads": command(folder, "threads.csv", dims, "--workers", str(args.cores)),
            "spark, file": command(folder, "spark.csv", dims, "--engine", "spark", "--master", master),
            "spark, frame": frame(folder, master, dims),
        }
        worker_mb = peak.stop()
        ids, spark_ids = (csv_ids(folder / name) for name in ("in.csv", "spark.csv"))
        assert spark_ids == ids  # every row once, in order
        assert sorted(frame_ids(folder)) == sorted(map(int, ids))
    print(
        f"{args.rows:,} rows of {WORDS} words, {dims} axes, {args.cores} cores, PySpark {version('pyspark')}"
    )
    for name, spent in seconds.items():
        print(f"  {name:12} {spent:7.1f} s  {words / spent / args.cores:8,.0f} words/s per core")
    print(f"  largest Python worker {worker_mb:.0f} MB")
    record = {
        "made_by": "make bench-spark" if dims == 25 else f"python -m benchmarks.spark_rows --dims {dims}",
        "rows": args.rows,
        "words": words,
        "dims": dims,
        "cores": args.cores,
        "python": platform.python_version(),
        "versions": {name: version(name) for name in ("numpy", "pyspark", "wordveil")},
        "seconds": seconds,
        "words_per_second_a_core": {name: words / spent / args.cores for name, spent in seconds.items()},
        "largest_worker_mb": worker_mb,
    }
    out = args.out or Path(f"benchmarks/results/spark-{dims}.json")
    out.write_text(json.dumps(record, indent=2) + "\n")


def command(folder: Path, target: str, dims: int, *options: str) -> float:
    start = time.perf_counter()
    subprocess.run(
        [
            str(Path(sys.executable).parent / "wordveil"), "perturb", "in.csv", target, "--text", "message",
            "--keep", "id", "--epsilon", str(EPSILON), "--dims", str(dims), "--again", *options,
        ],
        cwd=folder, env=os.environ | {"XDG_STATE_HOME": str(folder)}, check=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    return time.perf_counter() - start


def frame(folder: Path, master: str, dims: int) -> float:
    """Return how long an ordinary Spark program takes, from its start to the last row."""
    script = f"""
import wordveil as wv
from pyspark.sql import SparkSession
spark = SparkSession.builder.master({master!r}).config("spark.ui.enabled", "false").getOrCreate()
spark.sparkContext.setLogLevel("ERROR")
perturber = wv.Perturber(wv.Mahalanobis(wv.load_embedding().project({dims}), epsilon={EPSILON}))
schema = "id long, message string, label string"
table = spark.read.csv({str(folder / "in.csv")!r}, header=True, schema=schema)
private = wv.spark.perturb(table.repartition(16), perturber=perturber, text="message", keep=["id"])
private.write.parquet({str(folder / "private")!r})
"""
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, "-c", script], env=os.environ | {"PYSPARK_PYTHON": sys.executable}, check=True,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip
    return time.perf_counter() - start


def csv_ids(path: Path) -> list[str]:
    return [line.split(",")[0] for line in path.read_text().splitlines()[1:]]


def frame_ids(folder: Path) -> list[int]:
    import pyarrow.parquet as pq

    return pq.read_table(folder / "private").column("id").to_pylist()  # type: ignore[no-any-return]  # pyarrow has no types


class Peak:
    """Watches how much memory Spark's Python workers use."""

    def __init__(self) -> None:
        self._peak, self._running = 0.0, True
        self._thread = threading.Thread(target=self._watch)
        self._thread.start()

    def _watch(self) -> None:
        while self._running:
            for process in Path("/proc").glob("[0-9]*"):
                try:
                    if b"pyspark.daemon" in (process / "cmdline").read_bytes():
                        status = (process / "status").read_text()
                        self._peak = max(self._peak, float(status.split("VmHWM:")[1].split()[0]) / 1024)
                except (OSError, IndexError):
                    continue
            time.sleep(0.2)

    def stop(self) -> float:
        self._running = False
        self._thread.join()
        return self._peak


if __name__ == "__main__":
    main()
