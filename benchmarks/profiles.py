"""What each profile is worth, beside other spaces and answers: for docs/choosing.md and docs/maps.md.

    WORDVEIL_TEST_DATA=DIR python -m benchmarks.profiles [--map NAME=POSITIONS.npy …]

`--map` adds another map of the same words, such as UMAP alone or a fit with another seed.

For each setting: how often an attacker guesses a word, which words on sensitive topics are exposed, what is
proven, how close answers are to the words, how often whole texts are linked, and what a classifier still
learns. All draws come from fixed seeds, on public words and public texts. No text is printed or recorded.
"""

import argparse
import json
import os
import platform
import sys
import time
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

import wordveil as wv
from benchmarks.clock import seconds
from benchmarks.linkage import PAD_TO
from benchmarks.linkage import measure as measure_linkage
from benchmarks.profile_tables import print_tables
from wordveil.attacker import guess_from_answers, guess_rate
from wordveil.embedding.catalog import MAP_NAME
from wordveil.embedding.map_fit import MapOptions
from wordveil.embedding.maps import described_map
from wordveil.evaluation.calibration import calibrate_attack
from wordveil.evaluation.closeness import measure_closeness
from wordveil.evaluation.datasets import LabelledTexts, load_labelled, recognise_dataset
from wordveil.evaluation.fixed_neighbours import by_meaning
from wordveil.evaluation.utility_experiment import utility
from wordveil.exposure import measure_exposure, watch
from wordveil.intervals import clopper_pearson
from wordveil.mechanisms.answers import AnswerName
from wordveil.nearest.threads import all_cores
from wordveil.profiles import PROFILES
from wordveil.tokens import split
from wordveil.watched_words import WATCHED_WORDS

DRAWS: Final = 5_000  # words: the interval of S reaches about 0.013 to each side
WATCH_DRAWS: Final = 50  # of each watched word
MOST: Final = 2000  # texts that are linked
REPETITIONS: Final = 2
SEED: Final = 0
TIMED_DIMS: Final = 15
PACKAGES: Final = ("numpy", "scipy", "scikit-learn", "wordveil", "wordveil-english", "wordveil-glove")


class Setting(NamedTuple):
    name: str
    space: str
    lam: float
    epsilon: float
    answer: AnswerName = "nearest"
    texts: bool = False  # whether whole texts are linked and learned from, which takes minutes

    def make(self, spaces: dict[str, wv.Embedding]) -> wv.Mahalanobis:
        return wv.Mahalanobis(spaces[self.space], self.epsilon, self.lam, answer=self.answer)


OTHERS: Final = (Setting("the paper's", "300 dims", 1.0, 10.0),)
# S on running text of the settings that `balanced` is compared with. Its own S is a little smaller, so that
# S of content words and of uniform words is also at most 0.02 away, and never above.
MATCHED_S: Final = 0.289
# Space, λ, answer of these settings, and whether whole texts are measured.
EQUAL_S: Final[tuple[tuple[str, float, AnswerName, bool], ...]] = (
    ("10 axes", 0.0, "nearest", True),
    ("10 axes", 0.0, "closest", True),
    ("map", 0.0, "nearest", False),
    ("300 dims", 1.0, "nearest", False),
)
OF_OTHER_MAPS: Final[tuple[AnswerName, ...]] = ("nearest", "closest")


class Priors(NamedTuple):
    tokens: wv.Prior
    content: wv.Prior
    rank_based: wv.Prior
    messages: wv.Prior  # the words of the SMS and tweets: a list of frequencies that no fit has seen
    uniform: wv.Prior


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/profiles.json"))
    parser.add_argument("--map", action="append", default=[], metavar="NAME=POSITIONS.npy", dest="maps")
    args = parser.parse_args()
    data = read_data(parser)
    start = time.perf_counter()
    embedding = wv.load_embedding()
    english = wv.Prior.english(embedding)
    by_rank, uniform = wv.Prior.by_rank(embedding), wv.Prior.uniform(embedding)
    priors = Priors(english, english.content(), by_rank, count_words(embedding, data), uniform)
    timing = measure_times(embedding, english)
    spaces = {"300 dims": embedding, "10 axes": embedding.project(10), "map": wv.load_embedding(MAP_NAME)}
    for name, path in (option.split("=", 1) for option in args.maps):
        positions = np.load(path, allow_pickle=False)
        spaces[name] = described_map(embedding, positions, name, "neighbours", MapOptions(), "", None)
    rows: list[dict[str, Any]] = []
    record: dict[str, Any] = {
        "made_by": "python -m benchmarks.profiles",
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "threads": all_cores(),
        "versions": {package: version(package) for package in PACKAGES},
        "vectors": {"words": len(embedding), "fingerprint": embedding.fingerprint},
        "prior": {"name": english.name, "fingerprint": english.fingerprint},
        "data": {name: describe(texts) for name, texts in data.items()},
        "draws": DRAWS,
        "watch_draws": WATCH_DRAWS,
        "linked_texts": MOST,
        "repetitions": REPETITIONS,
        "seed": SEED,
        "timing": timing,
        "rows": rows,
    }
    for setting in list_settings(spaces, english):
        rows.append(measure(setting, spaces, priors, data))
        print(f"{time.perf_counter() - start:6.0f} s  {setting.name}", file=sys.stderr, flush=True)
        record["seconds"] = time.perf_counter() - start
        args.out.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n")
    print_tables(record)


