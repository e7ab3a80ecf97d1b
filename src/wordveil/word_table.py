"""Looks up many words at once: spans of ASCII bytes to word ids, without a Python object per word."""

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["MISSING", "SPARE_BYTES", "WordTable"]

MISSING: Final = -2
"""The result for a span that is not in the table."""

# A word is two numbers of 8 bytes, which are compared at once. Of the 33,752 default words 11 are longer.
_LONGEST: Final = 16
SPARE_BYTES: Final = _LONGEST
"""How many bytes must follow the last span: 16 are read from the start of each, however long it is."""

# Of 4 places 3 stay empty, so most words are in the first place where they are looked for.
_PLACES_PER_WORD: Final = 4
# The most places that are tried for a word. The few words that find none free are left out of the table.
_MOST_PLACES: Final = 16
_EMPTY: Final = -1  # not the number of any word
_FIRST_BYTES: Final = np.array([(1 << (8 * count)) - 1 for count in range(9)], dtype=np.uint64)
# Odd numbers with many bits set, so all bytes of a word change its place. Any others find the same words.
_SPREAD: Final = np.uint64(0x9E3779B97F4A7C15)
_SPREAD_LAST: Final = np.uint64(0xC2B2AE3D27D4EB4F)

Ints = NDArray[np.int64]
Keys = NDArray[np.uint64]


class WordTable:
    """A hash table over the plain words of a vocabulary: lower-case ASCII letters and digits, 16 at most.

    Words are compared in full, so a span gets the id of the same word or none. Other words are not in the
    table, and a few plain ones may be left out too: `MISSING` does not mean that a word is unknown.

    Examples
    --------
    >>> table = WordTable({"fly": 0, "boston": 1, "u.s.": 2})
    >>> data = b"boston fly home".ljust(40)
    >>> table.find(data, np.array([0, 7, 11]), np.array([6, 3, 4])).tolist()
    [1, 0, -2]
    """

    def __init__(self, vocabulary: Mapping[str, int]) -> None:
        plain = [(word, number) for word, number in vocabulary.items() if _is_plain(word)]
        lengths = np.fromiter((len(word) for word, _ in plain), np.int64, len(plain))
        data = "".join(word for word, _ in plain).encode("ascii") + bytes(SPARE_BYTES)
        firsts, lasts = _keys(data, np.cumsum(lengths) - lengths, lengths)
        bits = max(1, (_PLACES_PER_WORD * len(plain)).bit_length())
        self._shift = np.uint64(64 - bits)
        self._wrap = (1 << bits) - 1
        self._places = self._placed(self._place(firsts, lasts))
        # The entry at -1, which empty places refer to, is no word: its key has no bytes.
        self._firsts, self._lasts = np.append(firsts, np.uint64(0)), np.append(lasts, np.uint64(0))
        self._ids = np.array([*(number for _, number in plain), MISSING], dtype=np.int64)

    def _place(self, firsts: Keys, lasts: Keys) -> Ints:
        """Return the first place where each word is looked for; the next ones follow it."""
        return (((firsts * _SPREAD) ^ (lasts * _SPREAD_LAST)) * _SPREAD >> self._shift).astype(np.int64)

    def _placed(self, wanted: Ints) -> NDArray[np.int32]:
        """Return the table: at each place the number of a word, each in the first place that was free."""
        places = np.full(self._wrap + 1, _EMPTY, dtype=np.int32)
        left = np.arange(len(wanted))
        for step in range(_MOST_PLACES):
            here = (wanted[left] + step) & self._wrap
            is_free = places[here] == _EMPTY
            taken, first = np.unique(here[is_free], return_index=True)
            places[taken] = left[is_free][first]
            left = left[places[here] != left]
            if not len(left):
                break
        return places

    def find(self, data: bytes, starts: Ints, lengths: Ints) -> Ints:
        """Return the id of the word in each span of `data`, which has `SPARE_BYTES` more; or `MISSING`."""
        firsts, lasts = _keys(data, starts, lengths)
        here = self._place(firsts, lasts)
        entries = self._places[here]
        is_same = (self._firsts[entries] == firsts) & (self._lasts[entries] == lasts)
        ids = np.where(is_same, self._ids[entries], MISSING)
        left = np.flatnonzero(~is_same & (entries != _EMPTY))
        for step in range(1, _MOST_PLACES):
            if not len(left):
                break
            entries = self._places[(here[left] + step) & self._wrap]
            is_same = (self._firsts[entries] == firsts[left]) & (self._lasts[entries] == lasts[left])
            ids[left[is_same]] = self._ids[entries[is_same]]
            left = left[~is_same & (entries != _EMPTY)]
        ids[lengths > _LONGEST] = MISSING  # only their first bytes were compared
        return ids


def _is_plain(word: str) -> bool:
    return 0 < len(word) <= _LONGEST and word.isascii() and word.isalnum() and word == word.lower()


def _keys(data: bytes, starts: Ints, lengths: Ints) -> tuple[Keys, Keys]:
    """Return the bytes 1 to 8 and 9 to 16 of each span as numbers, with zeros after its end."""
    at_each_byte: Keys = np.ndarray((len(data) - 7,), "<u8", data, strides=(1,))
    firsts = at_each_byte[starts] & _FIRST_BYTES[np.minimum(lengths, 8)]
    lasts = at_each_byte[starts + 8] & _FIRST_BYTES[np.clip(lengths - 8, 0, 8)]
    return firsts, lasts
