"""A mechanism that confuses all of its words, so that answers rarely agree or stay unless noise is shared."""

from contextlib import suppress
from typing import Final

import numpy as np

from wordveil.embedding import Embedding
from wordveil.errors import ParameterError
from wordveil.evaluation.audit_black_box import Factory
from wordveil.mechanisms import Mechanism

__all__ = ["WORDS", "claims_confusion", "noisy_mechanism"]

WORDS: Final = 64  # of the made-up vocabulary: chance makes few answers equal, and a search takes no time
_EXPONENT: Final = 0.1  # between the farthest words: all answers are nearly equally likely
_CLOSE: Final = 2.0  # a largest exponent up to this many times that is small enough
_TRIES: Final = 4  # at an ε that is small enough: exponents may not be proportional to ε


def noisy_mechanism(make: Factory, epsilon: float) -> Mechanism:
    """Return the mechanism on a few words that it confuses nearly completely.

    The words are moved together. Where exponents do not depend on distances, ε is lowered.
    """
    places = np.random.default_rng(7).normal(size=(WORDS, 2))
    words = [f"{chr(97 + number // 26)}{chr(97 + number % 26)}word" for number in range(WORDS)]
    scale = 1.0
    for _ in range(2):
        embedding = Embedding(words, scale * places, public=True)
        mechanism = make(embedding, epsilon)
        largest = _largest_exponent(mechanism)
        if not np.isfinite(largest) or largest <= 0.0:
            return mechanism
        scale *= _EXPONENT / largest
    with suppress(ParameterError):  # a mechanism may refuse such an ε
        for _ in range(_TRIES):
            if claims_confusion(mechanism):
                break
            epsilon *= _EXPONENT / _largest_exponent(mechanism)
            mechanism = make(embedding, epsilon)
    return mechanism


def claims_confusion(mechanism: Mechanism) -> bool:
    """Say whether all words of a mechanism have nearly the same answers, by its claim.

    Examples
    --------
    >>> import wordveil as wv
    >>> claims_confusion(noisy_mechanism(lambda embedding, epsilon: wv.Laplace(embedding, epsilon), 5.0))
    True
    >>> claims_confusion(wv.Laplace(wv.Embedding(["tea", "ale"], [[0.0], [1.0]], public=True), 5.0))
    False
    """
    return _largest_exponent(mechanism) <= _CLOSE * _EXPONENT


def _largest_exponent(mechanism: Mechanism) -> float:
    ids = np.arange(len(mechanism.embedding))
    return float(mechanism.guarantee.exponents(ids[:, None], ids).max())
