"""Many texts to word ids at once: the rule of `wordveil.tokens`, by array work wherever it is simple.

Plain texts (ASCII, without addresses, mentions and hashtags) are joined, and cut where no token can go on. A
piece that is a plain word of the vocabulary is one token, and its id is looked up with those of all others.
Each other piece (don't, 10:30, Boston-Logan, names) is given to the rule itself.

Why the tokens are the same: in a plain text a token has only letters, digits, underscores, apostrophes and
hyphens between two of these, and .,:/ between two digits. So at any other character every token has ended.
The rule looks neither ahead nor back, so it finds the same tokens in the pieces as in the text.
"""

from collections.abc import Mapping, Sequence
from itertools import chain, compress
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.tokens import Tokenizer, has_address_marks
from wordveil.word_table import MISSING, SPARE_BYTES, WordTable

__all__ = ["TokenBatches", "TokenIds"]

# Fewer letters are not worth the calls to NumPy: 1,000 take 0.08 ms (one by one: 0.06), 2,000 also 0.08 (one
# by one: 0.11). The table takes 18 ms once.
_FEW_LETTERS: Final = 2048
# More letters are taken text by text: the arrays need 11 bytes per letter, and 37 if words have one letter.
_MOST_LETTERS: Final = 1 << 19
_BETWEEN: Final = "\0"
_LETTERS: Final = b"abcdefghijklmnopqrstuvwxyz0123456789_"
_IN_NUMBERS: Final = b".,:/"
_IN_WORDS: Final = b"'-"
_SPACE: Final = ord(" ")

Ints = NDArray[np.int64]


class TokenIds(NamedTuple):
    """The ids of the words of some texts, one text after the other, and how many each text has."""

    ids: Ints
    lengths: Ints


class TokenBatches:
    """Turns lists of texts into word ids, the same as `Tokenizer.ids` gives for each text.

    Examples
    --------
    >>> vocabulary = {"fly": 0, "boston": 1, "10": 2}
    >>> batches = TokenBatches(Tokenizer(vocabulary), vocabulary)
    >>> ids, lengths = batches(["Fly BOSTON-Logan at 10:30", "", "fly!"])
    >>> ids.tolist(), lengths.tolist()
    ([0, 1, -1, -1, -1, 0], [5, 0, 1])
    """

    def __init__(self, tokenizer: Tokenizer, vocabulary: Mapping[str, int]) -> None:
        self._tokenizer, self._vocabulary = tokenizer, vocabulary
        self._table: WordTable | None = None

    def __call__(self, texts: Sequence[str]) -> TokenIds:
        """Return the ids of the words of all texts, with -1 for words outside the vocabulary."""
        if not _FEW_LETTERS <= sum(map(len, texts)) <= _MOST_LETTERS:
            return self._one_by_one(texts)
        joined = _BETWEEN.join(texts)
        if _is_plain(joined, len(texts) - 1):
            return self._together(joined)
        is_plain = np.array([_is_plain(text) for text in texts])
        if not is_plain.any():
            return self._one_by_one(texts)
        plain = self._together(_BETWEEN.join(compress(texts, is_plain)))
        return _merged(plain, self._one_by_one([*compress(texts, ~is_plain)]), is_plain)

    def _one_by_one(self, texts: Sequence[str]) -> TokenIds:
        lists = [self._tokenizer.ids(text) for text in texts]
        return TokenIds(_flat(lists), _counts(lists))

    def _together(self, joined: str) -> TokenIds:
        """Return the ids of plain texts."""
        if self._table is None:  # of two threads, both make the same one
            self._table = WordTable(self._vocabulary)
        data = _separated(joined)
        is_letter = np.frombuffer(data, np.uint8) > _SPACE
        edges = np.flatnonzero(is_letter[1:] != is_letter[:-1]) + 1  # the first and the last are separators
        starts, ends = edges[::2], edges[1::2]
        ids = self._table.find(data, starts, ends - starts)
        ids, firsts = self._with_others(data, starts, ends, ids)
        between = np.flatnonzero(np.frombuffer(data, np.uint8) == ord(_BETWEEN))  # before, between and after
        return TokenIds(ids, np.diff(firsts[np.searchsorted(starts, between)]))

    def _with_others(self, data: bytes, starts: Ints, ends: Ints, ids: Ints) -> tuple[Ints, Ints]:
        """Return the ids with those of the pieces that are not in the table, and the first of each piece."""
        others = np.flatnonzero(ids == MISSING)
        known: dict[bytes, list[int]] = {}  # for this call alone: what it holds is private
        lists: list[list[int]] = []
        for start, end in zip(starts[others].tolist(), ends[others].tolist(), strict=True):
            piece = data[start:end]
            numbers = known.get(piece)
            if numbers is None:
                numbers = known[piece] = self._tokenizer.ids(piece.decode("ascii"))
            lists.append(numbers)
        counts = np.ones(len(ids), dtype=np.int64)
        counts[others] = _counts(lists)
        result = np.repeat(ids, counts)
        result[result == MISSING] = _flat(lists)
        return result, np.concatenate(([0], np.cumsum(counts)))


def _is_plain(text: str, separators: int = 0) -> bool:
    return text.isascii() and not has_address_marks(text) and text.count(_BETWEEN) == separators


def _counts(lists: list[list[int]]) -> Ints:
    return np.fromiter(map(len, lists), np.int64, len(lists))


def _flat(lists: list[list[int]]) -> Ints:
    return np.fromiter(chain.from_iterable(lists), np.int64)


def _merged(plain: TokenIds, others: TokenIds, is_plain: NDArray[np.bool_]) -> TokenIds:
    """Return the ids of all texts in their order."""
    lengths = np.empty(len(is_plain), dtype=np.int64)
    lengths[is_plain], lengths[~is_plain] = plain.lengths, others.lengths
    from_plain = np.repeat(is_plain, lengths)
    ids = np.empty(len(from_plain), dtype=np.int64)
    ids[from_plain], ids[~from_plain] = plain.ids, others.ids
    return TokenIds(ids, lengths)


def _case_and_separators() -> bytes:
    kept = frozenset(_LETTERS + _IN_NUMBERS + _IN_WORDS + _BETWEEN.encode())
    return bytes(code if code in kept else _SPACE for code in bytes(range(256)).lower())


_LOWERED: Final = _case_and_separators()
_KINDS: Final = np.zeros(256, dtype=np.uint8)
_NUMBER_MARK, _WORD_MARK, _LETTER, _DIGIT = 1, 2, 4, 8
_KINDS[list(_IN_NUMBERS)] = _NUMBER_MARK
_KINDS[list(_IN_WORDS)] = _WORD_MARK
_KINDS[list(_LETTERS)] = _LETTER
_KINDS[list(b"0123456789")] = _LETTER | _DIGIT


def _separated(joined: str) -> bytes:
    """Return plain texts in lower case between `_BETWEEN`, with spaces for what is in no token."""
    lowered = f"{_BETWEEN}{joined}{_BETWEEN}".encode("ascii").translate(_LOWERED)
    data = np.frombuffer(lowered + bytes([_SPACE]) * SPARE_BYTES, np.uint8).copy()
    kinds = _KINDS[data]
    marks = np.flatnonzero(kinds & (_NUMBER_MARK | _WORD_MARK))
    needed = np.where(kinds[marks] == _NUMBER_MARK, _DIGIT, _LETTER)
    is_inside = (kinds[marks - 1] & kinds[marks + 1] & needed) != 0
    data[marks[~is_inside]] = _SPACE
    return data.tobytes()
