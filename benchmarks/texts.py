"""What text costs beside its words: `perturber.perturb` against `perturb_ids` on the same tokens, in one run.

    make bench

With a mechanism that answers at once: what text costs does not depend on the search, but beside a real one it
would drown in the search's own variation.
"""

import argparse
import json
import os
import platform
import time
from importlib.metadata import version
from pathlib import Path

import numpy as np

import wordveil as wv


class AtOnce(wv.Mahalanobis):
    """Answers each word with itself, without noise or search: only what stands around them is left."""

    def _perturb(self, ids: np.ndarray, stream: wv.Stream) -> np.ndarray:  # noqa: ARG002  # the contract
        return np.asarray(np.maximum(ids, 0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/texts.json"))
    chosen = parser.parse_args()
    embedding = wv.load_embedding()
    perturber = wv.Perturber(AtOnce(embedding, 10.0, 1.0))
    rows = {
        kind: measure(perturber, made(embedding, chosen.texts, kind), chosen.repeat)
        for kind in ("ascii", "unicode")
    }
    cores = os.cpu_count()
    print(f"{chosen.texts:,} texts of about 12 words, {cores} cores, best of {chosen.repeat}, µs a word")
    for kind, row in rows.items():
        print(
            f"  {kind:8} perturb {row['perturb']:6.2f}  perturb_ids {row['perturb_ids']:6.2f}  "
            f"more {row['perturb'] - row['perturb_ids']:5.2f}  (tokens and lookup alone {row['tokens']:.2f})"
        )
    record = {
        "made_by": "make bench",
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "versions": {name: version(name) for name in ("numpy", "wordveil")},
        "microseconds_a_word": rows,
    }
    chosen.out.write_text(json.dumps(record, indent=2) + "\n")


def made(embedding: wv.Embedding, texts: int, kind: str) -> list[str]:
    """Made-up texts: 85% known words, names that no vocabulary holds, numbers, capitals and punctuation."""
    draws = np.random.default_rng(3)
    extra = ["Qwxzy", "10:30", "Boston-Logan", "@ann", "don't", "naïve" if kind == "unicode" else "naive"]
    lengths = draws.integers(4, 20, texts)
    known = draws.integers(0, len(embedding), lengths.sum())
    odd = draws.random(lengths.sum()) < 0.15
    words = [
        extra[i % len(extra)] if o else embedding.words[i]
        for i, o in zip(known.tolist(), odd.tolist(), strict=True)
    ]
    ends = np.cumsum(lengths).tolist()
    mark = "…" if kind == "unicode" else "."
    return [
        f"{' '.join(words[b - n : b]).capitalize()}{mark}"
        for b, n in zip(ends, lengths.tolist(), strict=True)
    ]


def measure(perturber: wv.Perturber, texts: list[str], repeat: int) -> dict[str, float]:
    ids = np.array([number for text in texts for number in perturber.tokenizer.ids(text)])
    whole, alone, tokens = [], [], []
    for _ in range(repeat):  # in turns, so that what else runs on the machine meets all three
        whole.append(seconds(lambda: perturber.perturb(texts)))
        alone.append(seconds(lambda: perturber.mechanism.perturb_ids(ids)))
        tokens.append(seconds(lambda: [perturber.tokenizer.ids(text) for text in texts]))
    scale = 1e6 / len(ids)
    return {"perturb": min(whole) * scale, "perturb_ids": min(alone) * scale, "tokens": min(tokens) * scale}


def seconds(act: object) -> float:
    assert callable(act)
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


if __name__ == "__main__":
    main()
