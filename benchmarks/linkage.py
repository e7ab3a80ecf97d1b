"""How often texts are linked to their originals, on the SMS and the tweets of WORDVEIL_TEST_DATA.

    python -m benchmarks.linkage laplace:25:6 mahalanobis:300:14:1

A setting is mechanism:dims:epsilon, and :lam for a mechanism that has it. Each is measured unpadded and
padded. Both data sets are public, so the noise comes from a seed and the result can be published.
"""

import argparse
import json
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import wordveil as wv
from benchmarks.clock import seconds
from wordveil.evaluation.datasets import load_labelled, recognise_dataset
from wordveil.evaluation.linkage import Linkage, measure_linkage
from wordveil.nearest.threads import all_cores

SETTINGS = ["laplace:10:5.7", "laplace:15:6.2", "laplace:25:6", "laplace:25:9", "mahalanobis:300:14:1"]
PAD_TO = 20


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("settings", nargs="*", default=SETTINGS, metavar="MECHANISM:DIMS:EPSILON[:LAM]")
    parser.add_argument("--most", type=int, default=2000, help="texts that are compared (default: 2000)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/linkage.json"))
    args = parser.parse_args()
    data = read_texts(parser)
    embedding = wv.load_embedding()
    mechanisms = {setting: make(parser, embedding, setting) for setting in args.settings}
    rows = []
    for name, texts in data.items():
        print(f"{name}: {len(texts):,} texts, of which {args.most:,} at most are compared; rank 1 (top ten)")
        print(f"  {'setting':24} {'padded':>6}  {'words':>13}  {'length':>13}  {'both':>13}  seconds")
        for setting, mechanism in mechanisms.items():
            for pad_to in (None, PAD_TO):
                perturber = wv.Perturber(mechanism, wv.Policy(pad_to=pad_to))
                rows.append({"data": name, "setting": mechanism.setting(), "pad_to": pad_to})
                rows[-1] |= measure(perturber, texts, args.most, args.seed)
                print(f"  {setting:24} {pad_to or '-':>6}  {in_columns(rows[-1])}", flush=True)
    record = {
        "made_by": "python -m benchmarks.linkage",
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "threads": all_cores(),
        "versions": {package: version(package) for package in ("numpy", "scipy", "wordveil")},
        "vectors": {"words": len(embedding), "fingerprint": embedding.fingerprint},
        "texts": {name: len(texts) for name, texts in data.items()},
        "most": args.most,
        "seed": args.seed,
        "rows": rows,
    }
    args.out.write_text(json.dumps(record, indent=2) + "\n")


def read_texts(parser: argparse.ArgumentParser) -> dict[str, list[str]]:
    """Return the texts of the data sets of the paper, by their names."""
    folder = os.environ.get("WORDVEIL_TEST_DATA")
    if not folder:
        parser.error("WORDVEIL_TEST_DATA must name the folder of the SMS and the tweets")
    paths = sorted(path for kind in ("*.csv", "*.tsv") for path in Path(folder).glob(kind))
    known = {path: recognise_dataset(path) for path in paths}
    data = {dataset.name: load_labelled(path).texts for path, dataset in known.items() if dataset is not None}
    if not data:
        parser.error("the folder that WORDVEIL_TEST_DATA names has neither the SMS nor the tweets")
    return data


def make(parser: argparse.ArgumentParser, embedding: wv.Embedding, setting: str) -> wv.Mechanism:
    name, *numbers = setting.split(":")
    if len(numbers) not in (2, 3):
        parser.error(f"{setting}: must be mechanism:dims:epsilon or mechanism:dims:epsilon:lam")
    try:
        options: dict[str, Any] = {"lam": float(numbers[2])} if numbers[2:] else {}
        return wv.make_mechanism(name, embedding.project(int(numbers[0])), float(numbers[1]), **options)
    except (ValueError, wv.WordveilError) as error:
        parser.error(f"{setting}: {error}")


def measure(perturber: wv.Perturber, texts: list[str], most: int, seed: int) -> dict[str, Any]:
    results: list[Linkage] = []
    perturber.perturb(texts[:100])  # the first search prepares what all use
    took = seconds(
        lambda: results.append(measure_linkage(perturber, texts, most=most, stream=wv.insecure_stream(seed)))
    )
    facts = results[0].to_dict()
    del facts["not_for_release"], facts["sentence"]  # which says so too; these texts are public
    return facts | {"seconds": took}


def in_columns(row: dict[str, Any]) -> str:
    shares = [
        f"{row[attacker]['rank_1']['share']:.3f} ({row[attacker]['top_10']['share']:.3f})"
        for attacker in ("by_words", "by_length", "by_both")
    ]
    return f"{'  '.join(f'{share:>13}' for share in shares)}  {row['seconds']:7.1f}"


if __name__ == "__main__":
    main()
