"""Attacks on single words of public use: the best guess, weaker and stronger attackers, repeated releases."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wordveil.attacker import (
    best_guesses,
    guess_from_answers,
    guess_rate,
    in_row_blocks,
    largest_posteriors,
    word_blocks,
    word_exposures,
)
from wordveil.evaluation.attacks_result import Attack, EasyWord
from wordveil.intervals import clopper_pearson, mean_share
from wordveil.mechanisms import Channel, Mahalanobis, Mechanism
from wordveil.prior import Prior
from wordveil.randomness import insecure_stream
from wordveil.rounding import at_most
from wordveil.watched_words import WATCHED_WORDS

__all__ = ["averaging", "each_posterior", "easiest_words", "log_shares", "topic_prior", "word_attacks"]

TOPIC_SPREAD: Final = 1.0  # of the log of a word's use: a topic changes it by a factor of e, up or down
_TOPICS: Final = 8  # changed priors
_EXPONENT_DRAWS: Final = 200  # where the surrogate has no closed form, each draw takes all words
_ROWS: Final = 64  # posteriors at a time: 17 MB for the default vocabulary
_SCREENED: Final = 400  # frequent content words, of which the easiest are looked for
_KEPT: Final = 40  # of those, drawn again with more draws: a first look is too rough to order them
_NEIGHBOURS: Final = 10  # with the smallest exponents, as many as other reports count
_FIRST, _AGAIN = 12, 60  # draws of each of them

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]


def log_shares(prior: Prior) -> Floats:
    """Return the logarithm of each share, -inf for 0."""
    with np.errstate(divide="ignore"):
        return np.log(prior.shares)


def each_posterior(
    channel: Channel, seen: Sequence[NDArray[Any]], log_prior: Floats, use: Callable[[slice, Floats], None]
) -> None:
    """Call `use` with blocks of rows and their posteriors over all words, from one or several releases."""

    def measure(block: slice) -> None:
        for start in range(block.start, block.stop, _ROWS):
            rows = slice(start, min(start + _ROWS, block.stop))
            scores = np.tile(log_prior, (rows.stop - rows.start, 1))
            for release in seen:
                for words in word_blocks(len(log_prior)):
                    scores[:, words] += channel.log_likelihoods(release[rows], words)
            scores -= scores.max(axis=1, keepdims=True)
            np.exp(scores, out=scores)
            scores /= scores.sum(axis=1, keepdims=True)
            use(rows, scores)

    in_row_blocks(len(seen[0]), measure)


def word_attacks(mechanism: Mechanism, prior: Prior, draws: int) -> list[Attack]:
    """Return the attacks on words drawn from a prior that the attacker knows.

    Examples
    --------
    >>> import wordveil as wv
    >>> emb = wv.load_embedding().project(5)
    >>> attacks = word_attacks(wv.Laplace(emb, 4.0), wv.Prior.english(emb), 300)
    >>> [attack.name for attack in attacks][:2]
    ['best guess', 'best guess from answers']
    """
    rate = guess_rate(mechanism, prior, draws=draws)
    answers = guess_from_answers(mechanism, prior, draws=2 * draws)
    setting = mechanism.setting()
    bounds = {} if rate.exact else {"bounds": True}
    return [
        Attack("words", "best guess", rate.success, rate.alone, draws, setting | bounds),
        Attack("words", "best guess from answers", answers, rate.alone, 2 * draws, setting),
        _identity(mechanism, prior, draws),
        _surrogate(mechanism, prior, draws),
        *topic_prior(mechanism, prior, draws),
    ]


def _identity(mechanism: Mechanism, prior: Prior, draws: int) -> Attack:
    """Guess that every word has stayed."""
    stream = insecure_stream(11)
    ids = prior.draw(stream.uniforms((draws,)))
    hits = int((mechanism.perturb_ids(ids, stream=stream) == ids).sum())
    return Attack(
        "words", "the answer itself", clopper_pearson(hits, draws), prior.guess, draws, mechanism.setting()
    )


def _surrogate(mechanism: Mechanism, prior: Prior, draws: int) -> Attack:
    """Guess the word with the largest p(w)·exp(-e(w, answer)): from the claimed exponents alone."""
    stream = insecure_stream(12)
    # With additive noise, the likelihood of an answer's own vector is that of the claimed exponent.
    channel = mechanism.valid_channel() if isinstance(mechanism, Mahalanobis) else None
    draws = draws if channel is not None else min(draws, _EXPONENT_DRAWS)
    ids = prior.draw(stream.uniforms((draws,)))
    answers = mechanism.perturb_ids(ids, stream=stream)
    if channel is not None:
        guesses = best_guesses(channel, channel.of_answers(answers), len(prior.shares), [log_shares(prior)])[
            0
        ]
    else:
        words = np.append(np.arange(len(prior.shares) - 1), -1)
        exponents = np.stack([mechanism.guarantee.exponents(words, answer) for answer in answers])
        guesses = words[(log_shares(prior) - exponents).argmax(axis=1)]
    share = clopper_pearson(int((guesses == ids).sum()), draws)
    return Attack("words", "surrogate from ε·d alone", share, prior.guess, draws, mechanism.setting())


def topic_prior(
    mechanism: Mechanism, prior: Prior, draws: int, *, spread: float = TOPIC_SPREAD
) -> list[Attack]:
    """Return the attack by someone who knows the topic: each word's share times exp(σ·N(0, 1)).

    The words are drawn from the changed prior, as in texts about something, and the attacker knows it.
    Without a closed form there is no such attack.
    """
    channel = mechanism.valid_channel()
    if channel is None:
        return []
    stream = insecure_stream(13)
    values, alone = [], []
    for normals in stream.normals((_TOPICS, len(prior.shares))):
        weights = prior.shares * np.exp(spread * normals)
        topic = Prior("topic", weights / weights.sum(), prior.declared_public)
        ids = topic.draw(stream.uniforms((max(2, draws // _TOPICS),)))
        values.append(largest_posteriors(channel, channel.observe(ids, stream), topic))
        alone.append(topic.guess)
    success = mean_share(np.concatenate(values))
    count = sum(map(len, values))
    return [Attack("words", "topic prior", success, float(np.mean(alone)), count, mechanism.setting())]


def averaging(mechanism: Mechanism, prior: Prior, draws: int, releases: Sequence[int]) -> list[Attack]:
    """Return how the best guess grows with the number of releases of the same word."""
    channel = mechanism.valid_channel()
    if channel is None:
        return []
    stream = insecure_stream(14)
    ids = prior.draw(stream.uniforms((draws,)))
    seen = [channel.observe(ids, stream) for _ in range(max(releases))]
    attacks = []
    for count in releases:
        best = np.empty(draws)

        def use(rows: slice, posteriors: Floats, best: Floats = best) -> None:
            best[rows] = posteriors.max(axis=1)

        each_posterior(channel, seen[:count], log_shares(prior), use)
        setting = mechanism.setting() | {"releases": count}
        attacks.append(Attack("averaging", "best guess", mean_share(best), prior.guess, draws, setting))
    return attacks


def easiest_words(mechanism: Mechanism, prior: Prior, count: int = 10) -> tuple[EasyWord, ...]:
    """Return the content words that the best guess recovers most often, and why.

    They are chosen by a few draws from frequent content words and the watched words, and then drawn again.
    """
    embedding = mechanism.embedding
    order = np.argsort(-prior.shares[:-1], kind="stable")
    watched = [number for word in WATCHED_WORDS if (number := embedding.id_of(word)) is not None]
    pool = np.unique(np.append(order[prior.function_words :][:_SCREENED], watched).astype(np.int64))
    first = word_exposures(mechanism, prior, pool, draws=_FIRST, stream=insecure_stream(15)).named
    kept = pool[np.argsort(-first, kind="stable")[:_KEPT]]
    named = word_exposures(mechanism, prior, kept, draws=_AGAIN, stream=insecure_stream(16)).named
    best = np.argsort(-named, kind="stable")[:count]
    usual = float(np.median([_tenth(mechanism, int(word)) for word in pool[:: max(1, len(pool) // 15)]]))
    return tuple(
        EasyWord(
            embedding.words[kept[i]], float(named[i]), _AGAIN, _why(mechanism, prior, int(kept[i]), usual)
        )
        for i in best
    )


def _exponents(mechanism: Mechanism, word: int) -> Floats:
    return mechanism.guarantee.exponents(word, np.arange(len(mechanism.embedding)))


def _nearest(mechanism: Mechanism, word: int) -> Ids:
    """Return the ten words with the smallest exponents to a word, without the word itself."""
    order = np.argsort(_exponents(mechanism, word), kind="stable")
    return np.asarray(order[order != word][:_NEIGHBOURS])


def _tenth(mechanism: Mechanism, word: int) -> float:
    """Return the exponent of a word to its tenth nearest word: how isolated it is."""
    return float(_exponents(mechanism, word)[_nearest(mechanism, word)[-1]])


def _why(mechanism: Mechanism, prior: Prior, word: int, usual: float) -> str:
    """Return whether a word stands apart, and whether it is used more than the ten words around it."""
    exponent = _tenth(mechanism, word)
    rank = int((prior.shares[:-1] > prior.shares[word]).sum()) + 1
    around = float(prior.shares[_nearest(mechanism, word)].sum())
    share = float(prior.shares[word]) / max(around + float(prior.shares[word]), 1e-300)
    place = "isolated" if exponent > usual else "not isolated"
    use = "used more" if share > 0.5 else "not used more"
    return (
        f"{place}: its 10th neighbour is at e = {at_most(exponent)} (usually {at_most(usual)}); {use} "
        f"than its ten nearest words together ({share:.0%} of all their uses); number {rank:,} by use"
    )
