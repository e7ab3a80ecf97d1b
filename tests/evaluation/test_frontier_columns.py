"""The columns of a frontier against numbers computed in another way, and planted mistakes that must be noticed."""

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import islice, product
from typing import Any, Final

import numpy as np
import pytest

import wordveil as wv
from wordveil.attacker import WordExposures, word_exposures
from wordveil.evaluation import fixed_neighbours, frontier_probes
from wordveil.evaluation.closeness import measure_closeness
from wordveil.evaluation.frontier_experiment import frontier
from wordveil.evaluation.linkage import measure_linkage
from wordveil.evaluation.word_selection import select_words
from wordveil.neighbours import sample_ids
from wordveil.shared import PerEmbedding

WORDS: Final = tuple(map("".join, islice(product("bdfgk", "aeiou", "lmnpr", "aeiou"), 300)))
VECTORS: Final = wv.Embedding(WORDS, np.random.default_rng(8).normal(size=(300, 8)), public=True)
SPACE: Final = VECTORS.project(4)
RARE: Final = WORDS[-30:]
EPSILON: Final = 4.0
MECHANISM: Final = wv.Laplace(SPACE, EPSILON)
TEXTS: Final = [
    " ".join(words)
    for length, seed in ((3, 1), (5, 2), (7, 3))
    for words in np.random.default_rng(seed).choice(WORDS, (20, length))
]
DRAWS, WORD_DRAWS = 500, 50

Row = dict[str, Any]
Columns = dict[str, Any]


def measured() -> Row:
    return (
        frontier(
            SPACE,
            lams=[0.0],
            answers=["nearest"],
            epsilons=[EPSILON],
            draws=DRAWS,
            word_draws=WORD_DRAWS,
            data=(TEXTS, ["tea", "flight"] * 30),
            repetitions=2,
            cache=False,
        )
        .rows()[0]
        .copy()
    )


def cosines() -> Any:
    units = VECTORS.vectors / np.linalg.norm(VECTORS.vectors, axis=1, keepdims=True)
    return units.astype(np.float64) @ units.astype(np.float64).T


def exponents() -> Columns:
    """ε times the distance in the space to the ten words with the largest cosine in all dimensions."""
    values = []
    table, points = cosines(), SPACE.vectors.astype(np.float64)
    for word in sample_ids(len(WORDS), 160):
        others = sorted(set(range(len(WORDS))) - {int(word)}, key=lambda other: -table[word, other])
        values += [EPSILON * np.linalg.norm(points[word] - points[other]) for other in others[:10]]
    return {
        "exponent": pytest.approx(np.percentile(values, 50), rel=1e-4),
        "exponent_p95": pytest.approx(np.percentile(values, 95), rel=1e-4),
    }


def stays() -> Columns:
    """How often words stay, by other draws, to four standard errors of the mean and 0.1 for a percentile."""
    ids = select_words(SPACE, 200, 0).ids
    repeated = np.repeat(ids, WORD_DRAWS)
    answers = MECHANISM.perturb_ids(repeated, stream=wv.insecure_stream(99))
    each = 100.0 * (answers == repeated).reshape(len(ids), WORD_DRAWS).mean(axis=1)
    return {
        "n_w": pytest.approx(each.mean(), abs=4.0 * 50.0 / np.sqrt(len(repeated))),
        "n_w_p95": pytest.approx(np.percentile(each, 95), abs=10.0),
    }


def recognised() -> Columns:
    """The best of three guesses on average; the largest of them for each word."""
    prior = wv.Prior.by_rank(SPACE)
    stream = wv.insecure_stream(0)
    each = word_exposures(MECHANISM, prior, SPACE.ids_of(RARE), draws=WORD_DRAWS, stream=stream)
    guesses = [each.named, each.named_if_uniform, each.unchanged]
    assert each.named.mean() < each.named_if_uniform.mean()  # rare words: the prior misleads
    return {
        "watched": pytest.approx(max(guess.mean() for guess in guesses)),
        "watched_above_half": int((np.max(guesses, axis=0) > 0.5).sum()),
    }


