"""What text costs in addition to its words: `perturber.perturb` against `perturb_ids` on the same tokens.

    make bench

The mechanism answers without a search. The cost of text does not depend on the search, whose own variation
would hide it.
"""

import argparse
import json
import os
import platform
from importlib.metadata import version
from pathlib import Path

import numpy as np

import wordveil as wv
from benchmarks.clock import seconds


class Identity(wv.Mahalanobis):
    """Answers each word with itself, without noise or search, so only the cost around them is measured."""

    def _perturb(self, ids: np.ndarray, stream: wv.Stream) -> np.ndarray:  # noqa: ARG002  # the contract
        return np.asarray(np.maximum(ids, 0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--texts", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/texts.json"))
    args = parser.parse_args()
    embedding = wv.load_embedding()
    perturber = wv.Perturber(Identity(embedding, 10.0, 1.0))
    rows = {
        kind: measure(perturber, make_texts(embedding, args.texts, kind), args.repeat)
        for kind in ("ascii", "unicode")
    }
    cores = os.cpu_count()
    print(f"{args.texts:,} texts of about 12 words, {cores} cores, best of {args.repeat}, µs per word")
    for kind, row in rows.items():
        print(
            f"  {kind:8} perturb {row['perturb']:6.2f}  perturb_ids {row['perturb_ids']:6.2f}  "
            f"difference {row['perturb'] - row['perturb_ids']:5.2f}  "
            f"(tokens and lookup alone {row['tokens']:.2f})"
        )
    record = {
        "made_by": "make bench",
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "versions": {name: version(name) for name in ("numpy", "wordveil")},
        "microseconds_a_word": rows,
    }
    args.out.write_text(json.dumps(record, indent=2) + "\n")


def make_texts(embedding: wv.Embedding, texts: int, kind: str) -> list[str]:
    """Return synthetic texts: 85% words of the vocabulary; else unknown names, numbers and punctuation."""
    random = np.random.default_rng(3)
    extra = ["Qwxzy", "10:30", "Boston-Logan", "@ann", "don't", "naïve" if kind == "unicode" else "naive"]
    lengths = random.integers(4, 20, texts)
    ids = random.integers(0, len(embedding), lengths.sum())
    is_extra = random.random(lengths.sum()) < 0.15
    words = [
        extra[i % len(extra)] if replaced else embedding.words[i]
        for i, replaced in zip(ids.tolist(), is_extra.tolist(), strict=True)
    ]
    ends = np.cumsum(lengths).tolist()
    mark = "…" if kind == "unicode" else "."
    return [
        f"{' '.join(words[end - length : end]).capitalize()}{mark}"
        for end, length in zip(ends, lengths.tolist(), strict=True)
    ]


def measure(perturber: wv.Perturber, texts: list[str], repeat: int) -> dict[str, float]:
    ids = np.array([number for text in texts for number in perturber.tokenizer.ids(text)])
    texts_times, ids_times, token_times = [], [], []
    for _ in range(repeat):  # in turns, so other load on the machine affects all three
        texts_times.append(seconds(lambda: perturber.perturb(texts)))
        ids_times.append(seconds(lambda: perturber.mechanism.perturb_ids(ids)))
        token_times.append(seconds(lambda: [perturber.tokenizer.ids(text) for text in texts]))
    scale = 1e6 / len(ids)
    times = {"perturb": texts_times, "perturb_ids": ids_times, "tokens": token_times}
    return {name: min(values) * scale for name, values in times.items()}


if __name__ == "__main__":
    main()
