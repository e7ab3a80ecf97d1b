"""`Perturber`: text to text. The one object that files, clusters and integrations wrap."""

import hashlib
import json
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal, Self, overload

import numpy as np
from numpy.typing import NDArray

from wordveil.block_list import BlockList
from wordveil.errors import IntegrityError, ParameterError, PrivacyWarning, parameter_error, sealed
from wordveil.exposure import Exposure, measure_exposure
from wordveil.mechanisms import Mechanism
from wordveil.policy import UNKNOWN, Policy
from wordveil.prior import Prior
from wordveil.private_report import PrivateReport
from wordveil.profiles import load_profile
from wordveil.randomness import RunKey, Stream, thread_stream, warn_if_insecure
from wordveil.text_guarantee import TextGuarantee
from wordveil.token_batches import TokenBatches
from wordveil.tokens import RULE_FINGERPRINT, Tokenizer, check_text
from wordveil.unsafe_layouts import UnsafeLayouts

__all__ = ["Perturber", "PrivateReport", "check_prior", "checked_run_key", "warn_if_weak"]

# Words per search: far more than a search needs to run at full speed, and only a few MB of ids and words.
_BLOCK_TOKENS: Final = 1 << 16


@dataclass(frozen=True, eq=False)
class Perturber:
    """Makes text private: tokens by a public rule, a mechanism for each word, a policy for the rest.

    Frozen, picklable, safe to share between threads. A pickle refers to vectors that have a name by that
    name; `wordveil.embedding.pickled_vectors` includes them, for machines that do not have them.

    Parameters
    ----------
    mechanism : Mechanism
        Perturbs each word.
    policy : Policy
        The choices around it, such as padding; safe by default.

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
            raise ParameterError("A Perturber needs a mechanism and a Policy.")
        mechanism = type(self.mechanism)
        if self.mechanism.blocked is not None and mechanism.perturb_ids is not Mechanism.perturb_ids:
            raise ParameterError(
                f"{mechanism.__name__} can't have a block list, because it redefines perturb_ids. "
                "Hint: redefine _perturb instead."
            )

    def __getstate__(self) -> dict[str, Any]:
        return {"mechanism": self.mechanism, "policy": self.policy, "_pickled_fingerprint": self.fingerprint}

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """The public rule from text to word ids."""
        return Tokenizer(self.mechanism.embedding.index)

    @cached_property
    def _batches(self) -> TokenBatches:
        return TokenBatches(self.tokenizer, self.mechanism.embedding.index)

    @cached_property
    def _vocabulary(self) -> NDArray[np.object_]:
        """The words as an array: many are picked at once, by their ids."""
        return np.array(self.mechanism.embedding.words, dtype=object)

    @cached_property
    def fingerprint(self) -> bytes:
        """A SHA-256 of everything that changes an answer: mechanism, parameters, vectors, policy, tokens."""
        fingerprint = self._computed_fingerprint()
        if vars(self).get("_pickled_fingerprint", fingerprint) != fingerprint:
            raise IntegrityError(
                "The parameters, vectors or code of this perturber differ from those that were pickled. "
                "Hint: install the same versions on both machines."
            )
        return fingerprint

    def _computed_fingerprint(self) -> bytes:
        mechanism = type(self.mechanism)
        self.mechanism.embedding.verify()
        facts = {
            "class": f"{mechanism.__module__}.{mechanism.__qualname__}",
            "setting": self.mechanism.setting(),
            "vectors": self.mechanism.embedding.fingerprint,
            "policy": self.policy.to_dict(),
            "tokenizer": RULE_FINGERPRINT,
        }
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).digest()

    def verify(self) -> None:
        """Check that vectors and parameters are those that the guarantee is about.

        A mechanism whose parameters can be changed would otherwise release under the guarantee of others.
        """
        if self._computed_fingerprint() != self.fingerprint:
            raise IntegrityError(
                f"The parameters of this {type(self.mechanism).__name__} were changed after its first use. "
                "Hint: make a new mechanism and a new Perturber."
            )

    def derive_stream(self, key: RunKey, *context: str | bytes | int) -> Stream:
        """Return the stream for a context under a key; two settings never share noise under one key."""
        return key.stream(self.fingerprint, *context)

    @cached_property
    def guarantee(self) -> TextGuarantee:
        """What is promised about complete texts."""
        self.verify()  # the fingerprint is kept, so a later change of the mechanism is noticed
        return TextGuarantee(self.mechanism.guarantee, self.policy, self.tokenizer)

    def exposure(self, prior: Prior | None = None) -> Exposure:
        """Return how often the best guess of an attacker is right; the default prior is that of English.

        Examples
        --------
        >>> import wordveil as wv
        >>> emb = wv.load_embedding().project(10)
        >>> exposure = wv.Perturber(wv.Laplace(emb, epsilon=5.7)).exposure()
        >>> 0.2 < exposure.rate.success.share < 0.4
        True
        """
        check_prior(self, prior, "exposure")
        return measure_exposure(self.mechanism, prior)

    @classmethod
    def from_profile(
        cls, name: str, policy: Policy | None = None, *, blocked: BlockList | None = None
    ) -> Self:
        """Return a perturber with the setting of a profile: "gentle", "balanced" or "strong".

        The words of the list `blocked` are never answered; `wordveil perturb` uses `BlockList.english()`.

        Examples
        --------
        >>> Perturber.from_profile("balanced").mechanism.parameters()["answer"]
        'closest'
        """
        return cls(load_profile(name).load(blocked=blocked), Policy() if policy is None else policy)

    @sealed
    def __call__(self, text: str, *, stream: Stream | None = None) -> str:
        """Return a private version of one text."""
        answers, _ = self._perturbed([text], self._noise(stream))
        return answers[0]

    @staticmethod
    def _noise(stream: Stream | None) -> Stream:
        """Return the stream for private text, by default the secure one of the thread; warn about a seed."""
        if stream is None:
            return thread_stream()
        if not isinstance(stream, Stream):
            raise parameter_error("stream", "perturb", "be a Stream, made by secure_stream()", stream)
        warn_if_insecure(stream, stacklevel=5)  # at the caller of the sealed function
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
        """Return a private version of each text; many words are searched for at once.

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

        Missing texts stay missing, unless the policy pads: then they are answered like empty ones. Does not
        warn about an insecure stream: the caller has done that.
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
        """Take the fast path: ids in, words out, nothing of the input but its length."""
        ids, lengths = self._batches(texts)
        counts.texts += len(texts)
        counts.tokens += len(ids)
        counts.unknown += int(np.count_nonzero(ids == UNKNOWN))
        if self.policy.resizes:
            numbers = ids.tolist()
            lists = [self._sized(numbers[part], counts, stream) for part in _parts(lengths)]
            ids = np.array([number for sized in lists for number in sized], dtype=np.int64)
            lengths = np.array([len(sized) for sized in lists])
        words, joined = self._answers(ids, stream), self.policy.joined
        return [joined(words[part]) for part in _parts(lengths)]

    def _sized(self, ids: list[int], counts: PrivateReport, stream: Stream) -> list[int]:
        """Drop and pad the ids of one text by the policy."""
        remaining = self.policy.remaining(ids)
        counts.dropped += len(ids) - len(remaining)
        return self.policy.resized(remaining, UNKNOWN, counts, stream)

    def _with_layout(self, texts: list[str], counts: PrivateReport, stream: Stream) -> list[str]:
        """Take the path for unsafe choices: some of the input is kept beside the answers."""
        lay_out = UnsafeLayouts(self.policy, self.tokenizer, self.mechanism.embedding.index)
        layouts = [lay_out(text, counts, stream) for text in texts]
        counts.texts += len(texts)
        ids = np.array([number for layout in layouts for number in layout.ids], dtype=np.int64)
        words = iter(self._answers(ids, stream))
        return [lay_out.filled(layout, words) for layout in layouts]

    def _answers(self, ids: NDArray[np.int64], stream: Stream) -> list[str]:
        answers: list[str] = self._vocabulary[self.mechanism.perturb_ids(ids, stream=stream)].tolist()
        return answers


