"""How fast the nearest words are found, compared with other searches on the same vectors, points and threads.

    python -m benchmarks.searching

All searches take turns in one run, and medians of their passes are compared, since the machine is noisy.
FAISS and scikit-learn search in float32 and are not exact; ours includes the secure noise and is exact.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import faiss
import numpy as np
from sklearn.neighbors import NearestNeighbors

import wordveil as wv
from benchmarks.clock import memory, seconds
from benchmarks.scaling import FIGURE, RECORD, draw_scaling, scaling
from wordveil.nearest import SingleSearch, kernels, screened
from wordveil.nearest.integers import IntegerProduct
from wordveil.nearest.screened import ScreenedSearch
from wordveil.nearest.threads import one_thread

EPSILON, LAM = 10.0, 1.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", type=int, default=12_288)
    parser.add_argument("--passes", type=int, default=7)
    parser.add_argument("--out", type=Path, default=RECORD)
    parser.add_argument("--figure", type=Path, default=FIGURE)
    parser.add_argument("--large", metavar="VECTORS", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.large:
        print(json.dumps(large(args.large)))
        return
    record: dict[str, Any] = {
        "made_by": "make bench",
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "versions": {
            name: version(name)
            for name in ("wordveil", "numpy", "numba", "onnxruntime", "faiss-cpu", "scikit-learn")
        },
    }
    embedding = wv.load_embedding()
    mechanism = wv.Mahalanobis(embedding, EPSILON, LAM)
    record |= {"words": len(embedding), "dims": embedding.dim, "epsilon": EPSILON, "lam": LAM}
    record["beside"] = beside(mechanism, args.words, args.passes)
    record["profile"] = profile(mechanism, args.words)
    record["approximate"] = approximate(mechanism, record["beside"]["wordveil, noise and search"])
    data = os.environ.get("WORDVEIL_TEST_DATA")
    big = None if data is None else str(Path(data) / "glove-6b-100d-341k.npy")
    record["scaling"] = scaling(embedding, big)
    if big is not None:
        command = [sys.executable, "-m", "benchmarks.searching", "--large", big]
        record["large"] = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
        print(f"  {record['large']}")
    draw_scaling(record["scaling"], args.figure)
    args.out.write_text(json.dumps(record, indent=2) + "\n")


def beside(mechanism: wv.Mahalanobis, words: int, passes: int) -> dict[str, float]:
    """Return microseconds per word: the median of passes that take turns."""
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
        "wordveil, float32 screen": (few, lambda: single.nearest(points[:few])),
        "FAISS IndexFlatL2": (few, lambda: flat.search(singles[:few], 1)),
        "FAISS IndexFlatL2, all at once": (words, lambda: flat.search(singles, 1)),
        "scikit-learn brute force": (few, lambda: neighbours.kneighbors(singles[:few])),
        "NumPy product and argmax": (few, lambda: by_numpy(places, singles[:few])),
    }
    passes_of: dict[str, list[float]] = {name: [] for name in searches}
    for turn in range(passes + 1):
        for name, (count, act) in searches.items():
            spent = seconds(act)
            if turn:  # the first one warms up
                passes_of[name].append(spent / count * 1e6)
    medians = {name: median(values) for name, values in passes_of.items()}
    ours = medians["wordveil, noise and search"]
    size = f"{len(places):,} × {places.shape[1]}"
    print(f"{size}, ε = {EPSILON:g}, λ = {LAM:g}, {os.cpu_count()} threads, µs per word")
    for name, value in medians.items():
        print(f"  {name:28} {value:7.1f}   {value / ours:5.2f} times ours with noise", flush=True)
    return medians


def by_numpy(places: np.ndarray, singles: np.ndarray) -> None:
    rows = places.astype(np.float32)
    halves = np.einsum("ij,ij->i", rows, rows) / 2.0
    for start in range(0, len(singles), 512):
        (singles[start : start + 512] @ rows.T - halves).argmax(axis=1)


def profile(mechanism: wv.Mahalanobis, words: int) -> dict[str, float]:
    """Return where the time goes in one thread, and how close the products are to their best speed."""
    points = mechanism._noisy_points(np.arange(words) % len(mechanism.embedding), wv.insecure_stream(4))
    search = ScreenedSearch(mechanism._places[:-1])
    spent: dict[str, float] = {}

    def timed(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any) -> Any:
            start = time.perf_counter()
            result = function(*arguments)
            spent[name] = spent.get(name, 0.0) + time.perf_counter() - start
            return result

        return call

    patches = [
        patch.object(screened, "collect", timed("bounds and candidates", kernels.collect)),
        patch.object(screened, "resolve", timed("float64 distances", kernels.resolve)),
        patch.object(IntegerProduct, "fill", timed("integer products", IntegerProduct.fill)),
    ]
    with one_thread(), ExitStack() as stack:
        search.nearest(points[:2000])
        for patched in patches:
            stack.enter_context(patched)
        total = seconds(lambda: search.nearest(points))
        ids = np.arange(words) % len(mechanism.embedding)
        noise = seconds(lambda: mechanism._noisy_points(ids, wv.secure_stream()))
    spent["rotation, rounding and the rest"] = total - sum(spent.values())
    spent["secure noise"] = noise
    facts = {name: value / words * 1e6 for name, value in spent.items()}
    operations = 2.0 * len(search._order) * points.shape[1]
    facts["GOP/s of the products"] = operations / facts["integer products"] / 1e3
    facts["GOP/s of the whole"] = operations / (sum(spent.values()) / words) / 1e9
    facts["GOP/s of products alone, at best"] = best_product(points.shape[1])
    text = ", ".join(f"{name} {value:.1f}" for name, value in facts.items())
    print(f"  one thread, µs per word: {text}", flush=True)
    return facts


def best_product(dims: int) -> float:
    """Return the GOP/s that the products reach by themselves, in memory that stays in the cache."""
    random = np.random.default_rng(1)
    product = IntegerProduct(random.integers(-127, 128, (dims, 4096), dtype=np.int8))
    left = random.integers(0, 256, (256, dims), dtype=np.uint8)
    out = np.empty((256, 4096), dtype=np.int32)
    best = min(seconds(lambda: product.fill(left, out)) for _ in range(50))
    return 2.0 * out.size * dims / best / 1e9


def approximate(mechanism: wv.Mahalanobis, ours: float) -> dict[str, Any]:
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
            if spent > ours and name in results:
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
