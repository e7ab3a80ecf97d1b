"""Output that keeps some of the input beside the answers, as the unsafe choices of a policy ask for."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from wordveil.policy import UNKNOWN, Policy
from wordveil.private_report import PrivateReport
from wordveil.randomness import Stream
from wordveil.tokens import Tokenizer, fold, pieces

__all__ = ["UnsafeLayout", "UnsafeLayouts"]


class _Slot(NamedTuple):
    """One position of the output, after a gap: a fixed word, or the answer to the word of that id."""

    gap: str
    fixed: str | None
    case: str
    id: int = UNKNOWN


_PADDING = _Slot(" ", None, "")


class UnsafeLayout(NamedTuple):
    """The positions of one output text, and what comes after the last of them."""

    slots: list[_Slot]
    tail: str

    @property
    def ids(self) -> list[int]:
        """The ids of the words to perturb, in order."""
        return [slot.id for slot in self.slots if slot.fixed is None]


@dataclass(frozen=True, slots=True)
class UnsafeLayouts:
    """Turns input texts into layouts, and layouts with answers into output texts."""

    policy: Policy
    tokenizer: Tokenizer
    index: Mapping[str, int]

    def __call__(self, text: str, counts: PrivateReport, stream: Stream) -> UnsafeLayout:
        """Return the layout of the output of one text."""
        words, tail = pieces(text)
        slots: list[_Slot] = []
        gap = ""
        for before, written in words:
            gap += before
            for part, number in self._parts(written):
                counts.tokens += 1
                counts.unknown += number == UNKNOWN
                slot = self._slot(gap, part, written, number, counts)
                if slot is not None:
                    slots.append(slot)
                    gap = ""
        return UnsafeLayout(self.policy.resized(slots, _PADDING, counts, stream), gap + tail)

    def _parts(self, written: str) -> list[tuple[str, int]]:
        """Return the parts of a token to look up, with their ids; exempt and kept tokens stay whole."""
        folded = fold(written)
        if folded in self.policy.unsafe_exempt:
            return [(folded, self.index.get(folded, UNKNOWN))]
        parts = [(part, self.index.get(part, UNKNOWN)) for part in self.tokenizer.parts(folded)]
        if self.policy.unsafe_keep and parts and all(number == UNKNOWN for _, number in parts):
            return [(written, UNKNOWN)]
        return parts

    def _slot(self, gap: str, part: str, written: str, number: int, counts: PrivateReport) -> _Slot | None:
        fixed: str | None = None
        if part in self.policy.unsafe_exempt or (number == UNKNOWN and self.policy.unsafe_keep):
            fixed = part
            counts.kept += 1
        elif self.policy.drops(number):
            counts.dropped += 1
            return None
        elif number == UNKNOWN and self.policy.unsafe_mask is not None:
            counts.masked += 1
            return _Slot(gap, self.policy.unsafe_mask, "")
        return _Slot(gap, fixed, written if self.policy.unsafe_keep_case else "", number)

    def filled(self, layout: UnsafeLayout, words: Iterator[str]) -> str:
        """Return the text of a layout, with the next answer at each position that is not fixed."""
        output = [
            _cased(next(words) if slot.fixed is None else slot.fixed, slot.case) for slot in layout.slots
        ]
        if not self.policy.unsafe_keep_punctuation:
            return self.policy.joined(output)
        gaps = (slot.gap or " " for slot in layout.slots)
        text = "".join(f"{gap}{word}" for gap, word in zip(gaps, output, strict=True)) + layout.tail
        return " ".join(text.split())


def _cased(word: str, written: str) -> str:
    if len(written) > 1 and written.isupper():
        return word.upper()
    return word[0].upper() + word[1:] if written[:1].isupper() else word
