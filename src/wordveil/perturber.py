"""`Perturber`: text to text. The one object that files, clusters and integrations wrap."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, Final, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import ParameterError, parameter_error, sealed
from wordveil.mechanisms import Mechanism
from wordveil.policy import Policy
from wordveil.randomness import Stream, secure_stream, warn_if_insecure
from wordveil.text_guarantee import TextGuarantee
from wordveil.tokens import Tokenizer, check_text, fold, join, pieces

__all__ = ["Perturber", "PrivateReport"]

_BLOCK_TOKENS: Final = 1 << 16
_UNKNOWN: Final = -1


@dataclass(slots=True)
class PrivateReport:
    """Counts of what only the input shows. Not for release: they are functions of the private text.

    Attributes
    ----------
    texts, tokens : int
        How many texts, and how many words they have.
    unknown : int
        Words outside of the vocabulary.
    kept, dropped, masked : int
        Words that passed verbatim, were dropped, or were masked, by unsafe choices.
    padded, truncated : int
        Words that padding added, and that it cut off.
    """

    texts: int = 0
    tokens: int = 0
    unknown: int = 0
    kept: int = 0
    dropped: int = 0
    masked: int = 0
    padded: int = 0
    truncated: int = 0

    def __str__(self) -> str:
        """Return the counts, marked as private."""
        counts = ", ".join(f"{field.name} {getattr(self, field.name):,}" for field in fields(self))
        return f"private report, not for release: {counts}"

    def add(self, other: "PrivateReport") -> None:
        """Add the counts of another report to this one."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))


class _Slot(NamedTuple):
    """What stands at one place of the output: the next answer, or a fixed word, after a gap."""

    gap: str
    fixed: str | None
    case: str


