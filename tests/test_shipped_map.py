"""The shipped map keeps what docs/maps.md says of it, in small.

Where an attacker has about as much success (S on running text, content words and uniform words, each at most 0.02 below
10 principal axes at ε = 5.7, and none above) its answers are closer, watched words stay at most half as often, and no
attacker that the fit did not see gains more than 0.03 over what it gains on the axes. All draws come from fixed seeds:
8,000 words for each S (its standard error is below 0.005), 2,000 for closeness (0.011), 40 of each watched word (0.003
for their mean), 2,000 texts for linkage (0.011).
"""

import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import wordveil as wv
from wordveil.attacker import guess_from_answers, guess_rate, word_exposures
from wordveil.embedding.catalog import MAP_NAME
from wordveil.evaluation.closeness import Closeness, measure_closeness
from wordveil.evaluation.datasets import load_labelled
from wordveil.evaluation.linkage import measure_linkage
from wordveil.profiles import PROFILES
from wordveil.tokens import split
from wordveil.watched_words import WATCHED_WORDS


@pytest.fixture(scope="module")
def mapped() -> wv.Embedding:
    return wv.load_embedding(MAP_NAME)


@pytest.fixture(scope="module")
def on_map(mapped: wv.Embedding) -> wv.Laplace:
    return wv.Laplace(mapped, PROFILES["balanced"].epsilon)


@pytest.fixture(scope="module")
def on_axes(glove: wv.Embedding) -> wv.Laplace:
    return wv.Laplace(glove.project(10), 5.7)


@pytest.fixture(scope="module")
def english(mapped: wv.Embedding) -> wv.Prior:
    return wv.Prior.english(mapped)


def test_it_is_a_map_of_the_default_vectors(mapped: wv.Embedding, glove: wv.Embedding) -> None:
    assert mapped.is_map
    assert mapped.public
    assert (len(mapped), mapped.dim) == (len(glove), 10)
    assert mapped.words == glove.words
    assert mapped.provenance.parent == glove.fingerprint
    assert wv.embedding.load_parent(mapped).fingerprint == glove.fingerprint
    assert "seed 0" in mapped.provenance.preprocessing
    assert "prior english" in mapped.provenance.preprocessing
    mapped.verify()


def test_it_opens_in_milliseconds() -> None:
    start = time.process_time()
    wv.load_embedding(MAP_NAME).vector("boston")
    assert time.process_time() - start < 0.5  # 20 to 40 ms on a quiet machine


def test_the_attacker_gains_as_much_on_both(
    on_map: wv.Laplace, on_axes: wv.Laplace, english: wv.Prior, mapped: wv.Embedding
) -> None:
    for prior in (english, english.content(), wv.Prior.uniform(mapped)):
        first, second = (guess_rate(m, prior, draws=8000).success.share for m in (on_map, on_axes))
        assert second - 0.02 <= first <= second, prior.name


def test_attackers_that_the_fit_did_not_see_gain_little(
    on_map: wv.Laplace, on_axes: wv.Laplace, english: wv.Prior, mapped: wv.Embedding
) -> None:
    by_rank = wv.Prior.by_rank(mapped)
    first, second = (guess_rate(m, by_rank, draws=8000).success.share for m in (on_map, on_axes))
    assert first <= second + 0.03
    first, second = (guess_from_answers(m, english).share for m in (on_map, on_axes))
    assert first <= second + 0.03
    closest = [wv.Laplace(m.embedding, m.epsilon, answer="closest") for m in (on_map, on_axes)]
    first, second = (guess_from_answers(m, english).share for m in closest)
    assert first <= second + 0.03


def test_whoever_knows_the_messages_gains_little(
    on_map: wv.Laplace, on_axes: wv.Laplace, mapped: wv.Embedding, real_data: Path
) -> None:
    """How often each of their words is used; and which of 2,000 known messages a private one is."""
    messages = {
        name: load_labelled(real_data / name).texts for name in ("sms-spam.tsv", "disaster-tweets.csv")
    }
    counts = Counter(word for texts in messages.values() for text in texts for word in split(text))
    prior = wv.Prior.from_counts(mapped, counts, public=True, name="the messages")
    first, second = (guess_rate(m, prior, draws=8000).success.share for m in (on_map, on_axes))
    assert first <= second + 0.03
    for texts in messages.values():
        for pad_to in (None, 20):
            first, second = (
                link_texts(wv.Laplace(m.embedding, m.epsilon, answer="closest"), pad_to, texts)
                for m in (on_map, on_axes)
            )
            assert first <= second + 0.03


def link_texts(mechanism: wv.Laplace, pad_to: int | None, texts: list[str]) -> float:
    """Return how often the best guess of an attacker is right, who compares words and, unpadded, lengths."""
    perturber = wv.Perturber(mechanism, wv.Policy(pad_to=pad_to))
    linkage = measure_linkage(perturber, texts, most=2000, stream=wv.insecure_stream(0))
    return (linkage.by_both if pad_to is None else linkage.by_words).rank_1.share


def test_answers_are_closer(on_map: wv.Laplace, on_axes: wv.Laplace, english: wv.Prior) -> None:
    content = english.content()
    first, second = (measure_closeness(m, content) for m in (on_map, on_axes))
    assert first.near.share >= second.near.share + 0.20
    assert first.cosine.share > second.cosine.share > second.constant > second.random
    closest = measure_closeness(PROFILES["balanced"].load(), content)
    assert closest.near.share >= first.near.share + 0.15
    assert closest.cosine.share >= first.cosine.share + 0.05


def test_watched_words_stay_at_most_half_as_often(
    on_map: wv.Laplace, on_axes: wv.Laplace, english: wv.Prior, mapped: wv.Embedding
) -> None:
    ids = mapped.ids_of(WATCHED_WORDS)
    first, second = (word_exposures(m, english, ids, draws=40) for m in (on_map, on_axes))
    assert first.unchanged.mean() <= 0.5 * second.unchanged.mean()
    assert first.named.mean() < second.named.mean()
    assert first.largest.mean() < second.largest.mean()


def test_closeness_has_its_nulls(small: wv.Embedding) -> None:
    prior = wv.Prior.uniform(small)
    same = measure_closeness(wv.Laplace(small, 1e9), prior, draws=200)
    assert same.cosine.share == pytest.approx(1.0)
    assert same.unchanged.share == same.near.share == 1.0
    lost = measure_closeness(wv.Laplace(small, 1e-3), prior, draws=2000)
    assert lost.cosine.share == pytest.approx(lost.random, abs=0.15)
    assert isinstance(lost, Closeness)
    assert all(np.isfinite(value) for value in lost.to_dict().values() if isinstance(value, float))
