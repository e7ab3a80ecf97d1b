"""fastText .bin models, whose n-grams give vectors to any word, misspelt ones too (extra `fasttext`)."""

import struct
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np

from wordveil.embedding.formats.archives import Source
from wordveil.embedding.formats.selection import Collector, ReadOptions
from wordveil.errors import FormatError, MissingExtraError

__all__ = ["MAGIC", "read_fasttext_model"]

MAGIC: Final = struct.pack("<i", 793712314)
_ARGS: Final = struct.Struct("<12id")
_DICTIONARY: Final = struct.Struct("<3i2q")
_BLOCK_WORDS: Final = 4096
_CHUNK: Final = 1 << 20


def read_fasttext_model(source: Source, options: ReadOptions) -> Collector:
    """Read a fastText model: the words of `options.only`, or all of its own if there is no such list."""
    if source.stream is not source.raw:
        raise FormatError(f"{source.name}: unpack the fastText model first; it can't be read packed.")
    check_structure(source.path)
    model = _load(source.path)
    words: Iterable[str] = model.get_words(on_unicode_error="replace")
    if options.only is not None:
        words = sorted(options.only)
    collector = Collector(model.get_dimension(), options, options.first)
    pending = iter(words)
    while (block := list(islice(pending, _BLOCK_WORDS))) and not collector.full:
        collector.add(block, np.stack([model.get_word_vector(word) for word in block]))
        options.progress(collector.offered, None)
    return collector


def _load(path: Path) -> Any:
    try:
        import fasttext
    except ImportError:
        raise MissingExtraError("fasttext-numpy2", "fasttext", "Reading a fastText model") from None
    try:
        return fasttext.load_model(str(path))
    except (ValueError, MemoryError):
        raise FormatError(f"{path}: is not a sound fastText model.") from None


def check_structure(path: Path) -> None:
    """Walk through the sections of a model and compare them with the size of the file.

    The fastText library reads on past the end of a file that is cut short, so this comes before it.
    """
    size = path.stat().st_size
    with path.open("rb") as file:
        try:
            _magic, version = struct.unpack("<2i", _exactly(file, 8))
            dim = _ARGS.unpack(_exactly(file, _ARGS.size))[0]
            entries, _words, _labels, _tokens, pruned = _DICTIONARY.unpack(_exactly(file, _DICTIONARY.size))
            if version not in (11, 12) or dim < 1 or not 0 < entries <= size or pruned > size:
                raise EOFError
            _skip_entries(file, entries)
            _skip(file, 8 * max(pruned, 0), size)
            for _ in range(2):
                _skip_matrix(file, size)
        except (EOFError, struct.error):
            raise FormatError(f"{path}: is cut short or not a fastText model of version 12.") from None


def _exactly(file: BinaryIO, count: int) -> bytes:
    data = file.read(count)
    if len(data) != count:
        raise EOFError
    return data


def _skip(file: BinaryIO, count: int, size: int) -> None:
    if count < 0 or file.tell() + count > size:
        raise EOFError
    file.seek(count, 1)


def _skip_entries(file: BinaryIO, entries: int) -> None:
    """Each entry is a word that ends in a zero byte, a count of 8 bytes and a kind of 1 byte."""
    data, position = b"", 0
    for _ in range(entries):
        while (end := data.find(b"\0", position)) < 0 or end + 10 > len(data):
            more = file.read(_CHUNK)
            if not more:
                raise EOFError
            data, position = data[position:] + more, 0
        position = end + 10
    file.seek(position - len(data), 1)


def _skip_matrix(file: BinaryIO, size: int) -> None:
    quantised = _exactly(file, 1) != b"\0"
    if quantised:
        file.seek(0, 2)  # its inner layout is the library's to check
        file.seek(-1, 1)
        return
    rows, columns = struct.unpack("<2q", _exactly(file, 16))
    if rows < 0 or columns < 0:
        raise EOFError
    _skip(file, 4 * rows * columns, size)
