"""Whether something happens more often than by chance, where chance is what the mechanism itself does.

The mechanism is drawn directly, with streams that share nothing, which bounds the rate of chance from above.
A perturber or a run that keeps words, or that shares noise, has a larger rate. Words differ in their rates;
each word is drawn equally often on both sides, and then the binomial law has the heavier tail (Hoeffding
1956).
"""

from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, binom

from wordveil.evaluation.audit_confusion import claims_confusion
from wordveil.mechanisms import Mechanism
from wordveil.randomness import RunKey

__all__ = ["ALPHA", "Rate", "agreement_rate", "stay_rate"]

ALPHA: Final = 1e-6  # for each check that compares rates
ROUNDS: Final = 20  # direct draws, for each answer that is compared
_NO_CHANCE: Final = 0.95  # a rate above this is not chance

Ids = NDArray[np.int64]


class Rate(NamedTuple):
    """How often something happens by chance: at most `limit`, with an error of half of `ALPHA`."""

    hits: int
    draws: int
    should_vary: bool = True
    """Whether it is known, as by the claim of a mechanism, that it does not happen nearly always."""

    @property
    def limit(self) -> float:
        """The upper end of the Clopper-Pearson interval."""
        if self.hits == self.draws:
            return 1.0
        return float(beta.isf(ALPHA / 2.0, self.hits + 1, self.draws - self.hits))

    @property
    def is_chance(self) -> bool:
        """Whether it happens by chance at all, and not nearly always."""
        return self.hits < _NO_CHANCE * self.draws

    def most(self, draws: int, tries: int = 1) -> int:
        """Return the largest number of hits that chance explains, for the best of some tries."""
        return int(binom.isf(ALPHA / 2.0 / tries, draws, self.limit))

    def power(self, share: float, draws: int, tries: int = 1) -> float:
        """Return the power to detect that a share of the draws are hits for another reason.

        Examples
        --------
        >>> Rate(300, 10_000).power(0.1, 1600) > 0.999, Rate(300, 10_000).power(0.001, 1600) < 0.1
        (True, True)
        """
        low = (
            float(beta.ppf(ALPHA / 2.0, max(self.hits, 1), self.draws - self.hits + 1)) if self.hits else 0.0
        )
        return float(binom.sf(self.most(draws, tries), draws, low + share * (1.0 - low)))


def stay_rate(mechanism: Mechanism, ids: Ids, key: RunKey) -> Rate:
    """Return how often the mechanism answers a word with itself."""
    answers = mechanism.perturb_ids(np.tile(ids, ROUNDS), stream=key.stream("audit", "stays"))
    return Rate(int((answers == np.tile(ids, ROUNDS)).sum()), answers.size)


def agreement_rate(mechanism: Mechanism, ids: Ids, key: RunKey) -> Rate:
    """Return how often two draws of the mechanism, with streams of their own, agree on the same word."""
    repeated = np.tile(ids, ROUNDS)
    first, second = (
        mechanism.perturb_ids(repeated, stream=key.stream("audit", "agreement", number))
        for number in range(2)
    )
    return Rate(int((first == second).sum()), repeated.size, claims_confusion(mechanism))
