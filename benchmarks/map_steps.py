"""How long a step of fitting a map takes on this machine, and so a whole fit.

    python -m benchmarks.map_steps [--device cuda]

Needs PyTorch (`make bench-map-steps`). The steps start from principal axes: only their time matters here.
"""

import argparse
import json
import os
import platform
import time
from importlib.metadata import version
from pathlib import Path
from statistics import median

import numpy as np
import torch

import wordveil as wv
from wordveil.embedding.map_fit import MapOptions, fit_map

STEPS = 6
DIMS = 10


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/map_steps.json"))
    args = parser.parse_args()
    embedding = wv.load_embedding()
    prior, options = wv.Prior.english(embedding), MapOptions(steps=STEPS)
    start = np.asarray(embedding.project(DIMS).vectors)
    times = []
    for steps in (1, STEPS, 1, STEPS, 1, STEPS):
        options = MapOptions(steps=steps)
        began = time.perf_counter()
        fit_map(embedding.vectors, start, prior.shares, prior.content().shares, options, device=args.device)
        times.append(time.perf_counter() - began)
    seconds_per_step = [
        (long - short) / (STEPS - 1) for short, long in zip(times[::2], times[1::2], strict=True)
    ]
    record = {
        "made_by": "python -m benchmarks.map_steps",
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "device": args.device,
        "versions": {name: version(name) for name in ("numpy", "torch", "wordveil")},
        "words": len(embedding),
        "batch": options.batch,
        "seconds_of_a_step": median(seconds_per_step),
        "hours_of_a_fit": median(seconds_per_step) * MapOptions().steps / 3600.0,
    }
    print(json.dumps(record, indent=2))
    args.out.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
