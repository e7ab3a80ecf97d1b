"""What happens to unknown words, to length and to order: safe, unless the name of a choice says unsafe."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any, Final, TypeVar

from wordveil.errors import ParameterError, PrivacyWarning, check_whole, parameter_error
from wordveil.private_report import PrivateReport
from wordveil.randomness import Stream
from wordveil.tokens import join, split

__all__ = ["UNKNOWN", "Policy"]

UNKNOWN: Final = -1
"""The id of every word outside of the vocabulary: the centroid."""

_LONGEST: Final = 1 << 20  # words: an answer of about 8 MB, half of the longest record that is allowed
_REVEALS: Final = {
    "unsafe_drop": "how many words are outside of the vocabulary, by the number that is missing",
    "unsafe_mask": "which words are outside of the vocabulary",
    "unsafe_keep": "the words outside of the vocabulary themselves: names, numbers, addresses",
    "unsafe_keep_punctuation": "the punctuation of the text",
    "unsafe_keep_case": "which words begin with or are in capitals",
    "unsafe_exempt": "every word of the exempt list, wherever it occurs",
    "unsafe_keep_nulls": "which texts are missing",
}
_DESPITE_PADDING: Final = "in part, how long a text is, in spite of the padding"

_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True)
class Policy:
    """The choices around the mechanism. The `unsafe_` ones weaken the promise and raise a PrivacyWarning.

    Parameters
    ----------
    pad_to : int, optional
        Pad each text with the centroid, or cut it, to this number of words, so its length is not revealed. A
        missing text (a null) is padded like an empty one.
    bag : bool
        Sort the words of the output, so their order is not revealed. Where `pad_to` cuts a text, a random
        choice of its words is kept.
    unsafe_drop, unsafe_mask, unsafe_keep
        Instead of perturbing a word outside of the vocabulary from the centroid: drop it, replace it by this
        mask, or copy it as it is written. Dropping alone is safe together with `pad_to`.
    unsafe_keep_punctuation, unsafe_keep_case : bool
        Copy the punctuation, or the use of capitals, to the output.
    unsafe_exempt : iterable of str
        Words that are copied verbatim: a public list, such as stop words.
    unsafe_keep_nulls : bool
        Leave missing texts missing despite `pad_to`. Without `pad_to` they always stay missing.

    Examples
    --------
    >>> Policy(pad_to=12).unsafe
    ()
    """

    pad_to: int | None = None
    bag: bool = False
    unsafe_drop: bool = False
    unsafe_mask: str | None = None
    unsafe_keep: bool = False
    unsafe_keep_punctuation: bool = False
    unsafe_keep_case: bool = False
    unsafe_exempt: frozenset[str] = frozenset()
    unsafe_keep_nulls: bool = False

    def __post_init__(self) -> None:
        if self.pad_to is not None:
            check_whole(self.pad_to, "pad_to", "Policy", 1, _LONGEST)
        for choice in fields(self):
            if choice.type is bool and not isinstance(getattr(self, choice.name), bool):
                raise parameter_error(choice.name, "Policy", "be True or False", getattr(self, choice.name))
        object.__setattr__(self, "unsafe_exempt", _folded_words(self.unsafe_exempt))
        self._check_together()
        if self.unsafe:
            warnings.warn(
                f"This policy reveals {'; '.join(self.revealed)}. The guarantee does not cover that.",
                PrivacyWarning,
                stacklevel=3,
            )

    def _check_together(self) -> None:
        if self.unsafe_mask is not None and not _is_mask(self.unsafe_mask):
            raise ParameterError(
                "The 'unsafe_mask' parameter of Policy must be one printable word of up to 100 letters."
            )
        if sum((self.unsafe_drop, self.unsafe_mask is not None, self.unsafe_keep)) > 1:
            raise ParameterError("Choose only one of unsafe_drop, unsafe_mask and unsafe_keep.")
        if self.unsafe_keep_punctuation and (self.bag or self.pad_to is not None):
            raise ParameterError("Punctuation can't be kept together with bag or pad_to.")
        if self.unsafe_keep_nulls and self.pad_to is None:
            raise ParameterError("unsafe_keep_nulls needs pad_to: without padding, nulls are kept anyway.")

    @property
    def unsafe(self) -> tuple[str, ...]:
        """The names of the unsafe choices; `unsafe_drop` alone is not one together with `pad_to`."""
        chosen = tuple(name for name in _REVEALS if getattr(self, name))
        return () if chosen == ("unsafe_drop",) and self.pad_to is not None else chosen

    @property
    def revealed(self) -> tuple[str, ...]:
        """What each unsafe choice reveals, in words."""
        facts = tuple(_REVEALS[name] for name in self.unsafe)
        if self.pad_to is None or not facts or self.unsafe == ("unsafe_keep_nulls",):
            return facts
        return (*facts, _DESPITE_PADDING)

    @property
    def pads_nulls(self) -> bool:
        """Whether a missing text is answered like an empty one, so that the two look the same."""
        return self.pad_to is not None and not self.unsafe_keep_nulls

    @property
    def keeps_layout(self) -> bool:
        """Whether the output needs more of the input than its word ids."""
        return bool(
            self.unsafe_keep
            or self.unsafe_mask is not None
            or self.unsafe_keep_punctuation
            or self.unsafe_keep_case
            or self.unsafe_exempt
        )

    @property
    def resizes(self) -> bool:
        """Whether a text may have more or fewer words in the output than in the input."""
        return self.unsafe_drop or self.pad_to is not None

    def drops(self, number: int) -> bool:
        """Return whether a word of this id is dropped."""
        return self.unsafe_drop and number == UNKNOWN

    def remaining(self, ids: list[int]) -> list[int]:
        """Return the ids of one text without those of dropped words."""
        if not self.unsafe_drop:
            return ids
        return [number for number in ids if not self.drops(number)]

    @staticmethod
    def padded(items: list[_Item], filler: _Item, length: int) -> list[_Item]:
        """Return the words of one text with fillers after the last, so that it has at least `length`."""
        return items + [filler] * (length - len(items))

    def fitted(self, items: list[_Item], filler: _Item) -> list[_Item]:
        """Return the words of one text, padded to `pad_to`, or only its first words where it is longer."""
        return items if self.pad_to is None else self.padded(items[: self.pad_to], filler, self.pad_to)

    def resized(
        self, items: list[_Item], filler: _Item, counts: PrivateReport, stream: Stream
    ) -> list[_Item]:
        """Return the words of one text, padded or cut to `pad_to`, and count what that changes.

        A text that is too long keeps its first words. A bag, which must not show what came first, keeps a
        random choice of them.
        """
        if self.pad_to is None:
            return items
        missing = self.pad_to - len(items)
        counts.padded += max(missing, 0)
        counts.truncated += max(-missing, 0)
        if self.bag and missing < 0:
            items = [items[i] for i in stream.permutation(len(items))[: self.pad_to].tolist()]
        return self.fitted(items, filler)

    def joined(self, words: list[str]) -> str:
        """Return the words of one output as a text, in alphabetical order if it is a bag."""
        return join(sorted(words) if self.bag else words)

    def to_dict(self) -> dict[str, Any]:
        """Return the choices as plain JSON values; the exempt words as a sorted list."""
        choices = {field.name: getattr(self, field.name) for field in fields(self)}
        return choices | {"unsafe_exempt": sorted(self.unsafe_exempt), "unsafe": list(self.unsafe)}


def _folded_words(words: Iterable[str]) -> frozenset[str]:
    if isinstance(words, str | bytes) or not isinstance(words, Iterable):
        raise ParameterError("The 'unsafe_exempt' parameter of Policy must be a list of words.")
    folded = set()
    for number, word in enumerate(words):
        tokens = split(word) if isinstance(word, str) else []
        if len(tokens) != 1:
            raise ParameterError(f"Word {number} (counted from 0) of 'unsafe_exempt' must be one word.")
        folded.add(tokens[0])
    return frozenset(folded)


def _is_mask(mask: object) -> bool:
    return isinstance(mask, str) and 0 < len(mask) <= 100 and mask.isprintable() and len(mask.split()) == 1
