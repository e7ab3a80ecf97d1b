"""All mechanisms at the same S, and how fast each is: for docs/family.md.

    python -m benchmarks.family [--dims 15] [--dims 300] [--only NAME] [--no-speed]

ε of each mechanism is the one at which the best guess of an attacker names 30% of the words of running text.
Then: how close answers are to content words and to words of the whole vocabulary, how many stay, and how well
rare and watched words are hidden. All draws come from fixed seeds, on public words.

Speed is measured by wall time and by processor time, in passes over all mechanisms forwards and back. Each
is also compared with Mahalanobis within each pass, so that other load on the machine does not decide.
"""

import argparse
import json
import math
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

import wordveil as wv
from benchmarks.clock import Seconds, both_clocks
from wordveil.attacker import guess_rate, word_exposures
from wordveil.evaluation.closeness import measure_closeness
from wordveil.exposure import watch
from wordveil.intervals import mean_share
from wordveil.mechanisms.answers import units_of
from wordveil.mechanisms.white import white_of
from wordveil.watched_words import WATCHED_WORDS

TARGET: Final = 0.3
DRAWS: Final = 2000  # words: the interval of S reaches about 0.02 to each side
WATCH_DRAWS: Final = 20
RARE_WORDS: Final = 200
RARE_DRAWS: Final = 10
SPREAD: Final = 3000  # words of the vocabulary, for closeness by density
TIMED: Final = 8192  # different words per call
PRODUCT_TIMED: Final = 1024
ROUNDS: Final = 6
REFERENCE: Final = "mahalanobis, λ = 1"
PACKAGES: Final = ("numpy", "scipy", "wordveil", "wordveil-english", "wordveil-glove")

Make = Callable[[wv.Embedding, float], wv.Mechanism]


class InRegion(wv.Clustered):
    """The clustered mechanism with the nearest word of the region that was drawn: compared, not shipped."""

    def _answers(self, regions: NDArray[np.int64], points: NDArray[np.float64]) -> NDArray[np.int64]:
        answers = np.empty(len(points), np.int64)
        for region in np.unique(regions):
            rows, members = np.flatnonzero(regions == region), self.shapes.members(int(region))
            answers[rows] = members[self._searches[int(region)].nearest(points[rows])]
        return answers

    def channel(self) -> Any:
        return super().channel()


class Setting(NamedTuple):
    name: str
    make: Make
    start: dict[int, float]  # an ε near the result, for each number of dimensions
    same_as: str = ""  # a setting with the same S at the same ε: the attacker sees the same


