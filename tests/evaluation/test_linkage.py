"""Linkage is compared with a plain reference and with scikit-learn; mistakes planted in the reference show.

Noise comes from seeds, so the results are the same every time. The levels α are those of a test with fresh noise.
"""

import json
import math
import time
import tracemalloc
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

import wordveil as wv
from wordveil.evaluation.datasets import load_labelled
from wordveil.evaluation.linkage import Linkage, Success, _linked, measure_linkage, sample_texts
from wordveil.intervals import Share

Ids = list[list[int]]
Rates = dict[str, tuple[float, ...]]

ATTACKERS = {"by_words": (True, False), "by_length": (False, True), "by_both": (True, True)}
SHIFTS = {"rank too high": 1, "rank too low": -1}
SECRET = "Zanzibar-pregnant-555"
SEED = 5
WORDS = [f"word{chr(97 + i // 26)}{chr(97 + i % 26)}" for i in range(60)]
EMB = wv.Embedding(WORDS, np.random.default_rng(8).normal(size=(60, 4)), public=True)


def some_texts(count: int) -> list[str]:
    """Short texts whose words are as unequally frequent as in English; every tenth word is unknown."""
    random, shares = np.random.default_rng(3), 1.0 / np.arange(1, len(WORDS) + 1)
    names = ["qqq" if i % 10 == 9 else word for i, word in enumerate(WORDS)]
    draws = random.choice(names, (count, 6), p=shares / shares.sum())
    return [" ".join(row[:size]) for row, size in zip(draws, random.integers(2, 7, count), strict=True)]


def reference(originals: Ids, private: Ids, lengths: list[int], mistake: str = "") -> Rates:
    """The same in plain Python, from the definition, unless a mistake is planted."""
    count = len(originals)
    df = Counter(word for text in originals for word in set(text))

    def vector(text: list[int]) -> dict[int, float]:
        idf = {word: math.log((1 + count) / (1 + df[word])) + 1 for word in text}
        idf = idf if mistake != "no idf" else dict.fromkeys(idf, 1.0)
        weights = {word: times * idf[word] for word, times in Counter(text).items()}
        return {word: weight / math.hypot(*weights.values()) for word, weight in weights.items()}

    known, seen = [vector(text) for text in originals], [vector(text) for text in private]

    def successes(i: int, by_words: bool, by_length: bool) -> list[float]:
        by_length = by_length and mistake != "no length"
        group = [j for j in range(count) if not by_length or lengths[j] == lengths[i]]
        score = {j: by_words * sum(v * known[j].get(w, 0.0) for w, v in seen[i].items()) for j in group}
        better = sum(score[j] > score[i] + 1e-9 for j in group) + SHIFTS.get(mistake, 0)
        same = 1 if mistake == "no ties" else sum(abs(score[j] - score[i]) <= 1e-9 for j in group)
        return [min(max(top - better, 0), same) / same for top in (1, 10)]

    return {
        name: tuple(np.mean([successes(i, *uses) for i in range(count)], axis=0).tolist())
        for name, uses in ATTACKERS.items()
    }


def rates_of(linkage: Linkage) -> Rates:
    return {name: tuple(share.share for share in getattr(linkage, name)) for name in ATTACKERS}


def same_rates(one: Rates, other: Rates) -> bool:
    return all(value == pytest.approx(other[name], abs=1e-12) for name, value in one.items())


def ids_of(perturber: wv.Perturber, texts: list[str]) -> Ids:
    return [perturber.tokenizer.ids(text) for text in texts]


def private_of(perturber: wv.Perturber, texts: list[str]) -> list[str]:
    return perturber.perturb(texts, stream=wv.insecure_stream(SEED))


def measured(perturber: wv.Perturber, texts: list[str], **options: Any) -> Linkage:
    return measure_linkage(perturber, texts, stream=wv.insecure_stream(SEED), **options)


