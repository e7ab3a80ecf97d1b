"""What is promised about whole texts: the words' promises added up, and what a policy leaves uncovered."""

import textwrap
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import ParameterError, sealed
from wordveil.guarantee import COLUMNS, EMPTY, LENGTH, ORDER, ROW_ORDER, MetricGuarantee, at_most
from wordveil.policy import Policy
from wordveil.tokens import Tokenizer, check_text

__all__ = ["TextGuarantee"]

_WIDTH: Final = 100
_UNSAFE: Final = (
    "UNSAFE CHOICES WERE MADE: what follows holds only for texts that agree in all that these choices reveal "
    "(see below), and for nothing else."
)
_CUT: Final = "of a text of more than {} words, which come first in it: the others are cut off"


@dataclass(frozen=True, eq=False)
class TextGuarantee:
    """The promise for two texts of the same number of words: Σ ε·d over their words, position by position.

    With `bag` it is the smallest such sum over all matchings of the words. Texts of different lengths are
    covered only if they are padded to one length.

    Examples
    --------
    >>> import wordveil as wv
    >>> perturber = wv.Perturber(wv.Laplace(wv.load_embedding(), epsilon=1.0))
    >>> round(perturber.guarantee.exponent("fly to boston", "fly to chicago"), 2)
    4.21
    """

    word: MetricGuarantee
    policy: Policy
    tokenizer: Tokenizer

    @sealed
    def exponent(self, text: str, other: str) -> float:
        """Return Σ ε·d between two texts: exp of it is how much the odds between them can change.

        Raises ParameterError if they have different numbers of words and are not padded to one.
        """
        if self.policy.unsafe:
            raise ParameterError(
                "With unsafe choices texts can differ in what passes verbatim, and no sum bounds that."
            )
        texts = check_text(text, 0), check_text(other, 1)
        a, b = (self._places(self.tokenizer.ids(given)) for given in texts)
        if len(a) != len(b):
            raise ParameterError(
                "Texts of different numbers of words are not covered. Hint: pad_to makes them equally long."
            )
        if self.policy.bag:
            from scipy.optimize import linear_sum_assignment

            distances = self.word.metric.pairwise(a, b) if len(a) else np.zeros((0, 0))
            matched = distances[linear_sum_assignment(distances)]
        else:
            matched = np.atleast_1d(np.asarray(self.word.metric.distance(a, b)))
        return float(self.word.epsilon * matched.sum())

    def _places(self, ids: list[int]) -> NDArray[np.float64]:
        if self.policy.unsafe_drop:
            ids = [number for number in ids if number >= 0]
        if self.policy.pad_to is not None:
            ids = ids[: self.policy.pad_to] + [-1] * (self.policy.pad_to - len(ids))
        known = np.array(ids, dtype=np.int64)
        places = self.word.embedding.vectors[known].astype(np.float64)
        places[known < 0] = self.word.embedding.centroid
        return places

    @property
    def not_covered(self) -> tuple[str, ...]:
        """What the output shows of the input all the same."""
        length = () if self._covers_lengths else (LENGTH, EMPTY)
        order = ROW_ORDER if self.policy.bag else ORDER
        cut = (_CUT.format(self.policy.pad_to),) if self.policy.bag and self.policy.pad_to else ()
        return (*self.policy.revealed, *length, *cut, order, COLUMNS)

    @property
    def _covers_lengths(self) -> bool:
        return self.policy.pad_to is not None and not self.policy.unsafe

    def to_dict(self) -> dict[str, Any]:
        """Return the same facts for machines."""
        facts = self.word.to_dict() | {
            "not_covered": list(self.not_covered),
            "policy": self.policy.to_dict(),
            "covers_texts_of_different_lengths": self._covers_lengths,
        }
        if self.policy.pad_to is not None and self._covers_lengths:
            facts["local_dp_epsilon_per_text"] = self.word.composed(self.policy.pad_to)
        return facts

    def __str__(self) -> str:
        """Return the promise as a person reads it."""
        return "\n\n".join([self.word.about_words(), self._about_texts(), self._limits()])

    def _about_texts(self) -> str:
        rule = (
            "For two texts the exponents add up, over the matching of their words that gives the least."
            if self.policy.bag
            else "For two texts of the same number of words the exponents add up, word by word."
        )
        span = self._unpadded() if self.policy.pad_to is None else self._padded(self.policy.pad_to)
        parts = [_UNSAFE, rule, span] if self.policy.unsafe else [rule, span]
        return textwrap.fill(" ".join(parts), _WIDTH)

    def _unpadded(self) -> str:
        each, ten = at_most(self.word.worst_case.upper), at_most(self.word.composed(10), 0)
        return (
            f"A text of n words has at most n × {each} in all (10 words: {ten}), and releasing it "
            "again adds as much again. Texts of different numbers of words are not covered, unless they are "
            "padded to one length (--pad-to)."
        )

    def _padded(self, length: int) -> str:
        return (
            f"Every text is padded or cut to {length} words, so that any two texts are covered, by "
            f"at most {at_most(self.word.composed(length), 0)} in all; releasing a text again adds as much "
            "again."
        )

    def _limits(self) -> str:
        return textwrap.fill(f"Not covered: {'; '.join(self.not_covered)}.", _WIDTH)
