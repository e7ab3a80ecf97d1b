"""Fit the map of this package, or write it from positions that another machine has fitted.

python packages/wordveil-glove/tools/make_map.py --device cuda
python packages/wordveil-glove/tools/make_map.py --positions fitted.npy --versions "PyTorch 2.11.0 on cuda"

The shipped map was fitted on an H200 (73 s), from UMAP positions that were computed on a CPU. Another
machine, or another version of a library, fits other positions: the numbers in the file are the truth.
"""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import Final

import numpy as np

from wordveil.embedding import load_embedding
from wordveil.embedding.map_fit import MapOptions
from wordveil.embedding.map_settling import settled
from wordveil.embedding.maps import described_map, make_map
from wordveil.embedding.store import save_store
from wordveil.prior import Prior
from wordveil_glove import MAP_PATH

NAME: Final = "glove-840b-map10"
DIMS: Final = 10


def main() -> None:
    """Fit or describe the map, and write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--positions", type=Path, help="fitted positions, .npy")
    parser.add_argument("--versions", default="", help="what fitted them, in words")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--steps", type=int, default=MapOptions().steps)
    parser.add_argument("--out", type=Path, default=MAP_PATH)
    arguments = parser.parse_args()
    vectors = load_embedding()
    prior, options = Prior.english(vectors), replace(MapOptions(), steps=arguments.steps)
    if arguments.positions is None:
        embedding = make_map(
            vectors, DIMS, prior=prior, options=options, device=arguments.device, name=NAME,
            checkpoint=Path("build/map.state"),
            watch=lambda done, total: print(f"{done} of {total}", flush=True),
        )  # fmt: skip
    else:
        fitted = np.load(arguments.positions, allow_pickle=False)
        positions = settled(fitted, prior.shares, prior.content().shares, options)
        embedding = described_map(vectors, positions, NAME, "learned", options, arguments.versions, prior)
    fingerprint = save_store(embedding, arguments.out, dtype="float32", force=True)
    size = f"{len(embedding):,} words, {embedding.dim} dimensions"
    print(f"{arguments.out.name}: {size}, fingerprint {fingerprint}")


if __name__ == "__main__":
    main()
