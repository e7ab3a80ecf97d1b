"""Calls of a few words: a path of their own must not leave words as they are, or share noise.

Most other checks draw thousands of words in one call, and people perturb one word or one sentence.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.evaluation.audit_confusion import WORDS
from wordveil.evaluation.audit_rates import ALPHA, Rate, agreement_rate, stay_rate
from wordveil.evaluation.audit_result import Check, not_tested
from wordveil.evaluation.audit_streams import differ, plain
from wordveil.mechanisms import Mechanism
from wordveil.perturber import Perturber
from wordveil.randomness import RunKey

__all__ = ["noisy_short_calls", "short_calls"]

GROUP: Final = "texts"
_LENGTHS: Final = (1, 2, 3)  # words of a call
_MORE_LENGTHS: Final = (*_LENGTHS, 5, 10, 20)  # where a call takes no time
_CALLS: Final = 200  # of each length, by ids and by text
_MORE_CALLS: Final = 5 * WORDS
_COPIED: Final = (0.1, 0.2, 0.5, 1.0)  # of the words of calls: the first that is found is named
_SURE: Final = 0.99  # the power from which on a mistake counts as found

Ids = NDArray[np.int64]


class _ShortCalls(NamedTuple):
    """The words of all calls of one length, and the answers of `perturb_ids` and of texts."""

    words: Ids
    by_ids: Ids
    by_text: Ids


def short_calls(perturber: Perturber, key: RunKey) -> list[Check]:
    """Return whether words stay in short calls at a setting no more often than in direct draws."""
    name = "no word stays more often in calls of one, two and three words"
    ids = _single_tokens(perturber, _CALLS)
    calls = [] if ids is None else list(_drawn(perturber, ids, _LENGTHS))
    if ids is None or not all(call.by_text.size for call in calls):
        return [not_tested(GROUP, name, "words do not leave one by one under this policy")]
    return [_stays(name, calls, stay_rate(perturber.mechanism, ids, key))]


def noisy_short_calls(perturber: Perturber, key: RunKey) -> list[Check]:
    """Return the same for a mechanism that confuses its words, and whether short calls share noise."""
    name = "no word stays more often in calls of up to twenty words"
    ids = np.arange(_MORE_CALLS) % WORDS
    calls = list(_drawn(perturber, ids, _MORE_LENGTHS))
    if not all(call.by_text.size for call in calls):
        return [not_tested(GROUP, name, "words do not leave one by one under this policy")]
    chance = agreement_rate(perturber.mechanism, np.tile(ids, sum(_LENGTHS)), key)
    runs = [np.concatenate([call.by_ids.ravel() for call in calls[: len(_LENGTHS)]])]
    runs += [np.concatenate([call.by_text.ravel() for call in calls[: len(_LENGTHS)]])]
    return [
        _stays(name, calls, stay_rate(perturber.mechanism, ids, key)),
        differ("short calls", runs, chance, GROUP, share=1.0 / sum(_LENGTHS)),
    ]


def _single_tokens(perturber: Perturber, count: int) -> Ids | None:
    """Return words from all over the vocabulary that are one token each; None if there is none."""
    embedding, policy = perturber.mechanism.embedding, perturber.policy
    tried = np.unique(np.linspace(0, len(embedding) - 1, 5 * count).astype(np.int64)).tolist()
    ids = [
        number
        for number in tried
        if perturber.tokenizer.ids(embedding.words[number]) == [number]
        and policy.remaining([number]) == [number]
    ]
    if not ids:
        return None
    return np.array(ids)[np.arange(count) * len(ids) // count if len(ids) >= count else np.arange(len(ids))]


def _drawn(perturber: Perturber, ids: Ids, lengths: tuple[int, ...]) -> Iterator[_ShortCalls]:
    """Perturb each word at each place of a call, so that all words are there equally often."""
    called = plain(perturber)
    mechanism: Mechanism = called.mechanism
    embedding = mechanism.embedding
    for length in lengths:
        words = np.stack([np.roll(ids, 7 * place) for place in range(length)], axis=1)
        by_ids = np.stack([mechanism.perturb_ids(call) for call in words])
        texts = [called(" ".join(embedding.words[number] for number in call)).split() for call in words]
        if any(len(text) != length for text in texts):
            yield _ShortCalls(words, by_ids, np.empty(0, np.int64))
        else:
            yield _ShortCalls(words, by_ids, np.stack([embedding.ids_of(text) for text in texts]))


def _stays(name: str, calls: list[_ShortCalls], chance: Rate) -> Check:
    tries = 2 * len(calls)
    stay = [
        max(int((answers == call.words).sum()) for answers in (call.by_ids, call.by_text)) for call in calls
    ]
    limits = [chance.most(call.words.size, tries) for call in calls]
    lengths = ", ".join(str(call.words.shape[1]) for call in calls)
    evidence = (
        f"in {len(calls[0].words)} calls each of {lengths} words, by ids and by text, at most "
        f"{', '.join(map(str, stay))} words stay; chance explains up to {', '.join(map(str, limits))}"
    )
    for copied in _COPIED:
        power = min(chance.power(copied, call.words.size, tries) for call in calls)
        if power >= _SURE:
            break
    mistake = f"a path for calls of one length that copies {copied:.0%} of their words"
    passed = all(count <= limit for count, limit in zip(stay, limits, strict=True))
    return Check(GROUP, name, passed, evidence, ALPHA, mistake, power)
