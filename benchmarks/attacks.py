"""All attacks on the profiles and on the paper's settings, on the SMS and the tweets: for docs/audit.md.

    WORDVEIL_TEST_DATA=DIR python -m benchmarks.attacks

Each data set is shuffled. The context attack learns from the second half; of the first, a random sample is
attacked. All draws come from fixed seeds, on public words and public texts. No text is printed or recorded. A
setting that the output has already is not measured again. `python -m benchmarks.attack_docs` writes the
tables.
"""

import argparse
import json
import os
import platform
import sys
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import wordveil as wv
from benchmarks.linkage import PAD_TO, read_texts
from wordveil.attacker import guess_rate
from wordveil.embedding import load_embedding
from wordveil.embedding.catalog import DEFAULT_NAME, MAP_NAME
from wordveil.evaluation.attacks import attack
from wordveil.evaluation.attacks_context import public_model
from wordveil.evaluation.attacks_words import topic_prior
from wordveil.evaluation.calibration import calibrate_attack
from wordveil.profiles import PROFILES

DRAWS: Final = 1000
QUERIES: Final = 150
SIZES: Final = (100, 1000)
PAPER: Final = (10.0, 20.0, 5.0)
TOPIC_DRAWS: Final = 3000
SHUFFLE: Final = 7  # the seed of the halves


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/attacks.json"))
    args = parser.parse_args()
    data, start = read_texts(parser), time.perf_counter()
    embedding = wv.load_embedding()
    mechanisms = {name: PROFILES[name].load() for name in ("balanced", "strong", "gentle")}
    mechanisms |= {f"paper, ε = {epsilon:g}": wv.Mahalanobis(embedding, epsilon, 1.0) for epsilon in PAPER}
    record = json.loads(args.out.read_text("utf-8")) if args.out.exists() else {}
    fingerprints = {name: load_embedding(name).fingerprint for name in (DEFAULT_NAME, MAP_NAME)}
    if record.get("vectors") != fingerprints:  # measured on other vectors: all of it again
        record = {"vectors": fingerprints, **described(embedding, data)}
    for name, mechanism in mechanisms.items():
        if name in record["easiest"]:
            continue
        result = attack([wv.Perturber(mechanism)], groups=["words", "averaging"], draws=DRAWS)
        rows = [row | {"name": name, "data": None} for row in result.rows()]
        for title, texts in data.items():
            rows += [row | {"name": name, "data": title} for row in on_texts(mechanism, texts)]
            note(f"{name}, {title}: {time.perf_counter() - start:.0f} s")
        record["rows"] += rows
        record["easiest"][name] = [[word.word, word.named, word.why] for word in result.easiest]
        record["seconds"][name] = round(time.perf_counter() - start)
        text = json.dumps(record, ensure_ascii=False).replace("}, {", "},\n{")
        args.out.write_text(text + "\n", encoding="utf-8")


def described(embedding: wv.Embedding, data: dict[str, list[str]]) -> dict[str, Any]:
    """Return the head of the output, and what is compared once."""
    return {
        "made_by": "python -m benchmarks.attacks",
        "python": platform.python_version(),
        "versions": {package: version(package) for package in ("numpy", "scipy", "wordveil")},
        "cores": os.cpu_count(),
        "draws": DRAWS,
        "queries": QUERIES,
        "texts": {name: len(texts) for name, texts in data.items()},
        "topic_prior": equal_s(embedding),
        "rows": [],
        "easiest": {},
        "seconds": {},
    }


def note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def on_texts(mechanism: wv.Mechanism, texts: list[str]) -> list[dict[str, Any]]:
    # The tweets are sorted by keyword: unshuffled, the halves would be about different topics.
    texts = [texts[number] for number in wv.insecure_stream(SHUFFLE).permutation(len(texts))]
    half = len(texts) // 2
    model = public_model(mechanism.embedding, texts[half:])
    rows = []
    for pad_to in (None, PAD_TO):
        groups = ["context", "linkage", "attributes", "averaging"] if pad_to is None else ["linkage"]
        perturber = wv.Perturber(mechanism, wv.Policy(pad_to=pad_to))
        result = attack(
            [perturber],
            texts[:half],
            groups=groups,
            context=model,
            draws=50,
            queries=QUERIES,
            sizes=SIZES,
            stream=wv.insecure_stream(1),
        )
        public = [
            row for row in result.rows() if (row["group"], row["attack"]) != ("averaging", "best guess")
        ]
        rows += [row | {"pad_to": pad_to} for row in public]
    return rows


def equal_s(embedding: wv.Embedding) -> list[dict[str, Any]]:
    """Return S and S with a topic prior, on the map of `balanced` and on 10 axes, at equal plain S."""
    prior = wv.Prior.english(embedding)
    balanced = PROFILES["balanced"].load()
    axes = embedding.project(10)
    target = guess_rate(balanced, prior, draws=TOPIC_DRAWS).success.share
    epsilon = calibrate_attack(lambda e: wv.Laplace(axes, e), prior, target, draws=TOPIC_DRAWS).epsilon
    rows = []
    for space, mechanism in {MAP_NAME: balanced, "10 principal axes": wv.Laplace(axes, epsilon)}.items():
        plain = guess_rate(mechanism, prior, draws=TOPIC_DRAWS).success
        topic = topic_prior(mechanism, prior, TOPIC_DRAWS)[0]
        rows.append(
            {
                "space": space,
                "epsilon": mechanism.parameters()["epsilon"],
                "plain": plain._asdict(),
                "topic": topic.success._asdict(),
                "null": prior.guess,
                "topic_null": topic.null,
            }
        )
    return rows


if __name__ == "__main__":
    main()