def near() -> Columns:
    """The rank of each answer among all words by cosine."""
    prior = wv.Prior.by_rank(SPACE).content()
    ids = prior.draw(wv.insecure_stream(0).uniforms((DRAWS,)))
    ids = ids[ids >= 0]
    answers = MECHANISM.perturb_ids(ids, stream=wv.insecure_stream(1000))
    table = cosines()[ids]
    own = table[np.arange(len(ids)), answers]
    rank = (table > own[:, None] + 1e-5).sum(axis=1)
    return {
        "cosine_content": pytest.approx(own.mean(), abs=1e-5),
        "near_10_content": pytest.approx((rank < 10).mean()),
        "near_100_content": pytest.approx((rank < 100).mean()),
        "unchanged_content": pytest.approx((answers == ids).mean()),
    }


def linked() -> Columns:
    """The largest cosine of tf-idf among texts of the same length, with ties shared."""
    private, _ = wv.Perturber(MECHANISM).perturb_column(TEXTS, wv.insecure_stream(0))
    counts = [Counter(text.split()) for text in TEXTS]
    df = Counter(word for count in counts for word in count)
    idf = {word: np.log((1 + len(TEXTS)) / (1 + number)) + 1.0 for word, number in df.items()}

    def score(one: Counter[str], other: Counter[str]) -> float:
        first, second = ({word: n * idf.get(word, 0.0) for word, n in c.items()} for c in (one, other))
        norms = np.linalg.norm(list(first.values())) * np.linalg.norm(list(second.values()))
        return float(sum(first[word] * second.get(word, 0.0) for word in first) / (norms or 1.0))

    wins = []
    for number, text in enumerate(private):
        seen = Counter((text or "").split())
        same = [i for i, original in enumerate(TEXTS) if len(original.split()) == sum(seen.values())]
        scores = {i: score(seen, counts[i]) for i in same}
        best = [i for i in same if scores[i] >= max(scores.values()) - 1e-12]
        wins.append((number in best) / len(best))
    return {
        "linkage": pytest.approx(np.mean(wins)),
        "linkage_by_length": pytest.approx(1 / 20),
        "linkage_by_guessing": pytest.approx(1 / 60),
    }


RECOMPUTED: Final = {
    "exponents": exponents, "stays": stays, "recognised": recognised, "near": near, "linked": linked,
}  # fmt: skip


@pytest.fixture
def _rare_words_are_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frontier_probes, "WATCHED_WORDS", dict.fromkeys(RARE, "a topic"))
    monkeypatch.setattr(fixed_neighbours, "_nearest", PerEmbedding[Any](most=1))


@pytest.mark.usefixtures("_rare_words_are_watched")
def test_columns_are_what_they_say() -> None:
    row = measured()
    for recompute in RECOMPUTED.values():
        expected = recompute()
        assert {name: row[name] for name in expected} == expected


def farthest(units: Any) -> Any:
    sample = sample_ids(len(units), 160)
    return sample, np.argsort(units[sample] @ units.T, axis=1)[:, :10]


def first_guess(*arguments: Any, **options: Any) -> WordExposures:
    each = word_exposures(*arguments, **options)
    return each._replace(named_if_uniform=each.named, unchanged=each.named)


def nearer(*arguments: Any, **options: Any) -> Any:
    result = measure_closeness(*arguments, **options)
    return replace(result, near=result.near_10)


def by_length(*arguments: Any, **options: Any) -> Any:
    result = measure_linkage(*arguments, **options)
    return replace(result, by_both=result.by_length)


def median(values: Any, _: float) -> Any:
    return np.median(values)


@pytest.mark.usefixtures("_rare_words_are_watched")
@pytest.mark.parametrize(
    ("module", "name", "mistake", "column"),
    [
        (fixed_neighbours, "_fixed_pairs", farthest, "exponent"),
        (np, "quantile", median, "n_w_p95"),
        (frontier_probes, "word_exposures", first_guess, "watched"),
        (frontier_probes, "measure_closeness", nearer, "near_100_content"),
        (frontier_probes, "measure_linkage", by_length, "linkage"),
    ],
)
def test_planted_mistakes_are_noticed(
    module: Any, name: str, mistake: Callable[..., Any], column: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as planted:
        planted.setattr(module, name, mistake)
        if column == "n_w_p95":  # the only quantile of this probe; others need several at once
            planted.setattr(frontier_probes, "by_meaning", lambda _: {"p50": 0.0, "p95": 0.0})
        row = measured()
    expected = next(columns for make in RECOMPUTED.values() if column in (columns := make()))
    assert row[column] != expected[column]
