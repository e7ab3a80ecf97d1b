"""How long the three answers take on the shipped map, secure noise included.

python -m benchmarks.answering
"""

import argparse
import json
import os
import platform
from importlib.metadata import version
from pathlib import Path
from statistics import median

import numpy as np

import wordveil as wv
from benchmarks.clock import seconds
from wordveil.embedding.catalog import MAP_NAME
from wordveil.kernels import level
from wordveil.mechanisms.answers import ANSWERS
from wordveil.profiles import PROFILES

WORDS = 20_000
PASSES = 7


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/answering.json"))
    args = parser.parse_args()
    embedding = wv.load_embedding(MAP_NAME)
    ids = wv.Prior.english(embedding).draw(np.random.default_rng(1).random(WORDS))
    epsilon = PROFILES["balanced"].epsilon
    mechanisms = {answer: wv.Laplace(embedding, epsilon, answer=answer) for answer in ANSWERS}
    passes: dict[str, list[float]] = {answer: [] for answer in ANSWERS}
    for turn in range(PASSES + 1):
        for answer, mechanism in mechanisms.items():
            spent = seconds(lambda: mechanism.perturb_ids(ids))  # noqa: B023  # called at once
            if turn:  # the first one warms up
                passes[answer].append(spent / WORDS * 1e6)
    record = {
        "made_by": "python -m benchmarks.answering",
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "loops": level,
        "versions": {name: version(name) for name in ("numpy", "wordveil", "wordveil-kernels")},
        "words": len(embedding),
        "dims": embedding.dim,
        "epsilon": epsilon,
        "points": WORDS,
        "microseconds_a_word": {answer: median(times) for answer, times in passes.items()},
    }
    print(json.dumps(record["microseconds_a_word"]))
    args.out.write_text(json.dumps(record, indent=2) + "\n")


if __name__ == "__main__":
    main()
