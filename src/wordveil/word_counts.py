"""Counts of words: read from a file, or from the package wordveil-english, and summed up for a vocabulary."""

import codecs
import functools
import gzip
import hashlib
import math
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wordveil.embedding import Embedding
from wordveil.embedding.formats.archives import OpenedFile, open_file
from wordveil.errors import FormatError, IntegrityError, MachineError, sealed
from wordveil.folders import checked_path
from wordveil.tokens import Tokenizer

__all__ = ["english_counts", "read_counts", "tally"]

# Many times the size of a list of all the words that people use. They bound memory, whatever the file holds.
_LARGEST_FILE: Final = 64 << 20
_MOST_LINES: Final = 5_000_000


@sealed
def read_counts(path: str | Path) -> dict[str, float]:
    """Return the counts in a file: a word and its count per line, separated by a tab, a comma or spaces.

    The file is UTF-8, plain or gzip. Blank lines are ignored, and counts of the same word are added up.

    Examples
    --------
    >>> import wordveil_english
    >>> counts = read_counts(wordveil_english.PATH)
    >>> len(counts), counts["the"]
    (95992, 53703180.0)
    """
    counts: dict[str, float] = {}
    with open_file(checked_path(path, "path", "read_counts")) as source:
        lines, name = _lines(source), source.name
    for number, line in enumerate(lines, start=1):
        if not line or line.isspace():
            continue
        fields = _fields(line)
        if fields is None:
            raise FormatError(
                f"{name}, line {number}: must be a word and its count, separated by a tab, a comma or spaces."
            )
        count = _number(fields[1])
        if not 0.0 <= count < math.inf:
            raise FormatError(
                f"{name}, line {number}: the count must be a finite number that is not negative."
            )
        counts[fields[0]] = counts.get(fields[0], 0.0) + count
    if not counts:
        raise FormatError(f"{name}: holds no counts.")
    return counts


def _lines(source: OpenedFile) -> list[str]:
    content = source.stream.read(_LARGEST_FILE + 1)
    if len(content) > _LARGEST_FILE or content.count(b"\n") > _MOST_LINES:
        raise FormatError(
            f"{source.name}: is over 64 MiB or {_MOST_LINES:,} lines, too large for word counts."
        )
    try:
        return content.removeprefix(codecs.BOM_UTF8).decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        number = 1 + error.object.count(b"\n", 0, error.start)
        raise FormatError(f"{source.name}, line {number}: is not valid UTF-8.") from None


def _fields(line: str) -> list[str] | None:
    separator = "\t" if "\t" in line else "," if "," in line else None
    fields = [field.strip() for field in line.split(separator)]
    if len(fields) != 2 or not all(fields):
        return None
    # "the 1,000" would otherwise be the word "the 1" with the count 000.
    return None if separator == "," and len(fields[0].split()) > 1 else fields


def _number(field: str) -> float:
    try:
        return float(field)
    except ValueError:
        return math.nan


def _english_file() -> bytes:
    """Return the file of wordveil-english, or raise MachineError if that is not installed."""
    try:
        from wordveil_english import PATH
    except ImportError:
        raise MachineError(
            "English word counts need wordveil-english, which is not installed. "
            "Hint: pip install ./packages/wordveil-english."
        ) from None
    try:
        return PATH.read_bytes()
    except OSError:
        return b""


def english_fingerprint() -> str:
    """Return a SHA-256 of the English word counts, or raise MachineError without wordveil-english."""
    return hashlib.sha256(_english_file()).hexdigest()


@functools.cache
def english_counts() -> Mapping[str, float]:
    """Return how often English words are used per billion, or raise MachineError without wordveil-english."""
    content = _english_file()
    try:  # without the checks of read_counts, which take longer than all the rest
        fields = gzip.decompress(content).decode("utf-8").split()
        counts = dict(zip(fields[::2], map(float, fields[1::2]), strict=True))
    except (OSError, EOFError, zlib.error, ValueError):
        counts = {}
    if not counts:
        raise IntegrityError(
            "The file of wordveil-english is damaged or missing. Hint: install the package again."
        )
    return counts


def tally(embedding: Embedding, counts: Mapping[str, float]) -> NDArray[np.float64]:
    """Return the use of each word of the vocabulary, and last that of all other words together.

    Counted words are split by the public rule, like any text.

    Examples
    --------
    >>> emb = Embedding(["don", "t", "tea"], [[0.0], [1.0], [3.0]], public=True)
    >>> tally(emb, {"don't": 2.0, "Tea": 3.0, "time": 5.0})
    array([2., 2., 3., 5.])
    """
    uses = [0.0] * (len(embedding) + 1)
    index, split = embedding.index, Tokenizer(embedding.index).ids
    for word, count in counts.items():
        if word.isascii() and word.isalnum():  # one token, by the same rule, but without its search
            uses[index.get(word.lower(), -1)] += count
        else:
            for word_id in split(word):
                uses[word_id] += count
    return np.array(uses)
