"""Writes what benchmarks.searching has measured into the tables of docs/speed.md.

    python -m benchmarks.speed_docs

A table stands between two comments with its name. Sentences are not changed: read them again afterwards.
"""

import json
from pathlib import Path
from typing import Any, Final

from benchmarks.doc_tables import write_tables

RESULTS = Path("benchmarks/results/searching.json")
PAGE = Path("docs/speed.md")
BEST: Final = "FAISS IndexFlatL2, at its best"
ROWS: Final = (
    ("wordveil, noise and search", "wordveil, secure noise and search, exact"),
    ("wordveil, noise and search, at its best", "the same at its best"),
    ("wordveil, search", "wordveil, search alone, exact"),
    ("wordveil, without compiled loops", "wordveil, search without compiled loops, exact"),
    (BEST, "FAISS {faiss} IndexFlatL2, search alone, float32, at its best"),
    ("NumPy product and argmax", "NumPy float32 product and argmax"),
    ("scikit-learn brute force", "scikit-learn brute force, float32"),
    ("times FAISS, both at their best", "FAISS over wordveil with noise, both at their best"),
)
CALLS: Final = ("1 words, ms", "20 words, ms", "100 words, ms")
THREADS: Final = "16 threads of 20 words, share of the rate of a batch"

Record = dict[str, Any]


def main() -> None:
    record = json.loads(RESULTS.read_text(encoding="utf-8"))
    write_tables(PAGE, {"searches": searches(record), "calls": calls(record["small_requests"])})


def searches(record: Record) -> list[str]:
    dims = list(record["beside"])
    faiss = ".".join(record["versions"]["faiss-cpu"].split(".")[:2])
    lines = [f"| µs per word |{''.join(f' {k} dims |' for k in dims)}", "|---|" + "---|" * len(dims)]
    for name, title in ROWS:
        values = " | ".join(f"{record['beside'][k][name]:.3g}" for k in dims)
        lines.append(f"| {title.format(faiss=faiss)} | {values} |")
    return lines


def calls(rows: dict[str, Record]) -> list[str]:
    heading = (
        "| ms per call, two cores | 1 word | 20 words | 100 words | "
        "16 threads with 20 words each, share of the rate of a batch |"
    )
    lines = [heading, "|---|---|---|---|---|"]
    for dims, row in rows.items():
        times = " | ".join(f"{row[name]:.2f}" for name in CALLS)
        lines.append(f"| {dims} dimensions | {times} | {row[THREADS]:.2f} |")
    return lines


if __name__ == "__main__":
    main()
