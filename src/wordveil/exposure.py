"""What a setting is worth against a guessing attacker: one headline, sensitive words, and a warning."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from wordveil.attacker import GuessRate, guess_rate, word_exposures
from wordveil.cache import cached_json_about
from wordveil.intervals import Share
from wordveil.mechanisms import Mechanism
from wordveil.prior import Prior, default_prior
from wordveil.profiles import is_profile
from wordveil.randomness import Stream, insecure_stream
from wordveil.rounding import percent, percent_range
from wordveil.shared import PerEmbedding
from wordveil.watched_words import WATCHED_WORDS

__all__ = ["Exposure", "WatchedWord", "knows", "measure_exposure", "watch"]

_GUESSED: Final = 0.5  # someone who reads every other word can guess many of the rest
_EXPOSED: Final = 0.8  # a word that is recognised four times out of five is hardly hidden
_MANY: Final = 0.1  # of the watched words
# Draws for each watched word. Words that the first 8 hide three times get no more: at a sound setting that is
# most of them. A word that is recognised 85% of the time passes with probability 0.89.
_WATCH_DRAWS: Final = 25
_FIRST_DRAWS: Final = 8
_DRAWS: Final = 1000  # words of running text: the interval reaches about 0.03 to each side
_KNOWS: Final = {
    "english": "knows how often English words are used",
    "rank-based": "knows how often words are used (rank-based: guessed from the order of the vectors)",
    "uniform": "thinks that all words are equally frequent",
}


class WatchedWord(NamedTuple):
    """A word on a sensitive topic, and how often it is recognised."""

    word: str
    topic: str
    named: float
    named_if_uniform: float
    unchanged: float
    draws: int

    @property
    def largest(self) -> float:
        """The largest of the three shares."""
        return max(self.named, self.named_if_uniform, self.unchanged)

    @property
    def is_exposed(self) -> bool:
        """Whether the word was recognised in more than four of five draws."""
        return self.largest > _EXPOSED


@dataclass(frozen=True)
class Exposure:
    """How often the best guess of an attacker is right, on average and for words on sensitive topics.

    Attributes
    ----------
    prior : Prior
        How often words are used, which the attacker knows.
    sees : str
        What the attacker sees, as the end of a sentence.
    rate : GuessRate
        How often the best guess is right, for a word of running text.
    watched : int
        How many of the built-in words on sensitive topics the vocabulary has.
    exposed : tuple of str
        Those that were recognised in more than four of five draws.
    documented : bool
        Whether the setting is a profile, whose exposed words are documented.
    """

    prior: Prior
    sees: str
    rate: GuessRate
    watched: int
    exposed: tuple[str, ...]
    documented: bool

    @property
    def attacker(self) -> str:
        """Who guesses, as the start of a sentence."""
        return f"Someone who {knows(self.prior.name)}, and {self.sees},"

    @property
    def headline(self) -> str:
        """One sentence on what the setting is worth."""
        success, alone = self.rate.success, percent(self.rate.alone)
        if self.rate.exact:
            cases = f"in {percent(success.share)} of cases ({percent_range(success)})"
        else:
            cases = f"in {percent_range(success)} of cases (bounds by draws: there is no closed form)"
        return f"{self.attacker} names the word {cases}; {alone} by guessing alone. Context can raise this."

    @property
    def warning(self) -> str:
        """Why the setting protects little; empty if it does not, or if it is a documented profile."""
        if self.documented:
            return ""
        if self.rate.success.low > _GUESSED:
            reason = (
                f"the best guess is right in at least {percent(self.rate.success.low, down=True)} of cases"
            )
        elif len(self.exposed) > _MANY * self.watched:
            reason = (
                f"{len(self.exposed)} of {self.watched} words on sensitive topics are recognised more than "
                f"four times out of five ({_WATCH_DRAWS} draws each)"
            )
        else:
            return ""
        return (
            f"This setting protects little: {reason}. Hint: --profile balanced, or a smaller --epsilon; "
            "'wordveil explain' shows what a setting does."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the same facts as plain JSON values, which may be published: they are about public words."""
        return {
            "sees": self.sees,
            "best_guess": self.rate.to_dict(),
            "prior": {
                "name": self.prior.name,
                "fingerprint": self.prior.fingerprint,
                "declared_public": self.prior.declared_public,
            },
            "sensitive_words": {"watched": self.watched, "exposed": len(self.exposed)},
        }


def knows(prior_name: str) -> str:
    """Return what an attacker with that prior knows, as a part of a sentence."""
    return _KNOWS.get(prior_name, "knows the counts of words that were used")


