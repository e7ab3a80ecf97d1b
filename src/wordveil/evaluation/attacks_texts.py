"""Attacks on whole texts besides linkage: for a watched word, and on several releases of one text."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wordveil.evaluation.attacks_linkage import by_channel, observe, ranked, tfidf_scores
from wordveil.evaluation.attacks_result import Attack
from wordveil.evaluation.attacks_words import each_posterior, log_shares
from wordveil.intervals import Share, clopper_pearson
from wordveil.perturber import Perturber
from wordveil.prior import Prior
from wordveil.randomness import Stream
from wordveil.watched_words import WATCHED_WORDS

__all__ = ["attribute_attacks", "release_attacks"]

_SAYS_YES: Final = 0.5  # the attacker says yes where a watched word is likelier than not


def attribute_attacks(
    perturber: Perturber, texts: Sequence[str], prior: Prior, stream: Stream, watched: Sequence[str] = ()
) -> list[Attack]:
    """Return precision and recall of "one of the watched words is in this text".

    One attacker looks whether an answer is a watched word; the other adds up the posteriors of the watched
    words, and says yes where one of them is likelier than not in the text. The null of the precision is the
    share of texts that have one; that of the recall is the share of texts that the attacker says yes to. A
    word that the policy cuts off is still in the text.
    """
    embedding = perturber.mechanism.embedding
    ids = embedding.ids_of(list(watched or WATCHED_WORDS))
    observed = observe(perturber, texts, len(texts), stream)
    is_watched = np.zeros(len(embedding) + 1, dtype=bool)
    is_watched[ids[ids >= 0]] = True
    truth = np.array([bool(is_watched[words].any()) for words in observed.complete])
    by_answers = np.array([bool(is_watched[words].any()) for words in observed.answers])
    setting = perturber.mechanism.setting() | {"pad_to": perturber.policy.pad_to}
    attacks = _precision_and_recall("answers", by_answers, truth, setting)
    channel = perturber.mechanism.valid_channel()
    if observed.seen is not None and channel is not None:
        masses = np.empty(int(observed.lengths.sum()))

        def use(rows: slice, posteriors: NDArray[np.float64]) -> None:
            masses[rows] = posteriors[:, is_watched].sum(axis=1)

        each_posterior(channel, [np.concatenate(observed.seen)], log_shares(prior), use)
        parts = np.split(masses, np.cumsum(observed.lengths)[:-1])
        likely = np.array([1.0 - float(np.prod(1.0 - np.clip(part, 0.0, 1.0))) for part in parts])
        attacks += _precision_and_recall("posteriors", likely > _SAYS_YES, truth, setting)
    return attacks


def _precision_and_recall(
    name: str, says: NDArray[np.bool_], truth: NDArray[np.bool_], setting: dict[str, Any]
) -> list[Attack]:
    right = int((says & truth).sum())
    base, positive = float(truth.mean()), float(says.mean())
    facts = {"precision": (int(says.sum()), base), "recall": (int(truth.sum()), positive)}
    return [
        Attack(
            "attributes",
            f"{name}, {title}",
            clopper_pearson(right, count) if count else Share(0.0, 0.0, 1.0),
            null,
            count,
            dict(setting),
        )
        for title, (count, null) in facts.items()
    ]


def release_attacks(
    perturber: Perturber, texts: Sequence[str], queries: int, releases: Sequence[int], stream: Stream
) -> list[Attack]:
    """Return how linkage grows with the number of releases of a text, by tf-idf and by the exact likelihood.

    The log-likelihoods of the releases add up, since their noise is independent.
    """
    queries = min(queries, len(texts))
    runs = [observe(perturber, texts, queries, stream) for _ in range(max(releases))]
    width = len(perturber.mechanism.embedding) + 1
    channel = perturber.mechanism.valid_channel()
    likelihoods = [
        by_channel(channel, run, run.seen, width)
        for run in runs
        if channel is not None and run.seen is not None
    ]
    attacks = []
    for count in releases:
        joined = [np.concatenate([run.answers[number] for run in runs[:count]]) for number in range(queries)]
        merged = runs[0]._replace(seen=None, answers=joined)
        scores = {"tf-idf": tfidf_scores(merged, width)}
        if likelihoods:
            scores["likelihood"] = np.sum(likelihoods[:count], axis=0)
        setting = perturber.mechanism.setting() | {"candidates": len(texts), "releases": count}
        for name, table in scores.items():
            ranks = ranked(name, table, np.arange(queries), setting, tops={"rank 1": 1})
            attacks += [replace(a, group="averaging", name=f"linkage by {a.name}") for a in ranks]
    return attacks
