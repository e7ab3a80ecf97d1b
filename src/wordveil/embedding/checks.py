"""Which words and which numbers an embedding may hold."""

import unicodedata
from collections.abc import Iterable
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordveil.embedding.arrays import first_not_finite, locked
from wordveil.errors import ParameterError

__all__ = ["checked_matrix", "checked_words", "is_plain_word"]

# Far above any real word, but low enough that one broken line of a file can't become a "word" of megabytes.
_LONGEST_WORD: Final = 1000
_HIDDEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_JOINERS: Final = "\u200c\u200d"


def is_plain_word(word: str) -> bool:
    r"""Return whether `word` may be part of a vocabulary.

    It must not be blank, start or end with a space, be longer than 1,000 characters, or contain line breaks,
    control characters or other marks that hide or reorder text. The joiners used in emoji and in Persian are
    allowed.

    Examples
    --------
    >>> is_plain_word("don't"), is_plain_word(" "), is_plain_word("two\u2028lines")
    (True, False, False)
    """
    if not word or len(word) > _LONGEST_WORD or word != word.strip():
        return False
    if word.isascii():
        return word.isprintable()
    return not any(
        unicodedata.category(character) in _HIDDEN_CATEGORIES and character not in _JOINERS
        for character in word
    )


def checked_words(words: Iterable[str]) -> tuple[str, ...]:
    """Return `words` as a tuple, or raise ParameterError if one of them is not plain or is repeated."""
    if isinstance(words, str | bytes):
        raise ParameterError("The 'words' parameter of Embedding must be a list of str.")
    checked = tuple(words)
    seen: set[str] = set()
    for i, word in enumerate(checked):
        if not isinstance(word, str) or not is_plain_word(word):
            raise ParameterError(
                f"Word {i} (counted from 0) of the embedding must be a str that is not blank and "
                "has no line breaks, control characters or outer spaces."
            )
        if word in seen:
            raise ParameterError(f"The words of an embedding must all be different; word {i} is a repeat.")
        seen.add(word)
    return checked


def checked_matrix(vectors: ArrayLike) -> NDArray[np.float32]:
    """Return a read-only float32 copy of `vectors`, or raise ParameterError if it is not a finite table."""
    table = np.asarray(vectors)
    if table.ndim != 2 or table.shape[1] < 1 or table.dtype.kind not in "fiu":
        raise ParameterError(
            "The 'vectors' parameter of Embedding must be a table of real numbers, one row per word. "
            f"Got shape {table.shape} of {table.dtype} instead."
        )
    with np.errstate(over="ignore"):
        matrix = np.array(table, dtype=np.float32, order="C")
    bad_row = first_not_finite(matrix)
    if bad_row is not None:
        raise ParameterError(
            f"The vector of word {bad_row} (counted from 0) must hold finite float32 numbers only."
        )
    return locked(matrix)