_exposures: Final = PerEmbedding[Exposure](most=8)


def measure_exposure(mechanism: Mechanism, prior: Prior | None = None) -> Exposure:
    """Return what a setting is worth; computed once for each setting. The default prior is that of English.

    Only public words are drawn, from a fixed seed, so the result is the same every time.

    Examples
    --------
    >>> import wordveil as wv
    >>> emb = wv.load_embedding().project(5)
    >>> measure_exposure(wv.Laplace(emb, epsilon=1e9)).warning[:35]
    'This setting protects little: the b'
    >>> measure_exposure(wv.Laplace(emb, epsilon=1.0)).warning
    ''
    """
    prior = default_prior(mechanism.embedding) if prior is None else prior
    key = (
        type(mechanism),  # not its name: in a notebook, a class is defined again with the same one
        json.dumps(mechanism.setting(), sort_keys=True),
        prior.name,
        prior.fingerprint,
        prior.declared_public,
    )
    return _exposures.get(mechanism.embedding, key, lambda: _prepared(mechanism, prior))


def _prepared(mechanism: Mechanism, prior: Prior) -> Exposure:
    """Return what was measured before, if that could be kept: it follows from public data and our code."""
    if type(mechanism).__module__.startswith("wordveil.") and prior.declared_public:
        key = {
            "mechanism": type(mechanism).__qualname__,
            "setting": json.dumps(mechanism.setting(), sort_keys=True),
            "prior": prior.fingerprint,
            "words": hashlib.sha256(json.dumps(WATCHED_WORDS).encode()).hexdigest(),
            "draws": f"{_DRAWS}, {_FIRST_DRAWS}, {_WATCH_DRAWS}",
        }
        measured = cached_json_about(
            mechanism.embedding, "exposure", key, lambda: _measured(mechanism, prior)
        )
    else:
        measured = _measured(mechanism, prior)
    share, low, high, alone, draws, is_exact = measured["rate"]
    channel = mechanism.valid_channel()
    suspects = [WatchedWord(*facts) for facts in measured["suspects"]]
    return Exposure(
        prior,
        "sees the answers" if channel is None else channel.sees,
        GuessRate(Share(share, low, high), alone, draws, is_exact),
        measured["watched"],
        tuple(word.word for word in suspects if word.is_exposed),
        documented=_is_english(prior, mechanism) and is_profile(mechanism),
    )


def _measured(mechanism: Mechanism, prior: Prior) -> dict[str, Any]:
    """Return what takes time, as plain JSON values."""
    first = watch(mechanism, prior, WATCHED_WORDS, _FIRST_DRAWS)
    suspects = {word.word: word.topic for word in first if word.largest > 1.0 - 2.5 / _FIRST_DRAWS}
    seed = insecure_stream(1)  # other draws than the first, which the suspects were chosen by
    again = watch(mechanism, prior, suspects, _WATCH_DRAWS, seed)
    rate = guess_rate(mechanism, prior, draws=_DRAWS)
    return {
        "rate": [*rate.success, rate.alone, rate.draws, rate.exact],
        "watched": len(first),
        "suspects": [list(word) for word in again],
    }


def _is_english(prior: Prior, mechanism: Mechanism) -> bool:
    """Say whether a prior is that of English; its name alone could be anybody's."""
    english = default_prior(mechanism.embedding)
    return prior.name == english.name == "english" and prior.fingerprint == english.fingerprint


def watch(
    mechanism: Mechanism, prior: Prior, topics: Mapping[str, str], draws: int, stream: Stream | None = None
) -> tuple[WatchedWord, ...]:
    """Return how often each of these words is recognised, the most exposed first; unknown ones are left out.

    Examples
    --------
    >>> import wordveil as wv
    >>> emb = wv.load_embedding().project(10)
    >>> words = watch(wv.Laplace(emb, 6.0), wv.Prior.english(emb), {"pregnant": "health", "the": "other"}, 50)
    >>> words[0].word
    'pregnant'
    """
    ids = {word: mechanism.embedding.id_of(word) for word in topics}
    known = [word for word, number in ids.items() if number is not None]
    if not known:
        return ()
    shares = word_exposures(
        mechanism, prior, np.array([ids[word] for word in known]), draws=draws, stream=stream
    )
    words = [
        WatchedWord(word, topics[word], float(named), float(if_uniform), float(unchanged), draws)
        for word, named, if_uniform, unchanged in zip(known, *shares[:3], strict=True)
    ]
    return tuple(sorted(words, key=lambda word: -word.largest))
