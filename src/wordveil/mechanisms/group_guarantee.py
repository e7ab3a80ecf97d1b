"""A promise that holds inside groups of words only."""

from abc import abstractmethod
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordveil.guarantee import Guarantee
from wordveil.metric import Bracket

__all__ = ["UNCOVERED", "GroupGuarantee"]

UNCOVERED: Final = 1e200
"""The exponent of a pair that nothing is promised about: printed as ∞. It is finite, so that it can be added
up and written as JSON."""


class GroupGuarantee(Guarantee):
    """Nothing is promised about words of different groups: the output shows the group of each word.

    Attributes
    ----------
    groups : array of shape (V + 1,)
        The group of each word; the last one is that of the centroid.
    """

    groups: NDArray[np.int64]

    @abstractmethod
    def _within(self, ids: NDArray[np.int64], others: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the exponents of pairs inside of groups."""

    def exponents(self, ids: ArrayLike, others: ArrayLike) -> NDArray[np.float64]:
        """Return the exponent of each pair of word ids; 1e200 where nothing is promised."""
        left, right = np.broadcast_arrays(np.asarray(ids, np.int64), np.asarray(others, np.int64))
        exponents = np.full(left.shape, UNCOVERED)
        covered = self.groups[left] == self.groups[right]
        exponents[covered] = self._within(left[covered], right[covered])
        return exponents

    @property
    def worst_case(self) -> Bracket:
        """No bound, if there is more than one group."""
        if len(np.unique(self.groups)) > 1:
            return Bracket(UNCOVERED, UNCOVERED)
        return self._worst_within()

    @abstractmethod
    def _worst_within(self) -> Bracket:
        """Return a bracket of the largest exponent, where all words are in one group."""

    @property
    def covered_share(self) -> float:
        """The share of all pairs of different words that anything is promised about."""
        counts = np.bincount(self.groups[:-1]).astype(np.float64)
        words = len(self.groups) - 1
        return float((counts * (counts - 1.0)).sum() / (words * (words - 1.0)))

    @property
    def not_covered(self) -> tuple[str, ...]:
        """What the output still shows of the input."""
        return ("which group of words each word is from", *super().not_covered)

    def to_dict(self) -> dict[str, Any]:
        """Return the same facts as plain JSON values."""
        groups = {"groups": len(np.unique(self.groups[:-1])), "covered_share_of_pairs": self.covered_share}
        return groups | super().to_dict()

    def _title(self) -> str:
        return (
            "Differential privacy inside groups of words only: the output shows the group of each word\n"
            f"  {len(np.unique(self.groups[:-1])):,} groups; {self.covered_share:.3%} of all pairs of words "
            f"are in one group, and nothing is promised about the others (∞ below)\n  {self._vocabulary()}"
        )
