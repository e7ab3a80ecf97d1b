"""Words that are never answered, such as slurs and swear words: a public list.

A mechanism with a list is the mechanism followed by a function that depends on the list and on other public
data only. Additive mechanisms answer with the best allowed word for the noisy point v. Others replace a
blocked answer by the nearest allowed word. Neither looks at the input word, so neither weakens the guarantee
(post-processing): Pr[f(M(w)) = u] is the sum of Pr[M(w) = a] over the answers a with f(a) = u, and each of
these changes by a factor of at most exp(ε·d(w, w')) between two words; for v, the sum is an integral.

A list that is made from the private text is not public: which words never occur would tell about the text.
"""

import hashlib
import json
import unicodedata
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wordveil.embedding import Embedding
from wordveil.embedding.arrays import locked
from wordveil.errors import ParameterError, PrivacyWarning, named_type, parameter_error, sealed
from wordveil.shared import PerEmbedding

__all__ = ["BlockList"]

_COMMENT: Final = "#"
_masks: Final = PerEmbedding[NDArray[np.bool_]](most=4)


@dataclass(frozen=True, init=False, repr=False)
class BlockList:
    """Words that are never answered, compared without regard to case, width and encoding of accents.

    Parameters
    ----------
    words : iterable of str
        The words. Those that a vocabulary does not have change nothing.
    public : bool
        Declares that the list was not derived from the private text. Without it there is a PrivacyWarning.

    Attributes
    ----------
    words : frozenset of str
        The words, in NFKC and case-folded.
    declared_public : bool
        Whether somebody has made that declaration.

    Examples
    --------
    >>> emb = Embedding(["tea", "ale", "gin"], [[0.0], [1.0], [3.0]], public=True)
    >>> blocked = BlockList(["Ale", "rum"], public=True)
    >>> blocked
    BlockList(2 words)
    >>> blocked.mask(emb)
    array([False,  True, False])
    """

    words: frozenset[str]
    declared_public: bool

    @sealed
    def __init__(self, words: Iterable[str], *, public: bool = False) -> None:
        if not isinstance(public, bool):
            raise parameter_error("public", "BlockList", "be True or False", public)
        object.__setattr__(self, "words", _folded(words))
        object.__setattr__(self, "declared_public", public)
        if not public:
            warnings.warn(
                "Nobody has declared that this block list is public. If it was derived from the private "
                "text, the words that never occur tell about it: the guarantee does not cover that. Hint: "
                "public=True or --block-list-is-public declares it.",
                PrivacyWarning,
                stacklevel=3,
            )

    def __repr__(self) -> str:
        return f"BlockList({len(self.words):,} words)"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (sorted(self.words), self.declared_public)

    @classmethod
    def english(cls) -> "BlockList":
        """Return the list that comes with wordveil: common English swear words and slurs.

        Examples
        --------
        >>> blocked = BlockList.english()
        >>> "damn" in blocked.words, "hell" in blocked.words
        (True, False)
        """
        return _english()

    def changed(
        self, *, block: Iterable[str] = (), allow: Iterable[str] = (), public: bool = False
    ) -> "BlockList":
        """Return the list with more words, and without some.

        Examples
        --------
        >>> BlockList.english().changed(block=["heck"], allow=["damn"], public=True)
        BlockList(334 words)
        """
        words = (self.words | _folded(block)) - _folded(allow)
        return BlockList(words, public=public and self.declared_public)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 in hexadecimal, over the sorted words."""
        text = json.dumps(["wordveil-block-list-1", *sorted(self.words)])
        return hashlib.sha256(text.encode()).hexdigest()

    def mask(self, embedding: Embedding) -> NDArray[np.bool_]:
        """Return for each word of a vocabulary whether it is blocked; raise ParameterError if all are."""
        return _masks.get(embedding, self.fingerprint, lambda: self._mask(embedding.words))

    def _mask(self, vocabulary: Iterable[str]) -> NDArray[np.bool_]:
        is_blocked = np.array([_fold(word) in self.words for word in vocabulary])
        if is_blocked.all():
            raise ParameterError("The block list leaves no word of the vocabulary. Hint: use a shorter list.")
        return locked(is_blocked)


def _folded(words: Iterable[str]) -> frozenset[str]:
    if isinstance(words, str | bytes):
        raise ParameterError("A block list must be a list of words, not one word.")
    checked = set()
    for number, word in enumerate(words):
        if not isinstance(word, str):
            raise ParameterError(
                f"Word {number} (counted from 0) of a block list must be a str. "
                f"Got {named_type(word)} instead."
            )
        checked.add(_fold(word))
    return frozenset(checked - {""})


def _fold(word: str) -> str:
    """Return how a word is compared: without regard to case, width, and how its accents are encoded."""
    folded = unicodedata.normalize("NFKC", word).casefold()
    return unicodedata.normalize("NFKC", folded).strip()  # folding can take letters and accents apart


def _restored(words: list[str], declared_public: bool) -> BlockList:
    """Return a list from a pickle, without a second warning."""
    restored = object.__new__(BlockList)
    object.__setattr__(restored, "words", frozenset(words))
    object.__setattr__(restored, "declared_public", declared_public)
    return restored


@cache
def _english() -> BlockList:
    lines = Path(__file__).with_name("block_list.txt").read_text(encoding="utf-8").split("\n")
    return BlockList((line for line in lines if not line.startswith(_COMMENT)), public=True)
