"""The search on a GPU: exactness, speed, where the time goes, and the complete privacy grid of the paper.

make bench-gpu
"""

import argparse
import json
import os
import platform
import threading
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch

import wordveil as wv
from wordveil.evaluation.grid import Grid
from wordveil.evaluation.sweep import sweep
from wordveil.nearest import BruteSearch
from wordveil.nearest.cuda import TorchSearch
from wordveil.nearest.devices import DeviceName
from wordveil.nearest.threads import one_thread
from wordveil.randomness import RunKey

EPSILONS = (1.0, 5.0, 10.0, 20.0, 40.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=50_000, help="to compare, for each ε, λ and dims")
    parser.add_argument("--words", type=int, default=2_000_000, help="to time")
    parser.add_argument("--grid-words", type=int, default=0, help="of the privacy grid (0: all)")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/gpu.json"))
    args = parser.parse_args()
    record: dict[str, Any] = {
        "made_by": "make bench-gpu",
        "device": torch.cuda.get_device_name() if args.device == "cuda" else "CPU",
        "cores": os.cpu_count(),
        "versions": {"python": platform.python_version(), "torch": torch.__version__}
        | {name: version(name) for name in ("numpy", "wordveil")},
    }
    embedding = wv.load_embedding()
    record |= {"words": len(embedding), "dims": embedding.dim}
    parts: dict[str, Callable[[], Any]] = {
        "search": lambda: speed(embedding, args.words, args.device),
        "plain": lambda: plain(embedding, args.words, args.device),
        "end_to_end": lambda: end_to_end(embedding, args.words // 2, args.device),
        "grid": lambda: grid(embedding, args.grid_words, args.device),
        "exactness": lambda: exactness(embedding, args.queries, args.device),
    }
    for name, part in parts.items():
        start = time.perf_counter()
        record[name] = part()
        print(f"{name} ({time.perf_counter() - start:.0f} s): {json.dumps(record[name])}", flush=True)
        args.out.write_text(json.dumps(record, indent=2) + "\n")
    if any(record["exactness"]["differences"].values()):
        raise SystemExit(1)


def wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def timed(act: Callable[[], Any], device: str, repeat: int = 3) -> float:
    act()
    best = float("inf")
    for _ in range(repeat):
        wait(device)
        start = time.perf_counter()
        act()
        wait(device)
        best = min(best, time.perf_counter() - start)
    return best


def noisy_points_on_device(mechanism: wv.Mahalanobis, count: int, device: str) -> torch.Tensor:
    """Return noisy points of public words, drawn on the device."""
    generator = torch.Generator(device).manual_seed(1)
    places = torch.tensor(mechanism._places[:-1], device=device)
    noise = torch.randn((count, places.shape[1]), dtype=torch.float64, device=device, generator=generator)
    noise /= torch.linalg.vector_norm(noise, dim=1, keepdim=True)
    radii = np.random.default_rng(1).standard_gamma(places.shape[1], count) / mechanism.epsilon
    noise *= torch.tensor(radii, device=device)[:, None]
    noise *= torch.tensor(np.sqrt(mechanism.metric.scales), device=device)
    ids = torch.randint(len(places), (count,), device=device, generator=generator)
    return noise + places[ids]


def speed(embedding: wv.Embedding, words: int, device: str) -> list[dict[str, Any]]:
    rows = []
    for epsilon, lam in ((10.0, 1.0), (10.0, 0.0), (1.0, 1.0), (40.0, 1.0)):
        mechanism = wv.Mahalanobis(embedding, epsilon, lam)
        search = TorchSearch(mechanism._places[:-1], device)
        count = min(words, 200_000)
        points = noisy_points_on_device(mechanism, count, device)
        step = search.batch()
        parts = [(part, float(torch.linalg.vector_norm(part, dim=1).max())) for part in points.split(step)]
        with torch.inference_mode():
            on_device = timed(lambda: [search.nearest_on_device(*part) for part in parts], device)  # noqa: B023  # called within the loop
        host = points.cpu().numpy()
        from_host = timed(lambda: search.nearest(host), device)  # noqa: B023  # called within the loop
        rows.append(
            {
                "epsilon": epsilon,
                "lam": lam,
                "batch": step,
                "half": search._half,
                "words_a_second_points_there": round(count / on_device),
                "words_a_second_points_here": round(count / from_host),
                "profile": profile(search, *parts[0], device) if (epsilon, lam) == (10.0, 1.0) else None,
            }
        )
    return rows


def profile(search: TorchSearch, points: torch.Tensor, longest: float, device: str) -> dict[str, float]:
    """Return microseconds per word for each part of a search."""
    with torch.inference_mode():
        scores, _ = search._scores(points, longest, 1.0 / 8)
        total = timed(lambda: search.nearest_on_device(points, longest), device)
        product = timed(lambda: search._scores(points, longest, 1.0 / 8), device)
        fold = timed(lambda: scores.view(len(points), 32, -1).amax(dim=1), device)
    microseconds_per_word = 1e6 / len(points)
    parts = {"whole": total, "scores": product, "fold": fold, "rest": total - product - fold}
    flops = 2.0 * scores.shape[1] * search._screen.shape[1] * len(points)
    times = {name: value * microseconds_per_word for name, value in parts.items()}
    return times | {"scores_tflops": flops / product / 1e12}


def plain(embedding: wv.Embedding, words: int, device: str) -> dict[str, float]:
    """Return words per second of a float32 and a bfloat16 product with an argmax, which are not exact."""
    mechanism = wv.Mahalanobis(embedding, 10.0, 1.0)
    points = noisy_points_on_device(mechanism, min(words, 100_000), device)
    speeds: dict[str, float] = {}
    for dtype in (torch.float32, torch.bfloat16):
        places = torch.tensor(mechanism._places[:-1], device=device, dtype=dtype)
        halves = (places.to(torch.float32) ** 2).sum(dim=1).to(dtype) / 2
        typed_points = points.to(dtype)

        def act() -> None:
            for part in typed_points.split(16_384):  # noqa: B023  # called within the loop
                torch.addmm(-halves, part, places.T).argmax(dim=1)  # noqa: B023  # called within the loop

        speeds[str(dtype)] = round(len(points) / timed(act, device))
    return speeds


def end_to_end(embedding: wv.Embedding, words: int, device: str) -> dict[str, Any]:
    """Measure secure noise from the CPU and the search: in one call, and in one thread per core."""
    search_device: DeviceName = "cuda" if device == "cuda" else "cpu"
    mechanism = wv.Mahalanobis(embedding, 10.0, 1.0, device=search_device)
    ids = np.random.default_rng(1).integers(0, len(embedding), words)
    mechanism.perturb_ids(ids[:20_000])
    one_call = timed(lambda: mechanism.perturb_ids(ids[: words // 4]), device, 1)
    cores = os.cpu_count() or 1
    key = RunKey()

    def work(number: int) -> None:
        with one_thread():
            mechanism.perturb_ids(ids[number::cores], stream=key.stream(number))

    def all_threads() -> None:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(cores)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return {
        "one_call_words_a_second": round(words / 4 / one_call),
        "threads": cores,
        "threads_words_a_second": round(words / timed(all_threads, device, 1)),
    }


def grid(embedding: wv.Embedding, words: int, device: str) -> dict[str, Any]:
    ids = np.arange(len(embedding)) if not words else np.arange(words)
    settings = Grid()
    start = time.perf_counter()
    result = sweep(embedding, settings, ids, device=device if device == "cuda" else "cpu:0")
    seconds = time.perf_counter() - start
    return {
        "draws": len(ids) * settings.draws * len(settings.epsilons) * len(settings.lams),
        "seconds": round(seconds, 1),
        "other_answers_than_the_exact_search": result.disagreement._asdict(),
        "n_w": result.n_w.mean(axis=2).round(2).tolist(),
        "s_w": result.s_w.mean(axis=2).round(2).tolist(),
    }


def exactness(embedding: wv.Embedding, queries: int, device: str) -> dict[str, Any]:
    differences: dict[str, int] = {}
    for dims in (embedding.dim, 25):
        axes = embedding if dims == embedding.dim else embedding.project(dims)
        for lam in (0.0, 1.0):
            for epsilon in EPSILONS:
                mechanism = wv.Mahalanobis(axes, epsilon, lam)
                points = noisy_points_on_device(mechanism, queries, device).cpu().numpy()
                places = mechanism._places[:-1]
                wrong = TorchSearch(places, device).nearest(points) != BruteSearch(places).nearest(points)
                differences[f"dims {dims}, lam {lam:g}, epsilon {epsilon:g}"] = int(wrong.sum())
    return {"queries": queries * len(differences), "differences": differences}


if __name__ == "__main__":
    main()
