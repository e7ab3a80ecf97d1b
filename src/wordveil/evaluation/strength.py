"""How strongly a setting protects words, in one line, with a warning if it hardly protects them."""

from typing import Final, NamedTuple

from wordveil.evaluation.privacy import typical_stay
from wordveil.mechanisms import Mechanism
from wordveil.randomness import insecure_stream
from wordveil.rounding import at_least, at_most

__all__ = ["Strength", "strength"]

_WEAK_SHARE: Final = 0.5  # someone who reads every other word can guess the rest


class Strength(NamedTuple):
    """One line about a setting, and a warning; the warning is empty unless the setting hardly protects."""

    sentence: str
    warning: str

    @property
    def weak(self) -> bool:
        """Whether there is a warning."""
        return bool(self.warning)


def strength(mechanism: Mechanism) -> Strength:
    """Return how often public words come out unchanged, and what is proven.

    Only public words are drawn, so a fixed seed gives nothing away and the result is the same every time.

    Examples
    --------
    >>> import wordveil as wv
    >>> emb = wv.load_embedding().project(5)
    >>> strength(wv.Laplace(emb, epsilon=1.0)).weak, strength(wv.Laplace(emb, epsilon=1e9)).weak
    (False, True)
    """
    stays = typical_stay(mechanism, insecure_stream(0))
    near = mechanism.guarantee.neighbours[1].median
    share = f"{stays.share:.1%} of public words come out unchanged"
    interval = f"{at_least(100.0 * stays.low)}% to {at_most(100.0 * stays.high)}%"
    sentence = (
        f"{share} ({interval}, measured); proven: exp({at_most(near)}) at most between a typical word and "
        "its nearest one"
    )
    if stays.low <= _WEAK_SHARE:
        return Strength(sentence, "")
    return Strength(
        sentence,
        f"This setting protects next to nothing: {share}. Hint: a smaller --epsilon; 'wordveil explain' says "
        "what a setting does.",
    )
