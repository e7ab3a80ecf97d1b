"""Record linkage: to find which of N known texts made an output.

Four attackers, all of whom have the N originals and know the mechanism:
- *likelihood* sees the noisy vectors, and ranks the originals of the same length by their exact likelihood.
  No attacker who sees less does better on average, so this is an upper bound;
- *surrogate* sees words, and takes the vector of each answer for the noisy one;
- *learned* sees words, and has drawn answers to each word of the originals itself;
- *tf-idf* sees words, and compares them as a search engine would, among all originals.
Beside them: the length alone, and guessing.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.attacker import word_blocks
from wordveil.evaluation.attacks_result import Attack
from wordveil.evaluation.linkage import counts_of, remaining_ids, tfidf_rows
from wordveil.intervals import chernoff_share
from wordveil.mechanisms import Channel, Mechanism
from wordveil.perturber import Perturber
from wordveil.policy import UNKNOWN
from wordveil.private_report import PrivateReport
from wordveil.randomness import Stream

__all__ = ["Observed", "by_channel", "linkage_attacks", "observe", "ranked", "tfidf_scores"]

TOPS: Final = {"rank 1": 1, "top 10": 10}
_LEARNED: Final = 50  # draws of each word of the originals
_SMOOTH: Final = 1.0  # of all answers together, added to those of each word
_TIE: Final = 1e-9  # relative: equal scores differ by rounding
_GROUPS: Final = 3  # of texts by length

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]


class Observed(NamedTuple):
    """The originals, complete and as the policy leaves them, and what attackers see of the first of them.

    `words` are what the attackers know of an original, without padding. `originals` are padded or cut, place
    by place as in the output, except for a bag: it has no places, and keeps a random choice.
    """

    complete: list[list[int]]
    words: list[list[int]]
    originals: list[Ids]
    lengths: Ids
    queries: int
    seen: list[NDArray[np.float64]] | None
    answers: list[Ids]


def observe(perturber: Perturber, texts: Sequence[str], queries: int, stream: Stream) -> Observed:
    """Perturb the first `queries` of the texts as a release would, each at the place of its original."""
    policy, tokenizer = perturber.policy, perturber.tokenizer
    complete = [tokenizer.ids(text) for text in texts]
    words = [remaining_ids(ids, policy) for ids in complete]
    originals = [np.array(policy.fitted(ids, UNKNOWN), dtype=np.int64) for ids in words]
    lengths = np.array([len(ids) for ids in originals])
    counts = PrivateReport()
    sized = [policy.resized(ids, UNKNOWN, counts, stream) for ids in words[:queries]]
    flat = np.array(list(chain.from_iterable(sized)), dtype=np.int64)
    channel = perturber.mechanism.valid_channel()
    parts = np.cumsum(lengths[:queries])[:-1]
    if channel is None or policy.bag:
        flat_answers = perturber.mechanism.perturb_ids(flat, stream=stream)
        return Observed(complete, words, originals, lengths, queries, None, np.split(flat_answers, parts))
    seen = channel.observe(flat, stream)
    answers = np.split(channel.answers(seen), parts)
    return Observed(complete, words, originals, lengths, queries, np.split(seen, parts), answers)


def linkage_attacks(
    perturber: Perturber, texts: Sequence[str], *, queries: int, sizes: Sequence[int], stream: Stream
) -> list[Attack]:
    """Return all attackers at rank 1, in the top ten and by mean reciprocal rank, for each N of `sizes`.

    For the largest N also by the length of the text, in three groups of about equal size.
    """
    observed = observe(perturber, texts, min(queries, len(texts)), stream)
    scores = _all_scores(perturber, observed, stream)
    setting = perturber.mechanism.setting() | {"pad_to": perturber.policy.pad_to}
    attacks = []
    for size in sorted({min(size, len(texts)) for size in sizes}):
        rows = np.arange(min(observed.queries, size))
        for name, table in scores.items():
            attacks += ranked(name, table[rows, :size], rows, setting | {"candidates": size})
    lengths = observed.lengths[: observed.queries]
    for group in _groups_of(lengths):
        words = f"{lengths[group].min()} to {lengths[group].max()}"
        extra = setting | {"candidates": len(texts), "words": words}
        for name, table in scores.items():
            attacks += ranked(name, table[group], group, extra, tops={"rank 1": 1})
    return attacks


def _groups_of(lengths: Ids) -> list[Ids]:
    """Return the short, the middle and the long texts; texts of one length are in one group."""
    limits = np.sort(lengths)[[len(lengths) * number // _GROUPS for number in range(1, _GROUPS)]]
    numbers = np.searchsorted(limits, lengths, side="right")
    groups = [np.flatnonzero(numbers == number) for number in range(_GROUPS)]
    return [group for group in groups if 2 <= len(group) < len(lengths)]


def _all_scores(perturber: Perturber, observed: Observed, stream: Stream) -> dict[str, Floats]:
    """Return the scores of each attacker: one row per output, one column per original."""
    mechanism, policy = perturber.mechanism, perturber.policy
    channel = mechanism.valid_channel()
    size = len(mechanism.embedding) + 1
    scores = {}
    if observed.seen is not None and channel is not None:
        scores["likelihood"] = by_channel(channel, observed, observed.seen, size)
        plausible = [channel.of_answers(answers) for answers in observed.answers]
        scores["surrogate"] = by_channel(channel, observed, plausible, size)
    if not policy.bag:
        scores["learned"] = _by_learning(mechanism, observed, stream)
    scores["tf-idf"] = tfidf_scores(observed, size)
    same = observed.lengths[: observed.queries, None] == observed.lengths[None, :]
    scores["tf-idf and length"] = np.where(same, scores["tf-idf"], -1.0)
    scores["length alone"] = same.astype(np.float64)
    return scores


def _candidates(observed: Observed, length: int) -> tuple[Ids, Ids]:
    """Return which originals have that length, and their words."""
    which = np.flatnonzero(observed.lengths == length)
    return which, np.stack([observed.originals[number] for number in which])


def by_channel(channel: Channel, observed: Observed, seen: list[NDArray[np.float64]], size: int) -> Floats:
    """Rank by Σ log p(seen | word) over the places of a text; of `size` columns the last is the centroid."""
    scores = np.full((observed.queries, len(observed.originals)), -np.inf)
    for number in range(observed.queries):
        which, words = _candidates(observed, int(observed.lengths[number]))
        blocks = [channel.log_likelihoods(seen[number], block) for block in word_blocks(size)]
        table = np.concatenate(blocks, axis=1)
        scores[number, which] = table[np.arange(words.shape[1]), words].sum(axis=1)
    return scores


def _by_learning(mechanism: Mechanism, observed: Observed, stream: Stream) -> Floats:
    """Rank by Σ log(p(answer | word)/q(answer)), with p and q learned from draws of each word."""
    words = np.unique(np.concatenate(observed.originals))
    answers = mechanism.perturb_ids(np.repeat(words, _LEARNED), stream=stream).reshape(len(words), _LEARNED)
    size = len(mechanism.embedding)
    used = (np.bincount(answers.ravel(), minlength=size) + 1.0 / size) / (answers.size + 1.0)
    keys, counts = np.unique(np.arange(len(words))[:, None] * size + answers, return_counts=True)
    scores = np.full((observed.queries, len(observed.originals)), -np.inf)
    for number in range(observed.queries):
        which, texts = _candidates(observed, int(observed.lengths[number]))
        wanted = np.searchsorted(words, texts) * size + observed.answers[number]
        place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        hits = np.where(keys[place] == wanted, counts[place], 0)
        ratio = hits / used[observed.answers[number]] + _SMOOTH
        scores[number, which] = np.log(ratio / (_LEARNED + _SMOOTH)).sum(axis=1)
    return scores


def tfidf_scores(observed: Observed, width: int) -> Floats:
    """Return the cosines of tf-idf vectors; padding is not a word of an original."""
    known = counts_of(observed.words, width)
    seen = counts_of([ids.tolist() for ids in observed.answers], width)
    private, originals = tfidf_rows(seen, known)
    return np.asarray((private @ originals.T).toarray())


def ranked(
    name: str, scores: Floats, right: Ids, setting: dict[str, Any], tops: dict[str, int] = TOPS
) -> list[Attack]:
    """Return the success of one attacker; equal scores are in random order."""
    count = scores.shape[1]
    own = scores[np.arange(len(right)), right][:, None]
    slack = _TIE * np.maximum(1.0, np.abs(own))
    better = (scores > own + slack).sum(axis=1)
    same = (np.abs(scores - own) <= slack).sum(axis=1)
    attacks = [
        Attack(
            "linkage",
            f"{name}, {title}",
            chernoff_share(float(np.mean(np.clip(top - better, 0, same) / same)), len(right)),
            min(1.0, top / count),
            len(right),
            dict(setting),
        )
        for title, top in tops.items()
    ]
    if len(tops) > 1:
        harmonic = np.append(0.0, np.cumsum(1.0 / np.arange(1.0, count + 1.0)))
        reciprocal = (harmonic[better + same] - harmonic[better]) / same
        null = float(harmonic[-1]) / count
        attacks.append(
            Attack(
                "linkage",
                f"{name}, mean reciprocal rank",
                chernoff_share(float(reciprocal.mean()), len(right)),
                null,
                len(right),
                dict(setting),
            )
        )
    return attacks