SETTINGS: Final = (
    Setting("laplace", wv.Laplace, {15: 5.7, 300: 12.0}),
    Setting("mahalanobis, λ = 0.5", lambda e, x: wv.Mahalanobis(e, x, 0.5), {15: 5.5, 300: 9.3}),
    Setting(REFERENCE, lambda e, x: wv.Mahalanobis(e, x, 1.0), {15: 5.4, 300: 8.5}),
    Setting("vickrey, t = 0.5", wv.Vickrey, {}, "laplace"),
    Setting("clustered, λ = 0.5", lambda e, x: wv.Clustered(e, x, 0.5), {15: 7.0, 300: 12.5}),
    Setting("clustered, λ = 1", lambda e, x: wv.Clustered(e, x, 1.0), {15: 6.4, 300: 10.8}),
    Setting(
        "clustered, λ = 0.5, answer in the region",
        lambda e, x: InRegion(e, x, 0.5),
        {},
        "clustered, λ = 0.5",
    ),
    Setting("exponential", wv.Exponential, {15: 4.5, 300: 1.8}),
    Setting("tem", wv.TruncatedExponential, {15: 5.0, 300: 2.5}),
    Setting(
        "custext, k = 20",
        lambda e, x: wv.CusText(e, x, unsafe_no_uniform_guarantee=True),
        {15: 1.0, 300: 1.0},
    ),
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/family.json"))
    parser.add_argument("--dims", type=int, action="append")
    parser.add_argument(
        "--only",
        action="append",
        help="measure this row again, and keep the others; 'none' measures the speed only",
    )
    parser.add_argument("--no-speed", action="store_true", help="keep the stored speeds")
    args = parser.parse_args()
    vectors, start = wv.load_embedding(), time.perf_counter()
    record: dict[str, Any] = json.loads(args.out.read_text()) if args.out.exists() else {"dims": {}}
    record |= {
        "made_by": "python -m benchmarks.family",
        "target": TARGET,
        "draws": DRAWS,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "packages": {name: version(name) for name in PACKAGES},
    }
    for dims in args.dims or (15, 300):
        embedding = vectors if dims == vectors.dim else vectors.project(dims)
        facts = record["dims"].setdefault(str(dims), {"rows": []})
        for row in compared(embedding, facts["rows"], args.only or [setting.name for setting in SETTINGS]):
            place = [setting.name for setting in SETTINGS].index
            others = [other for other in facts["rows"] if other["name"] != row["name"]]
            facts["rows"] = sorted([*others, row], key=lambda known: place(known["name"]))
            args.out.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n")
            took = f"{time.perf_counter() - start:6.0f} s"
            print(took, dims, row["name"], row["setting"]["epsilon"], file=sys.stderr, flush=True)
        if not args.no_speed:
            facts["speed"] = speed(embedding, facts["rows"])
            args.out.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n")


def compared(
    embedding: wv.Embedding, known: list[dict[str, Any]], names: list[str]
) -> Iterator[dict[str, Any]]:
    prior = wv.Prior.english(embedding)
    epsilons: dict[str, float] = {row["name"]: row["setting"]["epsilon"] for row in known}
    for setting in SETTINGS:
        if setting.name not in names:
            continue
        epsilon = epsilons.get(setting.same_as) or equal_epsilon(setting, embedding, prior)
        epsilons[setting.name] = epsilon
        yield measure(setting.name, setting.make(embedding, epsilon), prior)


def equal_epsilon(setting: Setting, embedding: wv.Embedding, prior: wv.Prior) -> float:
    """Return the ε at which S is the target, to 1%; 1e-6 if S is larger at every ε."""
    known: dict[float, float] = {}

    def above(log_epsilon: float) -> float:
        if log_epsilon not in known:
            mechanism = setting.make(embedding, math.exp(log_epsilon))
            known[log_epsilon] = guess_rate(mechanism, prior, draws=DRAWS).success.share - TARGET
        return known[log_epsilon]

    if setting.name.startswith("custext") and above(math.log(1e-6)) > 0.0:
        return 1e-6
    low = high = math.log(setting.start.get(embedding.dim, 5.0))
    while above(low) > 0.0:
        low -= 0.2
    while above(high) < 0.0:
        high += 0.2
    solution = low if low == high else brentq(above, low, high, xtol=0.01)
    return float(f"{math.exp(solution):.3g}")


def measure(name: str, mechanism: wv.Mechanism, prior: wv.Prior) -> dict[str, Any]:
    promise = mechanism.guarantee
    words = watch(mechanism, prior, WATCHED_WORDS, WATCH_DRAWS)
    rare = np.argsort(prior.shares[:-1], kind="stable")[: len(prior.shares) // 2]
    rare = rare[np.linspace(0, len(rare) - 1, RARE_WORDS).astype(np.int64)]
    exposures = word_exposures(mechanism, prior, rare, draws=RARE_DRAWS)
    return {
        "name": name,
        "setting": mechanism.setting(),
        "guessed": guess_rate(mechanism, prior, draws=DRAWS).to_dict(),
        "content": measure_closeness(mechanism, prior.content(), draws=DRAWS).to_dict(),
        "running_text": measure_closeness(mechanism, prior, draws=DRAWS).to_dict(),
        "uniform": measure_closeness(mechanism, wv.Prior.uniform(mechanism.embedding), draws=DRAWS).to_dict(),
        "by_density": by_density(mechanism),
        "watched": {
            "words": len(words),
            "unchanged": float(np.mean([word.unchanged for word in words])),
            "named": float(np.mean([word.named for word in words])),
            "above_0.5": sum(word.largest > 0.5 for word in words),
        },
        "rare": {
            "words": len(rare),
            "unchanged": float(exposures.unchanged.mean()),
            "named": float(exposures.named.mean()),
            "recognised": float(exposures.largest.mean()),
        },
        "proven": {
            "median_to_nearest": promise.neighbours[1].median,
            "median_to_10th": promise.neighbours[10].median,
            "worst_case": promise.worst_case.upper,
        },
    }


def by_density(mechanism: wv.Mechanism) -> dict[str, dict[str, float]]:
    """Return the mean cosine of words and answers, with intervals, for thirds of the vocabulary."""
    embedding = mechanism.embedding
    ids = np.linspace(0, len(embedding) - 1, SPREAD).astype(np.int64)
    near = white_of(embedding, wv.Metric.from_embedding(embedding, 0.0)).to_nearest_other(ids)
    units = units_of(embedding)
    answers = mechanism.perturb_ids(ids, stream=wv.insecure_stream(1))
    cosines = np.einsum("ij,ij->i", units[ids], units[answers])
    parts = np.array_split(np.argsort(near, kind="stable"), 3)
    names = ("dense", "middle", "sparse")
    return {name: mean_cosine(cosines[part]) for name, part in zip(names, parts, strict=True)}


def mean_cosine(cosines: NDArray[np.float32]) -> dict[str, float]:
    """Return the mean of cosines, which are between -1 and 1, with its interval."""
    share = mean_share((cosines.astype(np.float64) + 1.0) / 2.0)
    return {name: 2.0 * end - 1.0 for name, end in share._asdict().items()}


def speed(embedding: wv.Embedding, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return µs per word: of each mechanism, and of a float32 product with softmax sampling in NumPy."""
    ids = np.random.default_rng(0).permutation(len(embedding))
    starts = {setting.name: setting.start for setting in SETTINGS}
    # Where S was not measured, an ε near the one of the target.
    guesses = {s.name: starts[s.same_as or s.name].get(embedding.dim, 5.0) for s in SETTINGS}
    epsilons = guesses | {row["name"]: row["setting"]["epsilon"] for row in rows}
    facts: dict[str, Any] = {
        "load_average": os.getloadavg()[0],
        "words": TIMED,
        "epsilons": epsilons,
        "microseconds": {},
    }
    acts: dict[str, tuple[Callable[[], object], int]] = {}
    for setting in SETTINGS:
        mechanism = setting.make(embedding, epsilons[setting.name])
        acts[setting.name] = (lambda m=mechanism: m.perturb_ids(ids[:TIMED])), TIMED  # type: ignore[misc]
    product = Product(embedding, epsilons["exponential"])
    acts["float32 product, softmax"] = (lambda: product.draw(ids[:PRODUCT_TIMED])), PRODUCT_TIMED
    first = {name: both_clocks(act).wall / count for name, (act, count) in acts.items()}
    passes = [timed_pass(acts, backwards=number % 2 == 1) for number in range(ROUNDS)]
    for name in acts:
        ratios = [times[name].processor / times[REFERENCE].processor for times in passes]
        facts["microseconds"][name] = {
            "first": 1e6 * first[name],
            "again": 1e6 * min(times[name].wall for times in passes),
            "processor": 1e6 * min(times[name].processor for times in passes),
            "processor_to_mahalanobis": float(np.median(ratios)),
        }
    return facts


def timed_pass(acts: dict[str, tuple[Callable[[], object], int]], *, backwards: bool) -> dict[str, Seconds]:
    """Return the times per word of one call of each, in order or from the last to the first."""
    names = list(acts)[::-1] if backwards else list(acts)
    times = {}
    for name in names:
        act, count = acts[name]
        wall, processor = both_clocks(act)
        times[name] = Seconds(wall / count, processor / count)
    return times


class Product:
    """Softmax sampling as one writes it in NumPy: a float32 product in blocks, exp, cumulated sums."""

    def __init__(self, embedding: wv.Embedding, epsilon: float) -> None:
        self.rows = embedding.vectors - embedding.centroid.astype(np.float32)
        self.squares, self.rate = (self.rows**2).sum(axis=1), np.float32(epsilon / 2.0)
        self.rng = np.random.default_rng()

    def draw(self, ids: NDArray[np.int64]) -> NDArray[np.int64]:
        answers = np.empty(len(ids), np.int64)
        for start in range(0, len(ids), 256):
            block = ids[start : start + 256]
            table = self.rows[block] @ self.rows.T
            table *= -2.0
            table += self.squares
            table += self.squares[block][:, None]
            np.sqrt(np.maximum(table, 0.0, out=table), out=table)
            table *= -self.rate
            np.exp(table, out=table)
            sums = np.cumsum(table, axis=1, out=table)
            limits = self.rng.random(len(block), np.float32) * sums[:, -1]
            answers[start : start + 256] = (sums < limits[:, None]).sum(axis=1)
        return answers


if __name__ == "__main__":
    main()