@pytest.mark.parametrize("epsilon", [0.5, 3.0, 8.0])
def test_it_agrees_with_a_plain_reference(epsilon: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("wordveil.evaluation.linkage._BLOCK", 1000)  # many blocks
    texts, perturber = some_texts(150), wv.Perturber(wv.Laplace(EMB, epsilon))
    originals, private = ids_of(perturber, texts), ids_of(perturber, private_of(perturber, texts))
    lengths = [len(ids) for ids in originals]
    rates = rates_of(measured(perturber, texts))
    assert same_rates(rates, reference(originals, private, lengths))
    for mistake in (*SHIFTS, "no ties", "no idf", "no length"):
        assert not same_rates(rates, reference(originals, private, lengths, mistake)), mistake


def test_scores_that_differ_by_rounding_alone_are_equal(monkeypatch: pytest.MonkeyPatch) -> None:
    """All texts have words of the same frequencies, so the same cosine with the one that all share."""
    perturber = wv.Perturber(wv.Laplace(EMB, 1.0))
    words = iter(np.random.default_rng(0).permutation(WORDS[1:]))
    texts = [WORDS[0]] * 24
    for times, shared_by in enumerate((2, 3, 4, 6, 8, 12), 1):
        block = [f" {next(words)}" * times for _ in range(24 // shared_by)]
        texts = [text + block[i // shared_by] for i, text in enumerate(texts)]

    def agrees(i: int) -> bool:
        private = [WORDS[0] if j == i else text for j, text in enumerate(texts)]
        plain = reference(ids_of(perturber, texts), ids_of(perturber, private), [22] * 24)
        return same_rates(rates_of(_linked(perturber, texts, private)), plain)

    assert all(agrees(i) for i in range(24))
    monkeypatch.setattr("wordveil.evaluation.linkage._TIE", 0.0)
    assert not all(agrees(i) for i in range(24))


def test_it_agrees_with_scikit_learn() -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.metrics.pairwise import cosine_similarity

    texts = some_texts(300)
    perturber = wv.Perturber(wv.Laplace(EMB, 4.0))

    def as_words(texts: list[str]) -> list[str]:
        return [" ".join(f"id{number}" for number in ids) for ids in ids_of(perturber, texts)]

    vectorizer = TfidfVectorizer(token_pattern=r"\S+")
    known = vectorizer.fit_transform(as_words(texts))
    scores = cosine_similarity(vectorizer.transform(as_words(private_of(perturber, texts))), known).round(9)
    right = scores.diagonal()[:, None]
    better, same = (scores > right).sum(axis=1), (scores == right).sum(axis=1)
    expected = [float(np.mean(np.clip(top - better, 0, same) / same)) for top in (1, 10)]
    assert rates_of(measured(perturber, texts))["by_words"] == pytest.approx(expected, abs=1e-12)


def test_without_noise_every_text_is_found_and_equal_ones_are_guessed(same: wv.Perturber) -> None:
    different = ["book a flight", "call me at noon", "tea please", "the red house is on fire"]
    assert rates_of(measured(same, different)) == dict.fromkeys(ATTACKERS, (1.0, 1.0))
    pairs = rates_of(measured(same, ["tea please", "Tea, please!", "book a flight", "book a flight"]))
    assert pairs == dict.fromkeys(ATTACKERS, (0.5, 1.0))
    equal = measured(same, ["tea please"] * 40)
    assert rates_of(equal) == dict.fromkeys(ATTACKERS, pytest.approx((1 / 40, 1 / 4)))
    reordered = rates_of(measured(same, ["tea please", "please tea", "me at noon"]))
    assert reordered["by_words"] == pytest.approx((2 / 3, 1.0))  # the order of the words is not used


class Constant(wv.Laplace):
    """Answers every word with the first of the vocabulary."""

    def _perturb(self, ids: NDArray[np.int64], stream: wv.Stream) -> NDArray[np.int64]:
        return np.zeros_like(ids)


def test_texts_that_share_no_word_with_any_original_are_guessed(small: wv.Embedding) -> None:
    texts = ["tea please", "red house", "call me at noon", "the house is on fire", "now", *["a tea"] * 15]
    rates = rates_of(measured(wv.Perturber(Constant(small, 1.0)), texts))
    assert rates["by_words"] == pytest.approx((1 / 20, 10 / 20))
    assert rates["by_both"] == rates["by_length"] == pytest.approx((4 / 20, (17 * 10 / 17 + 3) / 20))


@pytest.mark.parametrize("bag", [False, True])
def test_padded_texts_have_no_length(bag: bool, same: wv.Perturber) -> None:
    texts = ["tea", "tea please", "a red house", "call me at noon now please", "call me at noon now tea"]
    perturber = wv.Perturber(same.mechanism, wv.Policy(pad_to=5, bag=bag))
    padded = measured(perturber, texts)
    assert padded.by_length.rank_1.share == pytest.approx(1 / 5)
    assert padded.by_both == padded.by_words
    if not bag:  # the last two are cut to the same words
        originals = [ids[:5] for ids in ids_of(perturber, texts)]
        private = ids_of(perturber, private_of(perturber, texts))
        assert same_rates(rates_of(padded), reference(originals, private, [5] * 5))
        assert padded.by_words.rank_1.share <= 4 / 5


@pytest.mark.filterwarnings("ignore::wordveil.PrivacyWarning")
@pytest.mark.parametrize(
    "options", [{}, {"bag": True}, {"unsafe_drop": True}, {"unsafe_mask": "xxx"}, {"unsafe_keep": True}]
)
def test_the_length_is_what_the_private_text_shows(options: dict[str, Any], same: wv.Perturber) -> None:
    texts = ["Tea qqq", "tea", "qqq", "Zzz QQQ tea please", "call me at qqq noon", "qqq zzz"]
    perturber = wv.Perturber(same.mechanism, wv.Policy(**options))
    shown = [len(text.split()) for text in private_of(perturber, texts)]
    assert measured(perturber, texts).by_length.rank_1.share == pytest.approx(len(set(shown)) / len(texts))
    originals = ids_of(perturber, texts)
    if "unsafe_drop" in options:
        originals = [[number for number in ids if number >= 0] for ids in originals]
    private = ids_of(perturber, private_of(perturber, texts))
    assert same_rates(rates_of(measured(perturber, texts)), reference(originals, private, shown))


def test_at_a_tiny_epsilon_nobody_does_better_than_by_guessing() -> None:
    """Padded outputs then have one law, so the expected number of right guesses is 1 (top ten: 10) per run.

    n = 12 runs of 200 texts; by Chernoff's bound for sums of independent numbers in [0, 1] with means 12 and
    120, α < 1e-6 for 35 or more, and for less than 66 or more than 188. At ε = 8 there are far more.
    """
    texts = some_texts(200)
    hits = {}
    for epsilon in (1e-6, 8.0):
        perturber = wv.Perturber(wv.Laplace(EMB, epsilon), wv.Policy(pad_to=5))
        runs = [measure_linkage(perturber, texts, stream=wv.insecure_stream(seed)) for seed in range(12)]
        hits[epsilon] = np.array([rates_of(run)["by_words"] for run in runs]).sum(axis=0) * len(texts)
    for mean, limit in ((12, 35), (120, 66), (120, 188)):
        assert -mean + limit * (1 + math.log(mean / limit)) < math.log(1e-6)
    assert hits[1e-6][0] < 35
    assert 66 < hits[1e-6][1] < 188
    assert (hits[8.0] > [350, 1000]).all()


def test_missing_texts_and_texts_without_words_are_skipped(same: wv.Perturber) -> None:
    assert measure_linkage(same, iter(["tea please", None, "", " ?! ", "call me", "qqq"])).candidates == 3


def test_a_stream_repeats_the_result_without_a_warning(same: wv.Perturber) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert measured(same, some_texts(20), most=5) == measured(same, some_texts(20), most=5)


def chosen_pairs(sample: Callable[..., list[str]], perturber: wv.Perturber, draws: int) -> float:
    """Return the p-value of "every pair of six texts is chosen equally often"."""
    texts = ["tea", "", "call", "me", None, "at", "noon", "now"]
    stream = wv.insecure_stream(1)
    counts = Counter(frozenset(sample(perturber, texts, 2, stream)) for _ in range(draws))
    pairs = [frozenset(pair) for pair in combinations([text for text in texts if text], 2)]
    assert set(counts) <= set(pairs)
    return float(stats.chisquare([counts[pair] for pair in pairs]).pvalue)


def biased_sample(_: wv.Perturber, texts: list[str | None], most: int, stream: wv.Stream) -> list[str]:
    """Algorithm R with the classical mistake: the place is drawn from one number too few."""
    chosen: list[str] = []
    for seen, text in enumerate(filter(None, texts), 1):
        if seen <= most:
            chosen.append(text)
        elif (place := int(stream.integers(seen - 1, ()))) < most:
            chosen[place] = text
    return chosen


def test_every_choice_of_texts_is_equally_likely(same: wv.Perturber) -> None:
    """χ² over the 15 pairs with n = 3,000 draws: α = 1e-6; a place off by one is found."""
    assert chosen_pairs(sample_texts, same, 3000) > 1e-6
    assert chosen_pairs(biased_sample, same, 3000) < 1e-12


def test_no_more_texts_are_held_than_are_compared(same: wv.Perturber) -> None:
    size = 100_000
    texts: Iterator[str] = (f"tea {'.' * size}" for _ in range(400))
    measured(same, ["tea", "call me"])  # what the first call alone needs
    tracemalloc.start()
    measure_linkage(same, texts, most=5, stream=wv.insecure_stream(SEED))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200 * size  # all of them: 400 × size; cutting the 5 into words takes most of it


def test_20000_texts_need_little_memory_and_time() -> None:
    random = np.random.default_rng(1)
    words = [f"w{number}" for number in range(3000)]
    shares = 1.0 / np.arange(1, len(words) + 1)
    embedding = wv.Embedding(words, random.normal(size=(3000, 2)), public=True)
    perturber = wv.Perturber(wv.Laplace(embedding, 50.0))
    chosen = random.choice(words, (20_000, 5), p=shares / shares.sum())
    texts = [" ".join(row[: 1 + number % 5]) for number, row in enumerate(chosen)]
    measured(perturber, texts[:100])
    tracemalloc.start()
    start = time.process_time()
    result = measured(perturber, texts, most=20_000)
    seconds = time.process_time() - start
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert result.candidates == 20_000
    assert result.by_length.rank_1.share == pytest.approx(5 / 20_000)
    assert peak < 150e6  # a dense table of all scores: 3.2 GB
    assert seconds < 60.0  # of processor time; about 5 on an idle machine


@pytest.mark.parametrize(
    ("texts", "error", "match"),
    [
        ([], wv.FormatError, "at least two texts"),
        ([SECRET, None, "", "?!"], wv.FormatError, "at least two texts"),
        ([SECRET, SECRET.encode()], wv.ParameterError, r"Text 1 \(counted from 0\) must be a str"),
        (SECRET, wv.ParameterError, "'texts' parameter of measure_linkage must be a list of texts. Got a "),
    ],
)
def test_errors_hold_no_text(
    texts: Any, error: type[wv.WordveilError], match: str, same: wv.Perturber, check_sealed: Any
) -> None:
    with pytest.raises(error, match=match) as caught:
        measure_linkage(same, texts)
    check_sealed(caught.value, SECRET)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("most", [0, 1, 20_001, 2.5, True, "10"])
def test_bad_parameters_are_refused(most: Any, same: wv.Perturber) -> None:
    with pytest.raises(wv.ParameterError, match="'most' parameter of measure_linkage must be a whole number"):
        measure_linkage(same, ["tea", "call"], most=most)
    with pytest.raises(wv.ParameterError, match="'perturber' parameter of measure_linkage"):
        measure_linkage(most, ["tea", "call"])
    with pytest.raises(wv.ParameterError, match="'stream' parameter of measure_linkage"):
        measure_linkage(same, ["tea", "call"], stream=most)


def success(share: float) -> Success:
    return Success(Share(share, share - 0.0203, share + 0.0203), Share(1.0, 0.9, 1.0))


def test_the_sentence_and_the_facts() -> None:
    visible = Linkage(2000, success(0.2931), success(0.0412), success(0.5728))
    assert visible.sentence == (
        "Someone who has these 2,000 texts, and sees one of them in private form, picks the right one in 57% of "
        "cases (55% to 60%) by its words and its length, in 29% by words alone, in 4.1% by length alone; 0.05% by "
        "guessing. Private result, not for release."
    )
    padded = Linkage(20_000, success(1.0), success(1 / 20_000), success(1.0))
    assert "in 100% of cases" in padded.sentence
    assert "by its words (its length tells nothing); 0.005% by guessing." in padded.sentence
    facts = json.loads(json.dumps(visible.to_dict()))
    assert (facts["not_for_release"], facts["candidates"]) == (True, 2000)
    assert facts["by_both"]["rank_1"]["share"] == 0.5728
    assert facts["guessing"] == {"rank_1": 1 / 2000, "top_10": 10 / 2000}
    assert facts.keys() == {"not_for_release", "candidates", *ATTACKERS, "guessing", "sentence"}
    assert (Linkage(4, *[success(0.5)] * 3)).guessing == (0.25, 1.0)


def test_real_messages(real_data: Path, glove: wv.Embedding) -> None:
    """SMS at 25 dimensions, ε = 6: 0.30 by words, 0.57 with the length, 0.035 by length alone (N = 2,000).

    The bands are wider than Hoeffding's for α = 1e-6 and n = 2,000 (±0.06), and allow for the choice of texts.
    """
    texts = load_labelled(real_data / "sms-spam.tsv").texts
    mechanism = wv.Laplace(glove.project(25), 6.0)
    open_lengths = rates_of(measured(wv.Perturber(mechanism), texts))
    assert open_lengths["by_words"] == pytest.approx((0.30, 0.54), abs=0.08)
    assert open_lengths["by_both"] == pytest.approx((0.57, 0.78), abs=0.08)
    assert open_lengths["by_length"] == pytest.approx((0.035, 0.21), abs=0.02)
    padded = rates_of(measured(wv.Perturber(mechanism, wv.Policy(pad_to=20)), texts))
    assert padded["by_both"] == padded["by_words"] == pytest.approx((0.26, 0.51), abs=0.08)