@dataclass(frozen=True, eq=False)
class Perturber:
    """Makes private text of text: tokens by a public rule, a mechanism for each word, a policy for the rest.

    Frozen, picklable, safe to share between threads.

    Parameters
    ----------
    mechanism : Mechanism
        What perturbs each word.
    policy : Policy
        What happens around it; safe by default.

    Examples
    --------
    >>> import wordveil as wv
    >>> perturber = Perturber(wv.Mahalanobis(wv.load_embedding(), epsilon=10.0))
    >>> private = perturber("Book a flight to Boston, please!")
    >>> len(private.split())
    6
    """

    mechanism: Mechanism
    policy: Policy = field(default_factory=Policy)

    def __post_init__(self) -> None:
        if not isinstance(self.mechanism, Mechanism) or not isinstance(self.policy, Policy):
            raise ParameterError("A Perturber must be made of a mechanism and a Policy.")

    def __getstate__(self) -> dict[str, Any]:
        return {"mechanism": self.mechanism, "policy": self.policy}

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The public rule from text to word ids."""
        return Tokenizer(self.mechanism.embedding.index)

    @cached_property
    def guarantee(self) -> TextGuarantee:
        """What is promised about whole texts."""
        return TextGuarantee(self.mechanism.guarantee, self.policy, self.tokenizer)

    @sealed
    def __call__(self, text: str, *, stream: Stream | None = None) -> str:
        """Return a private version of one text."""
        answers, _ = self._perturbed([text], self._noise(stream))
        return answers[0]

    @staticmethod
    def _noise(stream: Stream | None) -> Stream:
        """Return where the noise for somebody's text comes from; warn of a seed."""
        if stream is None:
            return secure_stream()
        if not isinstance(stream, Stream):
            raise parameter_error("stream", "perturb", "be a Stream, made by secure_stream()", stream)
        warn_if_insecure(stream, stacklevel=5)  # at whoever called the sealed function
        return stream

    @overload
    def perturb(
        self, texts: Iterable[str], *, report: Literal[False] = False, stream: Stream | None = None
    ) -> list[str]: ...

    @overload
    def perturb(
        self, texts: Iterable[str], *, report: Literal[True], stream: Stream | None = None
    ) -> tuple[list[str], PrivateReport]: ...

    @sealed
    def perturb(
        self, texts: Iterable[str], *, report: bool = False, stream: Stream | None = None
    ) -> list[str] | tuple[list[str], PrivateReport]:
        """Return a private version of each text, by one search for many words at once.

        With `report`, also a `PrivateReport` of counts that must not be released. A seeded `stream` raises a
        PrivacyWarning.
        """
        if isinstance(texts, str | bytes):
            raise ParameterError("The 'texts' parameter of perturb must be a list of texts, not one text.")
        answers, counts = self._perturbed(texts, self._noise(stream))
        return (answers, counts) if report else answers

    def perturb_column(
        self, texts: Sequence[str | None], stream: Stream
    ) -> tuple[list[str | None], PrivateReport]:
        """Return a private version of a column, in which None is a missing text, and the counts.

        Missing texts stay missing, unless the policy pads: then they are answered like empty ones. Whoever
        calls this has warned of an insecure stream already.
        """
        if self.policy.pads_nulls:
            filled, counts = self._perturbed((text or "" for text in texts), stream)
            return [*filled], counts
        private, counts = self._perturbed((text for text in texts if text is not None), stream)
        answers = iter(private)
        return [None if text is None else next(answers) for text in texts], counts

    def _perturbed(self, texts: Iterable[str], stream: Stream) -> tuple[list[str], PrivateReport]:
        counts = PrivateReport()
        perturb = self._with_layout if self.policy.keeps_layout else self._words_only
        answers: list[str] = []
        for block in _blocks(texts, self.policy.pad_to or 0):
            answers += perturb(block, counts, stream)
        return answers, counts

    def _words_only(self, texts: list[str], counts: PrivateReport, stream: Stream) -> list[str]:
        """Go the fast way: ids in, words out, nothing of the input but its length."""
        lists = [self._sized(self.tokenizer.ids(text), counts) for text in texts]
        words = self._answers([number for ids in lists for number in ids], stream)
        counts.texts += len(texts)
        ends = accumulate((len(ids) for ids in lists), initial=0)
        return [self._laid_out(words[start:end]) for start, end in pairwise(ends)]

    def _sized(self, ids: list[int], counts: PrivateReport) -> list[int]:
        """Count, drop and pad the ids of one text as the policy says."""
        unknown = ids.count(_UNKNOWN)
        counts.tokens += len(ids)
        counts.unknown += unknown
        if self.policy.unsafe_drop and unknown:
            ids = [number for number in ids if number != _UNKNOWN]
            counts.dropped += unknown
        length = self.policy.pad_to
        if length is None:
            return ids
        counts.padded += max(0, length - len(ids))
        counts.truncated += max(0, len(ids) - length)
        return ids[:length] + [_UNKNOWN] * (length - len(ids))

    def _answers(self, ids: list[int] | NDArray[np.int64], stream: Stream) -> list[str]:
        vocabulary = self.mechanism.embedding.words
        answers = self.mechanism.perturb_ids(np.asarray(ids, dtype=np.int64), stream=stream)
        return [vocabulary[answer] for answer in answers.tolist()]

    def _laid_out(self, words: list[str]) -> str:
        return join(sorted(words) if self.policy.bag else words)

    def _with_layout(self, texts: list[str], counts: PrivateReport, stream: Stream) -> list[str]:
        """Go the way of the unsafe choices: some of the input stands beside the answers."""
        ids: list[int] = []
        layouts = [self._layout(text, ids, counts) for text in texts]
        counts.texts += len(texts)
        words = iter(self._answers(ids, stream))
        return [self._filled(slots, tail, words) for slots, tail in layouts]

    def _layout(self, text: str, ids: list[int], counts: PrivateReport) -> tuple[list[_Slot], str]:
        """Return the places of one output, and append to `ids` what is to be perturbed for it."""
        found, tail = pieces(text)
        slots: list[_Slot] = []
        asked: list[int] = []
        gap = ""
        for before, written in found:
            gap += before
            for part, number in self._parts(written):
                counts.tokens += 1
                counts.unknown += number == _UNKNOWN
                slot = self._slot(gap, part, written, number, counts)
                if slot is not None:
                    slots.append(slot)
                    if slot.fixed is None:
                        asked.append(number)
                    gap = ""
        slots, asked = self._resized(slots, asked, counts)
        ids.extend(asked)
        return slots, gap + tail

    def _parts(self, written: str) -> list[tuple[str, int]]:
        """Return what a token is looked up as, with the ids; exempt and kept tokens are not cut."""
        index = self.mechanism.embedding.index
        folded = fold(written)
        if folded in self.policy.unsafe_exempt:
            return [(folded, index.get(folded, _UNKNOWN))]
        parts = [(part, index.get(part, _UNKNOWN)) for part in self.tokenizer.parts(folded)]
        if self.policy.unsafe_keep and parts and all(number == _UNKNOWN for _, number in parts):
            return [(written, _UNKNOWN)]
        return parts

    def _slot(self, gap: str, part: str, written: str, number: int, counts: PrivateReport) -> _Slot | None:
        fixed: str | None = None
        if part in self.policy.unsafe_exempt or (number == _UNKNOWN and self.policy.unsafe_keep):
            fixed = part
            counts.kept += 1
        elif number == _UNKNOWN and self.policy.unsafe_drop:
            counts.dropped += 1
            return None
        elif number == _UNKNOWN and self.policy.unsafe_mask is not None:
            counts.masked += 1
            return _Slot(gap, self.policy.unsafe_mask, "")
        return _Slot(gap, fixed, written if self.policy.unsafe_keep_case else "")

    def _resized(
        self, slots: list[_Slot], asked: list[int], counts: PrivateReport
    ) -> tuple[list[_Slot], list[int]]:
        length = self.policy.pad_to
        if length is None:
            return slots, asked
        missing = length - len(slots)
        counts.padded += max(0, missing)
        counts.truncated += max(0, -missing)
        slots = slots[:length] + [_Slot(" ", None, "")] * missing
        wanted = sum(slot.fixed is None for slot in slots)
        return slots, (asked + [_UNKNOWN] * wanted)[:wanted]

    def _filled(self, slots: list[_Slot], tail: str, words: Iterator[str]) -> str:
        filled = [_cased(next(words) if slot.fixed is None else slot.fixed, slot.case) for slot in slots]
        if not self.policy.unsafe_keep_punctuation:
            return self._laid_out(filled)
        spaced = (slot.gap or " " for slot in slots)
        whole = "".join(f"{gap}{word}" for gap, word in zip(spaced, filled, strict=True)) + tail
        return " ".join(whole.split())


def _cased(word: str, written: str) -> str:
    if len(written) > 1 and written.isupper():
        return word.upper()
    return word[0].upper() + word[1:] if written[:1].isupper() else word


def _blocks(texts: Iterable[str], least: int) -> Iterator[list[str]]:
    """Yield the texts in lists of so many words, roughly, that a search pays and memory stays small."""
    block: list[str] = []
    size = 0
    for number, text in enumerate(texts):
        block.append(check_text(text, number))
        size += max(least, 1 + len(text) // (5 if text.isascii() else 1))
        if size >= _BLOCK_TOKENS:
            yield block
            block, size = [], 0
    if block:
        yield block
