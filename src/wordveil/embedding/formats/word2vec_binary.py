"""word2vec binary: a header line, then each word, a space, and its float32 numbers."""

from typing import Final

import numpy as np

from wordveil.embedding.formats.archives import Source
from wordveil.embedding.formats.selection import Collector, ReadOptions
from wordveil.embedding.formats.text import parse_header
from wordveil.errors import FormatError

__all__ = ["read_word2vec_binary"]

_BLOCK: Final = 4 << 20
_LONGEST_WORD: Final = 64 << 10


def read_word2vec_binary(source: Source, options: ReadOptions) -> Collector:
    """Read a word2vec binary file."""
    promised, dim = _header(source)
    wanted = promised if options.first is None else min(promised, options.first)
    collector = Collector(dim, options, None if source.size is None else wanted)
    rest, taken = b"", 0
    while taken < wanted:
        data = source.stream.read(_BLOCK)
        rest += data
        options.progress(source.done(), source.raw_size)
        words, block, used = _split(rest, dim, wanted - taken, source.name, taken)
        if not data and not words:
            raise FormatError(
                f"{source.name}: is cut short: the header says {promised:,} words, "
                f"and the file ends after word {taken:,}."
            )
        collector.add(words, block)
        taken += len(words)
        rest = rest[used:]
    if wanted == promised and (rest + source.stream.read(16)).strip(b"\r\n"):
        raise FormatError(f"{source.name}: has more than the {promised:,} words of its header.")
    return collector


def _header(source: Source) -> tuple[int, int]:
    header = parse_header(source.stream.readline(1024))
    if header is None or header[1] < 1:
        raise FormatError(
            f"{source.name}: does not begin with a header of two whole numbers, words and dimensions."
        )
    smallest = header[0] * (4 * header[1] + 2)
    if source.size is not None and smallest > source.size:
        raise FormatError(
            f"{source.name}: the header says {header[0]:,} words of {header[1]:,} dimensions, "
            "which is more than the file holds."
        )
    if 4 * header[1] > _BLOCK:
        raise FormatError(f"{source.name}: the header says {header[1]:,} dimensions.")
    return header


def _split(
    data: bytes, dim: int, most: int, name: str, before: int
) -> tuple[list[str], np.ndarray[tuple[int, int], np.dtype[np.float32]], int]:
    """Return the whole records at the start of `data`, and how many bytes they take."""
    words: list[str] = []
    vectors: list[bytes] = []
    position, width = 0, 4 * dim
    while len(words) < most:
        space = data.find(b" ", position)
        if space < 0 or space + 1 + width > len(data):
            if space < 0 and len(data) - position > _LONGEST_WORD:
                raise FormatError(f"{name}: word {before + len(words) + 1} never ends.")
            break
        try:
            words.append(data[position:space].lstrip(b"\r\n").decode("utf-8"))
        except UnicodeDecodeError:
            raise FormatError(f"{name}: word {before + len(words) + 1} is not valid UTF-8.") from None
        vectors.append(data[space + 1 : space + 1 + width])
        position = space + 1 + width
    block = np.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(words), dim)
    return words, block, position
