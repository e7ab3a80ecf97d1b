"""Attacks with the context of a word: against sums over all paths, and against counts by hand."""

import itertools

import numpy as np
import pytest

import wordveil as wv
from wordveil.evaluation.attacks_context import (
    Bigrams,
    _smoothed,
    _token_share,
    context_attacks,
    public_model,
)

from .attacked_texts import TEXTS, named


def test_forward_backward_is_the_sum_over_all_paths(small: wv.Embedding) -> None:
    random = np.random.default_rng(2)
    model = public_model(small, TEXTS)
    candidates = np.array([random.permutation(len(small))[:4] for _ in range(4)])
    likelihoods = random.random((4, 4))
    sums = np.zeros((4, 4))
    for path in itertools.product(range(4), repeat=4):
        words = [candidates[t, k] for t, k in enumerate(path)]
        weight = model.prior.shares[words[0]] * np.prod([likelihoods[t, k] for t, k in enumerate(path)])
        for a, b in itertools.pairwise(words):
            weight *= model.transitions(np.array([a]), np.array([b]))[0, 0]
        for t, k in enumerate(path):
            sums[t, k] += weight
    expected = candidates[np.arange(4), sums.argmax(axis=1)]
    np.testing.assert_array_equal(_smoothed(model, candidates, likelihoods), expected)


def test_transitions_are_probabilities(small: wv.Embedding) -> None:
    model = public_model(small, TEXTS)
    everything = np.arange(len(small) + 1)
    np.testing.assert_allclose(model.transitions(everything, everything).sum(axis=1), 1.0)
    assert (
        model.transitions(small.ids_of(["at"]), small.ids_of(["noon"]))
        > model.prior.shares[small.id_of("noon")]
    )
    counted = Bigrams.from_counts(small, {("at", "noon"): 3.0, ("at", "zanzibar"): 9.0}, model.prior)
    assert counted.transitions(small.ids_of(["at"]), small.ids_of(["noon"])) > 3.0 / 23.0
    with pytest.raises(wv.FormatError):
        public_model(small, [""])


def test_the_null_of_context_is_what_the_guess_scores_on_these_texts(small: wv.Embedding) -> None:
    """`at` is the likeliest word of the model, and one of five known words of the text; the others are unknown."""
    model = Bigrams.from_texts(small, TEXTS, wv.Prior.from_counts(small, {"at": 9, "tea": 1}, public=True))
    words = [[*small.ids_of(["tea", "at", "noon", "to", "me"]), -1, -1, -1]]
    attacks = context_attacks(wv.Mahalanobis(small, 1e9), model, words, wv.Prior.by_rank(small))
    context = named(attacks, "context of the public text")
    assert (context.null, context.count) == (0.2, 5)
    outside = named(attacks, "context of the public text, word outside the vocabulary")
    assert (outside.null, outside.count) == (0.0, 3)


def test_all_or_no_hits_in_few_texts_are_no_certainty() -> None:
    lengths = np.array([3, 2, 4, 1])
    low, high = _token_share(np.ones(10, bool), lengths).low, _token_share(np.zeros(10, bool), lengths).high
    assert low < 0.5 < high  # 4 texts: Clopper and Pearson have 0.40 and 0.60


def test_counts_of_a_pair_that_occurs_twice_are_added_up(small: wv.Embedding) -> None:
    first, second, third = small.words[:3]
    twice = public_model(small, [f"{first} {second} 1", f"{first} {third} 2", f"{first} {second} 2.5"])
    once = public_model(small, [f"{first} {second} 3.5", f"{first} {third} 2"])
    ids = np.arange(3)
    np.testing.assert_allclose(twice.transitions(ids, ids), once.transitions(ids, ids))
    np.testing.assert_allclose(twice.prior.shares, once.prior.shares)
