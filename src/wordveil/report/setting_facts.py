"""The facts about a setting that `explain` tells: measured on public words, or counted in a private file."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from wordveil.attacker import guess_from_answers, guess_rate, word_exposures
from wordveil.embedding import Embedding, load_parent
from wordveil.errors import FormatError, MachineError
from wordveil.evaluation.fixed_neighbours import by_meaning
from wordveil.evaluation.privacy import reference_words, typical_stay, word_statistics
from wordveil.exposure import Exposure, watch
from wordveil.mechanisms import Mechanism
from wordveil.perturber import Perturber
from wordveil.prior import Prior
from wordveil.randomness import insecure_stream
from wordveil.tokens import split
from wordveil.watched_words import WATCHED_WORDS

__all__ = ["setting_facts", "text_facts", "word_facts"]

_NEIGHBOURS: Final = 5  # that are shown of a word
_BY_MEANING: Final = 10  # words nearest in meaning, as in the columns of the experiments
_WATCH_DRAWS: Final = 40  # for each watched word: its interval reaches at most 0.16 to each side
_SPREAD_WORDS: Final = 160  # drawn by use, so that eight of them are above the 95th percentile
_SPREAD_DRAWS: Final = 20  # of each: steps of 5%, fine enough for percentiles over words


def setting_facts(
    perturber: Perturber, vectors: Embedding, exposure: Exposure, watch_list: Mapping[str, str]
) -> dict[str, Any]:
    """Return what a setting promises and what an attacker gains.

    `vectors` are those that the mechanism may use a projection of, `watch_list` has a user's words by topic.
    """
    mechanism, prior = perturber.mechanism, exposure.prior
    facts: dict[str, Any] = {
        "setting": mechanism.setting(),
        "guarantee": perturber.guarantee.to_dict(),
        "attacker": exposure.to_dict()
        | {
            "content_words": guess_rate(mechanism, prior.content()).to_dict(),
            "from_answers_at_least": guess_from_answers(mechanism, prior)._asdict(),
        },
        "spread": _spread(mechanism, prior),
        "watched": [
            word._asdict() | {"largest": word.largest, "exposed": word.is_exposed}
            for topics in (WATCHED_WORDS, watch_list)
            for word in watch(mechanism, prior, topics, _WATCH_DRAWS)
        ],
        "watched_without_vector": sum(word not in mechanism.embedding for word in watch_list),
        # Only public words are drawn here, so a seed is no secret, and the answer is the same each time.
        "typical_stay": typical_stay(mechanism, insecure_stream(0))._asdict(),
    }
    if _parent_of(mechanism.embedding) is not None:
        facts["exponent_by_meaning"] = by_meaning(mechanism)
    factor = perturber.guarantee.word.projection_factor(vectors)
    if factor is not None:
        facts["projection_factor"] = factor
    return facts


def _spread(mechanism: Mechanism, prior: Prior) -> dict[str, Any]:
    """Return the percentiles of how often a word is recognised, over words drawn by their use."""
    stream = insecure_stream(0)
    ids = prior.draw(stream.uniforms((_SPREAD_WORDS,)))
    exposures = word_exposures(mechanism, prior, ids[ids >= 0], draws=_SPREAD_DRAWS, stream=stream)
    p5, p50, p95 = np.quantile(exposures.largest, [0.05, 0.5, 0.95]).tolist()
    return {"p5": p5, "p50": p50, "p95": p95, "words": int((ids >= 0).sum()), "draws": _SPREAD_DRAWS}


def _parent_of(embedding: Embedding) -> Embedding | None:
    """Return the vectors that a map or a projection was made from, if they are on this machine."""
    try:
        parent = load_parent(embedding)
    except MachineError:
        return None
    return None if parent is embedding else parent


def word_facts(mechanism: Mechanism, word: str, draws: int, prior: Prior) -> dict[str, Any]:
    """Return what becomes of a public word, its nearest words, and a dense and a sparse region beside it."""
    tokens = split(word)
    folded = tokens[0] if len(tokens) == 1 else word
    stream = insecure_stream(0)
    facts = word_statistics(mechanism, folded, draws, stream).to_dict()
    dense, sparse = reference_words(mechanism.embedding)
    recognised = watch(mechanism, prior, {folded: "asked for"}, draws)[0]
    parent = _parent_of(mechanism.embedding)
    return facts | {
        "named": recognised.named,
        "named_if_uniform": recognised.named_if_uniform,
        "largest": recognised.largest,
        "neighbours": [
            {"word": neighbour, "exponent": exponent}
            for neighbour, exponent in mechanism.guarantee.nearest(folded, _NEIGHBOURS)
        ],
        "by_meaning": [
            {"word": near, "cosine": cosine, "exponent": mechanism.guarantee.exponent(folded, near)}
            for near, cosine in parent.neighbours(folded, _BY_MEANING)
        ]
        if parent is not None
        else [],
        "dense": word_statistics(mechanism, dense, draws, stream, most=1).to_dict(),
        "sparse": word_statistics(mechanism, sparse, draws, stream, most=1).to_dict(),
    }


def text_facts(perturber: Perturber, texts: Iterable[str | None], name: str) -> dict[str, Any]:
    """Return what is promised for these texts together; these counts are not for release."""
    lengths, unknown = [], 0
    for text in texts:
        ids = [] if text is None else perturber.tokenizer.ids(text)
        lengths.append(len(ids))
        unknown += ids.count(-1)
    if not lengths:
        raise FormatError(f"{name}: has no texts.")
    median, most = float(np.median(lengths)), max(lengths)
    pad_to = perturber.policy.pad_to
    worst = perturber.guarantee.word.worst_case.upper
    perturbed = {"median": median, "most": most} if pad_to is None else {"median": pad_to, "most": pad_to}
    return {
        "not_for_release": True,
        "texts": len(lengths),
        "words": sum(lengths),
        "unknown_words": unknown,
        "words_a_text": {"median": median, "most": most},
        "worst_case_exponent": {name: length * worst for name, length in perturbed.items()},
    }
