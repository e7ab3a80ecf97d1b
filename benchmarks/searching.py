"""How fast the nearest words are found, compared with other searches on the same vectors, points and threads.

    python -m benchmarks.searching

All searches take turns in one run, and medians of their passes are compared, since the machine is noisy.
FAISS and scikit-learn search in float32 and are not exact; ours is, and includes the secure noise.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any, Final

import faiss
import numpy as np
from sklearn.neighbors import NearestNeighbors

import wordveil as wv
from benchmarks.clock import memory, seconds
from benchmarks.scaling import FIGURE, RECORD, draw_scaling, scaling
from wordveil import kernels
from wordveil.nearest import SingleSearch

# ε by dimensions, with S of about 0.3 on running text in few of them.
SETTINGS: Final = {10: 5.7, 15: 6.2, 25: 6.0, 50: 8.0, 100: 10.0, 300: 14.0}
EPSILON, LAM = 10.0, 1.0  # of the large vocabulary
# Seconds before each pass: threads of OpenMP and BLAS that have nothing to do keep a core busy for a while,
# which would slow down whatever is measured next.
_PAUSE: Final = 0.3


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", type=int, default=24_576)
    parser.add_argument("--passes", type=int, default=7)
    parser.add_argument("--out", type=Path, default=RECORD)
    parser.add_argument("--figure", type=Path, default=FIGURE)
    parser.add_argument(
        "--dims", metavar="K,K,…", help="measure only these again, beside FAISS, and keep the rest"
    )
    parser.add_argument("--large", metavar="VECTORS", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.large:
        print(json.dumps(large(args.large)))
        return
    embedding = wv.load_embedding()
    record: dict[str, Any]
    if args.dims:
        record = json.loads(args.out.read_text())
        for dims in map(int, args.dims.split(",")):
            mechanism = wv.Laplace(space_of(embedding, dims), SETTINGS[dims])
            record["beside"][str(dims)] = beside(mechanism, args.words, args.passes)
            if str(dims) in record["small_requests"]:
                record["small_requests"][str(dims)] = small_requests(mechanism)
        args.out.write_text(json.dumps(record, indent=2) + "\n")
        return
    record = {
        "made_by": "make bench",
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "loops": kernels.level,
        "versions": {
            name: version(name)
            for name in ("wordveil", "wordveil-kernels", "numpy", "faiss-cpu", "scikit-learn")
        },
        "words": len(embedding),
        "points": args.words,
        "passes": args.passes,
    }
    settings = {dims: wv.Laplace(space_of(embedding, dims), epsilon) for dims, epsilon in SETTINGS.items()}
    record["beside"] = {dims: beside(m, args.words, args.passes) for dims, m in settings.items()}
    record["small_requests"] = {dims: small_requests(settings[dims]) for dims in (10, 15, 300)}
    record["approximate"] = approximate(settings[300], record["beside"][300]["wordveil, noise and search"])
    data = os.environ.get("WORDVEIL_TEST_DATA")
    big = None if data is None else str(Path(data) / "glove-6b-100d-341k.npy")
    record["scaling"] = scaling(embedding, big)
    if big is not None:
        command = [sys.executable, "-m", "benchmarks.searching", "--large", big]
        record["large"] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        print(f"  {record['large']}")
    args.out.write_text(json.dumps(record, indent=2) + "\n")
    draw_scaling(record["scaling"], args.figure)


def space_of(embedding: wv.Embedding, dims: int) -> wv.Embedding:
    return embedding.project(dims) if dims < embedding.dim else embedding


def beside(mechanism: wv.Laplace, words: int, passes: int) -> dict[str, float]:
    """Return microseconds per word: medians of passes that take turns, and how often FAISS takes ours.

    FAISS is taken at its best: over sizes of batches, and over passes.
    """
    ids = np.random.default_rng(1).integers(0, len(mechanism.embedding), words)
    mechanism.perturb_ids(np.resize(ids, 5000))
    places = mechanism._places[:-1]
    points = mechanism._noisy_points(ids, wv.insecure_stream(3))
    singles = points.astype(np.float32)
    search, single = mechanism._search.prepare(0), SingleSearch(places)
    flat = faiss.IndexFlatL2(places.shape[1])
    flat.add(places.astype(np.float32))
    faiss.omp_set_num_threads(os.cpu_count() or 1)
    neighbours = NearestNeighbors(n_neighbors=1, algorithm="brute", n_jobs=-1).fit(places.astype(np.float32))
    few = min(words, 4096)
    searches: dict[str, tuple[int, Callable[[], Any]]] = {
        "wordveil, noise and search": (words, lambda: mechanism.perturb_ids(ids)),
        "wordveil, search": (words, lambda: search.nearest(points)),
        "wordveil, without compiled loops": (few, lambda: single.nearest(points[:few])),
        "scikit-learn brute force": (few, lambda: neighbours.kneighbors(singles[:few])),
        "NumPy product and argmax": (few, lambda: by_numpy(places, singles[:few])),
    }
    for size in (256, 1024, 4096, 12_288, words):
        searches[f"FAISS IndexFlatL2, {size} at once"] = (words, partial(in_batches, flat, singles, size))
    passes_of: dict[str, list[float]] = {name: [] for name in searches}
    for turn in range(passes + 1):
        for name, (count, act) in searches.items():
            time.sleep(_PAUSE)
            spent = seconds(act)
            if turn:  # the first one warms up
                passes_of[name].append(spent / count * 1e6)
    facts = {name: median(values) for name, values in passes_of.items()}
    faiss_times = [min(values) for name, values in passes_of.items() if name.startswith("FAISS")]
    wordveil_times = passes_of["wordveil, noise and search"]
    facts["FAISS IndexFlatL2, at its best"] = min(faiss_times)
    facts["wordveil, noise and search, at its best"] = min(wordveil_times)
    facts["times FAISS, both at their best"] = min(faiss_times) / min(wordveil_times)
    table = f"{len(places):,} × {places.shape[1]}"
    print(f"{table}, ε = {mechanism.epsilon:g}, {os.cpu_count()} threads, µs per word")
    for name, value in facts.items():
        print(f"  {name:36} {value:8.2f}", flush=True)
    return facts


def in_batches(index: Any, points: np.ndarray, size: int) -> None:
    for start in range(0, len(points), size):
        index.search(points[start : start + size], 1)


def small_requests(mechanism: wv.Laplace) -> dict[str, float]:
    """Return milliseconds of a call with few words, and what 16 threads reach of the rate of a batch."""
    ids = np.random.default_rng(2).integers(0, len(mechanism.embedding), 20_000)
    batch = min(seconds(lambda: mechanism.perturb_ids(ids)) for _ in range(3)) / len(ids)
    facts: dict[str, float] = {}
    for count in (1, 20, 100):
        times = [seconds(lambda: mechanism.perturb_ids(ids[:count])) for _ in range(200)]  # noqa: B023  # called at once
        facts[f"{count} words, ms"] = 1e3 * median(times)

    def call(_: int) -> None:
        for _ in range(20):
            mechanism.perturb_ids(ids[:20])

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(call, range(16)))
        spent = min(seconds(lambda: list(pool.map(call, range(16)))) for _ in range(3)) / (16 * 20 * 20)
    facts["16 threads of 20 words, share of the rate of a batch"] = batch / spent
    print(f"  {mechanism.embedding.dim} dimensions: {facts}", flush=True)
    return facts


def by_numpy(places: np.ndarray, singles: np.ndarray) -> None:
    rows = places.astype(np.float32)
    halves = np.einsum("ij,ij->i", rows, rows) / 2.0
    for start in range(0, len(singles), 512):
        (singles[start : start + 512] @ rows.T - halves).argmax(axis=1)


def approximate(mechanism: wv.Laplace, exact_time: float) -> dict[str, Any]:
    """Return the recall of FAISS's approximate indexes when they take as long as our exact answer."""
    places = mechanism._places[:-1].astype(np.float32)
    points = mechanism._noisy_points(np.arange(2048) * 16, wv.insecure_stream(5))
    exact = mechanism._search.nearest(points)
    singles = points.astype(np.float32)
    graph = faiss.IndexHNSWFlat(places.shape[1], 32)
    graph.add(places)
    quantizer = faiss.IndexFlatL2(places.shape[1])
    cells = faiss.IndexIVFFlat(quantizer, places.shape[1], 256)
    cells.train(places)
    cells.add(places)
    results: dict[str, Any] = {}
    for name, index, knob, values in (
        ("HNSW", graph.hnsw, "efSearch", (8, 16, 32, 64, 128, 256, 512)),
        ("IVF", cells, "nprobe", (1, 2, 4, 8, 16, 32, 64, 128, 256)),
    ):
        searched = graph if name == "HNSW" else cells
        for value in values:
            setattr(index, knob, value)
            start = time.perf_counter()
            _, answers = searched.search(singles, 1)
            spent = (time.perf_counter() - start) / len(singles) * 1e6
            recall = float((answers[:, 0] == exact).mean())
            if spent > exact_time and name in results:
                break
            results[name] = {knob: value, "microseconds": spent, "recall": recall}
            print(
                f"  FAISS {name}, {knob} = {value}: {spent:.1f} µs per word, recall {recall:.3f}", flush=True
            )
    return results


def large(path: str) -> dict[str, Any]:
    """Return time and memory for a large vocabulary, in a process of its own."""
    start = time.perf_counter()
    embedding = wv.load_embedding(path)
    mechanism = wv.Mahalanobis(embedding, EPSILON, LAM)
    ids = np.random.default_rng(1).integers(0, len(embedding), 20_000)
    mechanism.perturb_ids(ids[:5000])
    ready = time.perf_counter() - start
    start = time.perf_counter()
    mechanism.perturb_ids(ids)
    return {
        "words": len(embedding),
        "dims": embedding.dim,
        "seconds_to_be_ready": round(ready, 1),
        "microseconds_a_word": (time.perf_counter() - start) / len(ids) * 1e6,
        "peak_megabytes": round(memory("VmHWM") / 1e6),
    }


if __name__ == "__main__":
    main()
