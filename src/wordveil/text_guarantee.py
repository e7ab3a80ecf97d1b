"""What is promised about complete texts: the sum over their words, and what a policy leaves uncovered."""

import textwrap
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from wordveil.errors import ParameterError, sealed
from wordveil.guarantee import COLUMNS, EMPTY, LENGTH, ORDER, ROW_ORDER, Guarantee
from wordveil.policy import UNKNOWN, Policy
from wordveil.rounding import at_most
from wordveil.tokens import Tokenizer, check_text

__all__ = ["TextGuarantee"]

_WIDTH: Final = 100  # characters per line
_UNSAFE: Final = (
    "UNSAFE CHOICES WERE MADE: what follows holds only for texts that agree in everything that these choices "
    "reveal (see below)."
)


@dataclass(frozen=True, eq=False)
class TextGuarantee:
    """The promise for two texts of the same number of words: Σ ε·d over their words, position by position.

    With `bag` it is the smallest such sum over all matchings of their words. Where `pad_to` cuts both texts,
    it is the sum of the `pad_to` largest exponents of that matching. Texts of different lengths are covered
    only if they are padded to one length.

    Examples
    --------
    >>> import wordveil as wv
    >>> perturber = wv.Perturber(wv.Laplace(wv.load_embedding(), epsilon=1.0))
    >>> round(perturber.guarantee.exponent("fly to boston", "fly to chicago"), 2)
    4.21
    """

    word: Guarantee
    policy: Policy
    tokenizer: Tokenizer

    @sealed
    def exponent(self, text: str, other: str) -> float:
        """Return Σ ε·d between two texts: exp of it is how much the odds between them can change.

        Raises ParameterError if they have different numbers of words and are not padded to one.
        """
        if self.policy.unsafe:
            raise ParameterError(
                "With unsafe choices, texts can differ in what is copied verbatim, and no sum bounds that."
            )
        first, second = self._ids(check_text(text, 0)), self._ids(check_text(other, 1))
        if self.policy.pad_to is None and len(first) != len(second):
            raise ParameterError(
                "Texts of different numbers of words are not covered. Hint: pad_to makes them one length."
            )
        if self.policy.bag:
            return self._between_bags(first, second)
        first, second = (self.policy.fitted(ids, UNKNOWN) for ids in (first, second))
        return float(self.word.exponents(first, second).sum())

    def _ids(self, text: str) -> list[int]:
        return self.policy.remaining(self.tokenizer.ids(text))

    def _between_bags(self, first: list[int], second: list[int]) -> float:
        """Return the exponent between two bags of words: the least sum over the matchings of their words.

        Where padding cuts both, match their words: a random choice of words from one is as likely as the
        choice of their partners from the other, and no such choice has a larger sum than the largest
        exponents have. Where it cuts only one, every answer may come from any word.
        """
        from scipy.optimize import linear_sum_assignment

        length = max(len(first), len(second)) if self.policy.pad_to is None else self.policy.pad_to
        if len(first) != len(second) and max(len(first), len(second)) > length:
            return self.word.composed(length)
        size = max(len(first), length)
        padded = (self.policy.padded(ids, UNKNOWN, size) for ids in (first, second))
        rows, columns = (np.array(ids, np.int64) for ids in padded)
        exponents = self.word.exponents(rows[:, None], columns[None, :])
        matched = np.sort(exponents[linear_sum_assignment(exponents)])
        return float(matched[len(matched) - length :].sum())

    @property
    def not_covered(self) -> tuple[str, ...]:
        """What the output still shows of the input: of each word, by the policy, and of the text."""
        length = () if self._covers_lengths else (LENGTH, EMPTY)
        order = ROW_ORDER if self.policy.bag else ORDER
        return (*self.word.shown_of_words, *self.policy.revealed, *length, order, COLUMNS)

    @property
    def _covers_lengths(self) -> bool:
        return self.policy.pad_to is not None and not self.policy.unsafe

    def to_dict(self) -> dict[str, Any]:
        """Return the same facts as plain JSON values."""
        facts = self.word.to_dict() | {
            "not_covered": list(self.not_covered),
            "policy": self.policy.to_dict(),
            "covers_texts_of_different_lengths": self._covers_lengths,
        }
        if self.policy.pad_to is not None and self._covers_lengths:
            facts["local_dp_epsilon_per_text"] = self.word.composed(self.policy.pad_to)
        return facts

    def __str__(self) -> str:
        """Return the promise in readable form."""
        return "\n\n".join([self.word.about_words(), self._about_texts(), self._limits()])

    def _about_texts(self) -> str:
        rule = (
            "For two texts the exponents add up, over the matching of their words with the smallest sum; "
            "where only one of them is cut, every word counts with the largest exponent."
            if self.policy.bag and self.policy.pad_to is not None
            else "For two texts the exponents add up, over the matching of their words with the smallest sum."
            if self.policy.bag
            else "For two texts of the same number of words the exponents add up, word by word."
        )
        span = self._unpadded() if self.policy.pad_to is None else self._padded(self.policy.pad_to)
        parts = [_UNSAFE, rule, span] if self.policy.unsafe else [rule, span]
        return textwrap.fill(" ".join(parts), _WIDTH, break_on_hyphens=False)

    def _unpadded(self) -> str:
        one, ten = at_most(self.word.worst_case.upper), at_most(self.word.composed(10), 0)
        return (
            f"A text of n words has at most n × {one} in all (10 words: {ten}), and releasing it "
            "again adds as much again. Texts of different numbers of words are not covered, unless they are "
            "padded to one length (--pad-to)."
        )

    def _padded(self, length: int) -> str:
        return (
            f"Every text is padded or cut to {length} words, so any two texts are covered, by at most "
            f"{at_most(self.word.composed(length), 0)} in all; releasing a text again adds as much again."
        )

    def _limits(self) -> str:
        return textwrap.fill(f"Not covered: {'; '.join(self.not_covered)}.", _WIDTH)