def read_data(parser: argparse.ArgumentParser) -> dict[str, LabelledTexts]:
    """Return the data sets of the paper, by their names."""
    folder = os.environ.get("WORDVEIL_TEST_DATA")
    if not folder:
        parser.error("WORDVEIL_TEST_DATA must name the folder of the SMS and the tweets")
    paths = sorted(path for kind in ("*.csv", "*.tsv") for path in Path(folder).glob(kind))
    known = {path: recognise_dataset(path) for path in paths}
    data = {dataset.name: load_labelled(path) for path, dataset in known.items() if dataset is not None}
    if set(data) != {"sms", "tweets"}:
        parser.error("the folder that WORDVEIL_TEST_DATA names must have both the SMS and the tweets")
    return data


def describe(data: LabelledTexts) -> dict[str, Any]:
    lengths = [len(split(text)) for text in data.texts]
    return {
        "texts": len(lengths),
        "median_words": float(np.median(lengths)),
        "positive": data.labels.count(data.positive),
    }


def count_words(embedding: wv.Embedding, data: dict[str, LabelledTexts]) -> wv.Prior:
    words = Counter(word for texts in data.values() for text in texts.texts for word in split(text))
    return wv.Prior.from_counts(embedding, words, public=True, name="the messages")


def list_settings(spaces: dict[str, wv.Embedding], prior: wv.Prior) -> list[Setting]:
    profiles = [Setting(p.name, "map", p.lam, p.epsilon, p.answer, texts=True) for p in PROFILES.values()]
    balanced = next(setting for setting in profiles if setting.name == "balanced")
    epsilons: dict[tuple[str, float], float] = {("map", 0.0): balanced.epsilon}
    equal = []
    known = {space for space, *_ in EQUAL_S}
    others = [(name, 0.0, answer, False) for name in spaces.keys() - known for answer in OF_OTHER_MAPS]
    for space, lam, answer, texts in [*EQUAL_S, *sorted(others)]:
        if (space, lam) not in epsilons:
            epsilons[space, lam] = equal_epsilon(spaces[space], prior, lam, MATCHED_S)
        equal.append(Setting("matched S", space, lam, epsilons[space, lam], answer, texts))
    return [*profiles, *equal, *OTHERS]


def equal_epsilon(space: wv.Embedding, prior: wv.Prior, lam: float, target: float) -> float:
    """Return the ε at which S is the target, with the draws that S is measured by."""
    result = calibrate_attack(lambda epsilon: wv.Mahalanobis(space, epsilon, lam), prior, target, draws=DRAWS)
    return float(f"{result.epsilon:.3g}")


def measure(
    setting: Setting, spaces: dict[str, wv.Embedding], priors: Priors, data: dict[str, LabelledTexts]
) -> dict[str, Any]:
    mechanism = setting.make(spaces)
    exposure = measure_exposure(mechanism, priors.tokens)
    row: dict[str, Any] = {
        "name": setting.name,
        "setting": setting._asdict(),
        "guessed": {
            name: guess_rate(mechanism, prior, draws=DRAWS).to_dict()
            for name, prior in priors._asdict().items()
        },
        "guessed_from_answers_at_least": guess_from_answers(mechanism, priors.tokens)._asdict(),
        "unchanged": {
            "running_text": unchanged(mechanism, priors.tokens),
            "vocabulary": unchanged(mechanism, priors.uniform),
        },
        "watched": watched(mechanism, priors.tokens),
        "warning": exposure.warning,
        "proven": proven(mechanism),
        "closeness": {
            "content": measure_closeness(mechanism, priors.content).to_dict(),
            "tokens": measure_closeness(mechanism, priors.tokens).to_dict(),
            "uniform": measure_closeness(mechanism, priors.uniform).to_dict(),
        },
    }
    if setting.texts:
        row["linkage"] = {
            name: {
                "padded" if pad_to else "unpadded": linked(mechanism, pad_to, texts.texts)
                for pad_to in (None, PAD_TO)
            }
            for name, texts in data.items()
        }
        row["learning"] = {name: learned(setting, mechanism.embedding, texts) for name, texts in data.items()}
    return row


