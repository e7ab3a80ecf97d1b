"""What an adversary who knows everything but the noise recovers: all attacks, over one or several settings.

Each success is reported with its null: what the same attacker reaches without the output. Attacks on words
use public words only. Attacks on texts need texts; what they find is about those texts, so it is private.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from wordveil.errors import FormatError, ParameterError, check_whole, sealed
from wordveil.evaluation.attacks_context import Bigrams, context_attacks
from wordveil.evaluation.attacks_linkage import linkage_attacks
from wordveil.evaluation.attacks_result import Attack, Attacks, EasyWord
from wordveil.evaluation.attacks_texts import attribute_attacks, release_attacks
from wordveil.evaluation.attacks_words import averaging, easiest_words, topic_prior, word_attacks
from wordveil.evaluation.linkage import remaining_ids, sample_texts
from wordveil.mechanisms import Mechanism
from wordveil.perturber import Perturber
from wordveil.prior import Prior, default_prior
from wordveil.randomness import Stream, secure_stream

__all__ = [
    "FEWEST",
    "GROUPS",
    "TEXT_GROUPS",
    "Attack",
    "Attacks",
    "Bigrams",
    "EasyWord",
    "attack",
    "topic_prior",
]

GROUPS: Final = ("words", "context", "linkage", "attributes", "averaging")
TEXT_GROUPS: Final = ("context", "linkage", "attributes")
RELEASES: Final = (1, 2, 4, 8)  # shows what each doubling adds
SIZES: Final = (100, 500, 2000)  # candidates, by judgement: from a team to a small town
_QUERIES: Final = 500  # texts that are traced back, of all candidates
_CONTEXT_TEXTS: Final = 200  # some 3,000 words of messages, which took 5 s at 10 dimensions
_DRAWS: Final = 1000  # words: a share is then within 0.031
FEWEST: Final = 4  # texts, and candidates: to choose among fewer says nothing about a setting


@sealed
def attack(
    perturbers: Sequence[Perturber],
    texts: Iterable[str] | None = None,
    *,
    groups: Sequence[str] = GROUPS,
    context: Bigrams | None = None,
    prior: Prior | None = None,
    draws: int = _DRAWS,
    queries: int = _QUERIES,
    sizes: Sequence[int] = SIZES,
    stream: Stream | None = None,
    watch: Callable[[int, int], None] = lambda *_: None,
) -> Attacks:
    """Return what attacks on these settings find.

    Parameters
    ----------
    perturbers : sequence of Perturber
        The settings, all of one vocabulary, without policies that copy words or punctuation.
    texts : iterable of str
        Texts to attack, at least 4 with words; without them only public words are attacked. Of more than the
        largest of `sizes`, a random choice is attacked.
    groups : sequence of str
        Which of "words", "context", "linkage", "attributes" and "averaging".
    context : Bigrams
        Which words follow each other in public text, for the attack with context.
    prior : Prior
        How often words are used (default: in English).
    draws, queries, sizes
        Words that are drawn; texts that are traced back; how many candidates there are, each at least 4.
    stream : Stream
        Where the noise of the texts comes from (default: a secure one).
    watch : callable
        Called with (settings done, all settings).

    Examples
    --------
    >>> import wordveil as wv
    >>> perturber = wv.Perturber(wv.Laplace(wv.load_embedding().project(5), epsilon=4.0))
    >>> result = attack([perturber], groups=["words"], draws=200)
    >>> result.is_private, result.attacks[0].name
    (False, 'best guess')
    """
    if not perturbers or not all(isinstance(perturber, Perturber) for perturber in perturbers):
        raise ParameterError("The 'perturbers' parameter of attack must be a list of Perturber.")
    if not groups or not set(groups) <= set(GROUPS):
        raise ParameterError(f"The groups of attacks are {', '.join(GROUPS)}.")
    if any(perturber.policy.keeps_layout for perturber in perturbers):
        raise ParameterError(
            "The policies of attack must not copy from the text. Hint: leave out their unsafe choices."
        )
    draws = check_whole(draws, "draws", "attack", 50)
    queries = check_whole(queries, "queries", "attack", 2)
    largest = max(check_whole(size, "sizes", "attack", FEWEST) for size in sizes)
    noise = secure_stream() if stream is None else stream
    chosen = [] if texts is None else _usable(perturbers[0], texts, largest, noise)
    attacks: list[Attack] = []
    for number, perturber in enumerate(perturbers):
        watch(number, len(perturbers))
        vocabulary = perturber.mechanism.embedding
        use = default_prior(vocabulary) if prior is None else prior
        attacks += _on_words(perturber, use, groups, draws)
        if chosen:
            attacks += _on_texts(perturber, chosen, use, groups, context, queries, sizes, noise)
    watch(len(perturbers), len(perturbers))
    if not attacks:
        raise ParameterError(
            f"None of the attacks is possible: {', '.join(groups)}. Hint: {', '.join(TEXT_GROUPS)} need "
            "texts, and context a model of public text, a mechanism with a channel, and no bag."
        )
    settings = {
        "settings": [perturber.mechanism.setting() for perturber in perturbers],
        "draws": draws,
        "texts": len(chosen),
        "queries": min(queries, len(chosen)),
        "groups": list(groups),
    }
    easiest = _easiest(perturbers[-1].mechanism, prior) if "words" in groups else ()
    return Attacks(settings, tuple(attacks), easiest, is_private=bool(chosen))


def _usable(perturber: Perturber, texts: Iterable[str], most: int, stream: Stream) -> list[str]:
    """Return at most `most` of the texts that contain words, at random and in random order.

    Files are often sorted, and the first texts of a sorted file are alike.
    """
    sample = sample_texts(perturber, texts, most, stream)
    chosen = [sample[number] for number in stream.permutation(len(sample))]
    if not chosen:
        raise FormatError(
            "The column of texts has no words. Hint: choose another one, or leave the texts out to attack "
            "public words."
        )
    if len(chosen) < FEWEST:
        raise FormatError(f"Attacks need at least {FEWEST} texts that contain words. Hint: more texts.")
    return chosen


def _easiest(mechanism: Mechanism, prior: Prior | None) -> tuple[EasyWord, ...]:
    return easiest_words(mechanism, default_prior(mechanism.embedding) if prior is None else prior)


def _on_words(perturber: Perturber, prior: Prior, groups: Sequence[str], draws: int) -> list[Attack]:
    attacks: list[Attack] = []
    if "words" in groups:
        attacks += word_attacks(perturber.mechanism, prior, draws)
    if "averaging" in groups:
        attacks += averaging(perturber.mechanism, prior, draws, RELEASES)
    return attacks


def _on_texts(
    perturber: Perturber,
    texts: list[str],
    prior: Prior,
    groups: Sequence[str],
    context: Bigrams | None,
    queries: int,
    sizes: Sequence[int],
    stream: Stream,
) -> list[Attack]:
    attacks: list[Attack] = []
    policy = perturber.policy
    if "context" in groups and context is not None and not policy.bag:  # a bag hides what follows what
        words = [remaining_ids(perturber.tokenizer.ids(text), policy) for text in texts[:_CONTEXT_TEXTS]]
        attacks += context_attacks(perturber.mechanism, context, words, prior)
    if "linkage" in groups:
        attacks += linkage_attacks(perturber, texts, queries=queries, sizes=sizes, stream=stream)
    if "attributes" in groups:
        attacks += attribute_attacks(perturber, texts[: 4 * queries], prior, stream)
    if "averaging" in groups:
        attacks += release_attacks(perturber, texts, queries, RELEASES, stream)
    return attacks