def checked_run_key(perturber: object, key: RunKey | None, owner: str, *, stacklevel: int = 5) -> RunKey:
    """Return the key of a run (default: a new one); check both parameters, and warn about a seed."""
    if not isinstance(perturber, Perturber):
        raise parameter_error("perturber", owner, "be a Perturber", perturber)
    if key is None:
        return RunKey()
    if not isinstance(key, RunKey):
        raise parameter_error("key", owner, "be a RunKey", key)
    warn_if_insecure(key, stacklevel=stacklevel)  # at the caller of the sealed function
    return key


def check_prior(perturber: Perturber, prior: Prior | None, owner: str) -> None:
    """Refuse what is not a prior, or one of another vocabulary, before any work is done."""
    if prior is None:
        return
    if not isinstance(prior, Prior):
        raise parameter_error("prior", owner, "be a Prior", prior)
    if len(prior.shares) != len(perturber.mechanism.embedding) + 1:
        raise ParameterError(
            f"The 'prior' parameter of {owner} must be made from the vectors of the perturber."
        )


def warn_if_weak(perturber: Perturber, prior: Prior | None, *, stacklevel: int = 4) -> Exposure:
    """Return what the setting is worth, with a PrivacyWarning if it protects little."""
    exposure = perturber.exposure(prior)
    if exposure.warning:
        warnings.warn(exposure.warning, PrivacyWarning, stacklevel=stacklevel)
    return exposure


def _parts(lengths: NDArray[np.int64]) -> Iterator[slice]:
    """Yield where each text is among the words of all texts."""
    start = 0
    for length in lengths.tolist():
        yield slice(start, start + length)
        start += length


def _blocks(texts: Iterable[str], least: int) -> Iterator[list[str]]:
    """Yield lists of texts with enough words for a fast search, and few enough to need little memory."""
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
