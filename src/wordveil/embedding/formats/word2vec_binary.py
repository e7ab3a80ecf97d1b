"""word2vec binary: a header line, then each word, a space, and its float32 numbers."""

from typing import Final

import numpy as np

from wordveil.embedding.formats.archives import OpenedFile
from wordveil.embedding.formats.selection import Collector, ReadOptions
from wordveil.embedding.formats.text import LONGEST_HEADER, parse_header
from wordveil.errors import FormatError

__all__ = ["read_word2vec_binary"]

# Bytes read at a time: enough for sequential reading, and little beside the table. Also the longest vector.
_BLOCK: Final = 4 << 20
# Far longer than any word. Without a limit, a damaged file would be read to its end in search of a space.
_LONGEST_WORD: Final = 64 << 10


def read_word2vec_binary(source: OpenedFile, options: ReadOptions) -> Collector:
    """Read a word2vec binary file."""
    stated_words, dim = _header(source)
    needed = stated_words if options.first is None else min(stated_words, options.first)
    collector = Collector(dim, options, None if source.size is None else needed)
    buffer, done = b"", 0
    while done < needed:
        data = source.stream.read(_BLOCK)
        buffer += data
        options.progress(source.done(), source.raw_size)
        words, vectors, used = _split(buffer, dim, needed - done, source.name, done)
        if not data and not words:
            raise FormatError(
                f"{source.name}: is cut short: the header says {stated_words:,} words, "
                f"and the file ends after word {done:,}."
            )
        collector.add(words, vectors)
        done += len(words)
        buffer = buffer[used:]
    if needed == stated_words and (buffer + source.stream.read(16)).strip(b"\r\n"):
        raise FormatError(f"{source.name}: has more than the {stated_words:,} words of its header.")
    return collector


def _header(source: OpenedFile) -> tuple[int, int]:
    header = parse_header(source.stream.readline(LONGEST_HEADER))
    if header is None or header[1] < 1:
        raise FormatError(
            f"{source.name}: does not start with a header of two whole numbers, words and dimensions."
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
    data: bytes, dim: int, limit: int, name: str, done: int
) -> tuple[list[str], np.ndarray[tuple[int, int], np.dtype[np.float32]], int]:
    """Return the words and vectors of up to `limit` complete records in `data`, and their size in bytes.

    `done` records came before them.
    """
    words: list[str] = []
    vectors: list[bytes] = []
    position, width = 0, 4 * dim
    while len(words) < limit:
        space = data.find(b" ", position)
        if space < 0 or space + 1 + width > len(data):
            if space < 0 and len(data) - position > _LONGEST_WORD:
                raise FormatError(f"{name}: word {done + len(words) + 1} never ends.")
            break
        try:
            words.append(data[position:space].lstrip(b"\r\n").decode("utf-8"))
        except UnicodeDecodeError:
            raise FormatError(f"{name}: word {done + len(words) + 1} is not valid UTF-8.") from None
        vectors.append(data[space + 1 : space + 1 + width])
        position = space + 1 + width
    block = np.frombuffer(b"".join(vectors), dtype="<f4").reshape(len(words), dim)
    return words, block, position