def unchanged(mechanism: wv.Mechanism, prior: wv.Prior) -> dict[str, float]:
    """Return how often a word that is drawn from the prior stays; an unknown word never does."""
    stream = wv.insecure_stream(SEED)
    ids = prior.draw(stream.uniforms((DRAWS,)))
    answers = mechanism.perturb_ids(ids, stream=stream)
    return clopper_pearson(int((answers == ids).sum()), DRAWS)._asdict()


def watched(mechanism: wv.Mechanism, prior: wv.Prior) -> dict[str, Any]:
    words = watch(mechanism, prior, WATCHED_WORDS, WATCH_DRAWS)
    return {
        "words": len(words),
        "above_0.8": sum(word.largest > 0.8 for word in words),
        "above_0.8_with_confidence": sum(word.is_exposed for word in words),
        "above_0.5": sum(word.largest > 0.5 for word in words),
        "mean_unchanged": float(np.mean([word.unchanged for word in words])),
        "mean_named": float(np.mean([word.named for word in words])),
        "mean_largest": float(np.mean([word.largest for word in words])),
        "most_exposed": {word.word: word.largest for word in words[:10]},
    }


def proven(mechanism: wv.Mechanism) -> dict[str, float]:
    promise = mechanism.guarantee
    near, tenth = promise.neighbours[1], promise.neighbours[10]
    return {
        "median_to_nearest": near.median,
        "median_to_10th": tenth.median,
        "worst_case": promise.worst_case.upper,
        "median_to_ten_by_meaning": by_meaning(mechanism)["p50"],
    }


def linked(mechanism: wv.Mechanism, pad_to: int | None, texts: list[str]) -> dict[str, Any]:
    """Return how often a text is picked first among those that are linked; equal ones in random order."""
    facts = measure_linkage(wv.Perturber(mechanism, wv.Policy(pad_to=pad_to)), texts, MOST, SEED)
    rank_1 = {name: facts[name]["rank_1"] for name in ("by_words", "by_both", "by_length")}
    return rank_1 | {"guessing": facts["guessing"]["rank_1"]}


def learned(setting: Setting, space: wv.Embedding, data: LabelledTexts) -> dict[str, Any]:
    """Return the scores of a bag of words that learns from private text, or from clean text."""
    mechanism = wv.Mahalanobis(space, setting.epsilon, setting.lam, answer=setting.answer)
    result = utility(data, mechanism, repetitions=REPETITIONS, seed=SEED, cache=False)
    private, clean = (
        [row for row in result.rows() if row["mechanism"] and row["tested_on"] == kind]
        for kind in ("private", "clean")
    )
    unperturbed = [row for row in result.rows() if not row["mechanism"]]
    return {
        "private_to_private": summary(private, data.positive),
        "private_to_clean": summary(clean, data.positive),
        "clean_to_clean": summary(unperturbed, data.positive),
        "majority": unperturbed[0]["majority"],
    }


def summary(rows: list[dict[str, Any]], positive: str) -> dict[str, Any]:
    """Return accuracy, and the scores of the positive label; those of the other one begin with `other_`."""
    facts = {}
    for row in rows:
        if row["statistic"].startswith("macro") or (row["statistic"], row["label"] == positive) == (
            "f1",
            False,
        ):
            continue
        name = f"{'other_' if row['label'] not in (None, positive) else ''}{row['statistic']}"
        # An interval ends at 0 and 1, so its longer side is the one that was not cut off.
        half = max(row["high"] - row["mean"], row["mean"] - row["low"])
        facts[name] = {"mean": row["mean"], "half_width": half}
    return facts


def measure_times(embedding: wv.Embedding, prior: wv.Prior) -> dict[str, Any]:
    """Return how long S and a calibration take, once; what is computed only once per process is included."""
    space = embedding.project(TIMED_DIMS)
    return {
        "dims": TIMED_DIMS,
        "load_average": os.getloadavg()[0],
        "guess_rate_seconds": seconds(lambda: guess_rate(wv.Laplace(space, 6.2), prior)),
        "calibrate_seconds": seconds(lambda: calibrate_attack(lambda e: wv.Laplace(space, e), prior, 0.3)),
    }


if __name__ == "__main__":
    main()
