"""fastText .bin models, whose n-grams give a vector to any word, even a misspelt one (extra `fasttext`)."""

import struct
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final, NamedTuple

import numpy as np

from wordveil.embedding.formats.archives import OpenedFile
from wordveil.embedding.formats.selection import Collector, ReadOptions
from wordveil.errors import FormatError, MissingExtraError

__all__ = ["MAGIC", "read_fasttext_model"]

MAGIC: Final = struct.pack("<i", 793712314)
_ARGS: Final = struct.Struct("<12id")
_DICTIONARY: Final = struct.Struct("<3i2q")
_MOST_DIMS: Final = 1 << 20  # far above any real model; keeps products of sizes small
# Words that are passed on at a time. Larger blocks need more memory; the model is what takes the time.
_BLOCK_WORDS: Final = 4096
# Bytes read at a time while the dictionary is checked: thousands of entries, and little memory.
_CHUNK: Final = 1 << 20


def read_fasttext_model(source: OpenedFile, options: ReadOptions) -> Collector:
    """Read a fastText model: the words in `options.only`, or all words of the model without such a list."""
    with source.as_file() as path:
        _check_structure(path, source.name)
        model = _load(path, source.name)
    words = _words(model, source.name) if options.only is None else sorted(options.only)
    collector = Collector(model.get_dimension(), options, options.first or len(words))
    remaining = iter(words)
    while (block := list(islice(remaining, _BLOCK_WORDS))) and not collector.full:
        collector.add(block, np.stack([model.get_word_vector(word) for word in block]))
    return collector


def _load(path: Path, name: str) -> Any:
    try:
        import fasttext
    except ImportError:
        raise MissingExtraError("fasttext-numpy2", "fasttext", "Reading a fastText model") from None
    try:
        return fasttext.load_model(str(path))
    except (ValueError, RuntimeError, MemoryError):
        raise FormatError(f"{name}: is not a valid fastText model.") from None


def _words(model: Any, name: str) -> list[str]:
    try:
        return list(model.get_words(on_unicode_error="strict"))
    except UnicodeDecodeError:
        raise FormatError(f"{name}: holds a word that is not valid UTF-8.") from None


class _Header(NamedTuple):
    dim: int
    loss: int
    model: int
    bucket: int
    longest_ngram: int
    entries: int
    words: int
    labels: int
    pruned: int


def _check_structure(path: Path, name: str) -> None:
    """Check that the sections of a model are consistent with each other and with the size of the file.

    The fastText library does not check: it would read past the end of the file and of its tables.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        try:
            header = _read_header(file)
            _check(_is_consistent(header) and header.entries <= size)
            _check_entries(file, header)
            _check_matrix(file, size, [header.words + header.bucket], header.dim)
            _check_matrix(file, size, [header.words, header.labels], header.dim)
        except (EOFError, struct.error):
            raise FormatError(
                f"{name}: is cut short, damaged or quantised, or no fastText model of version 12. "
                "Hint: only complete .bin models can be read."
            ) from None


def _read_header(file: BinaryIO) -> _Header:
    version = struct.unpack("<2i", _exactly(file, 8))[1]
    _check(version == 12)
    args = _ARGS.unpack(_exactly(file, _ARGS.size))
    entries, words, labels, _tokens, pruned = _DICTIONARY.unpack(_exactly(file, _DICTIONARY.size))
    return _Header(args[0], args[6], args[7], args[8], args[10], entries, words, labels, pruned)


def _is_consistent(header: _Header) -> bool:
    return (
        0 < header.dim <= _MOST_DIMS
        and header.loss in (1, 2, 3, 4)
        and header.model in (1, 2, 3)
        and header.bucket >= 0
        and (header.bucket > 0 or header.longest_ngram <= 0)
        and header.words > 0
        and header.labels >= 0
        and header.entries == header.words + header.labels
        and header.pruned == -1
    )


def _check(condition: bool) -> None:
    if not condition:
        raise EOFError


def _exactly(file: BinaryIO, count: int) -> bytes:
    data = file.read(count)
    _check(len(data) == count)
    return data


def _check_entries(file: BinaryIO, header: _Header) -> None:
    """Check the entries: a word, a zero byte, a count of 8 bytes and a kind; words come before labels."""
    data, position = b"", 0
    for number in range(header.entries):
        while (end := data.find(b"\0", position)) < 0 or end + 10 > len(data):
            more = file.read(_CHUNK)
            _check(bool(more))
            data, position = data[position:] + more, 0
        _check(data[end + 9] == (number >= header.words))
        position = end + 10
    file.seek(position - len(data), 1)


def _check_matrix(file: BinaryIO, size: int, rows: Iterable[int], columns: int) -> None:
    _check(_exactly(file, 1) == b"\0")  # any other byte means a quantised matrix
    stated_rows, stated_columns = struct.unpack("<2q", _exactly(file, 16))
    _check(stated_rows in rows and stated_columns == columns)
    matrix_bytes = 4 * stated_rows * stated_columns
    _check(file.tell() + matrix_bytes <= size)
    file.seek(matrix_bytes, 1)
