""".npy files with a separate word list, and .npz files with both. Pickled objects are refused."""

import codecs
import io
import warnings
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from wordveil.embedding.formats.archives import OpenedFile, member_name, open_zip, zip_stream
from wordveil.embedding.formats.selection import Collector, ReadOptions
from wordveil.errors import FormatError

__all__ = ["read_npy", "read_npz", "read_word_list"]

# Bytes of vectors read at a time: enough for sequential reading, and little beside the table.
_BLOCK: Final = 4 << 20
# A hundred million words. A larger file was passed by mistake, and must not fill the memory.
_LARGEST_LIST: Final = 1 << 30


def read_word_list(path: Path) -> list[str]:
    """Return the lines of a UTF-8 file, one word per line, without blank lines at the end."""
    if path.stat().st_size > _LARGEST_LIST:
        raise FormatError(f"{path}: is over 1 GiB, too large for a word list.")
    lines = path.read_bytes().removeprefix(codecs.BOM_UTF8).rstrip(b"\r\n").split(b"\n")
    words = []
    for number, line in enumerate(lines, start=1):
        try:
            words.append(line.rstrip(b"\r").decode("utf-8"))
        except UnicodeDecodeError:
            raise FormatError(f"{path}, line {number}: is not valid UTF-8.") from None
    if words == [""]:
        raise FormatError(f"{path}: the word list is empty.")
    return words


def read_npy(source: OpenedFile, options: ReadOptions, row_words: Path | None) -> Collector:
    """Read a matrix and the word of each row, from `row_words` (default: NAME.words.txt beside it)."""
    word_list = row_words or _word_list_beside(source.path)
    words = read_word_list(word_list)
    shape, dtype = _header(source.stream, source.name, source.size)
    if len(words) != shape[0]:
        raise FormatError(f"{source.name}: has {shape[0]:,} rows, and {word_list} has {len(words):,} words.")
    return _take_rows(source, source.stream, words, shape, dtype, options)


def _word_list_beside(path: Path) -> Path:
    name = path.name.removesuffix(".gz").removesuffix(".zip").removesuffix(".npy")
    word_list = path.with_name(f"{name}.words.txt")
    if not word_list.exists():
        raise FormatError(
            f"{path}: the words of its rows are unknown. "
            f"Hint: pass a file with one word per line as --row-words, or put {word_list.name} beside it."
        )
    return word_list


def read_npz(source: OpenedFile, options: ReadOptions) -> Collector:
    """Read an .npz file that holds one table of numbers and one list of words."""
    with source.as_file() as path, open_zip(path) as archive:
        words: list[str] | None = None
        table_name: str | None = None
        for info in archive.infolist():
            with io.BufferedReader(zip_stream(path, archive, info)) as stream:
                name = member_name(source.name, info)
                shape, dtype = _header(stream, name, info.file_size, allow_words=True)
                if dtype.kind == "U" and len(shape) == 1 and words is None:
                    words = _strings(_read_exactly(stream, shape, dtype, name), name)
                elif dtype.kind == "f" and len(shape) == 2 and table_name is None:
                    table_name = info.filename
                else:
                    table_name, words = None, None
                    break
        if words is None or table_name is None:
            raise FormatError(
                f"{source.name}: must hold one table of floating point numbers and one list of words."
            )
        table = archive.getinfo(table_name)
        with io.BufferedReader(zip_stream(path, archive, table)) as stream:
            shape, dtype = _header(stream, source.name, table.file_size)
            if len(words) != shape[0]:
                raise FormatError(f"{source.name}: has {shape[0]:,} rows and {len(words):,} words.")
            return _take_rows(source, stream, words, shape, dtype, options)


def _header(
    stream: BinaryIO, name: str, size: int | None, *, allow_words: bool = False
) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Read an .npy header, and refuse what is not a table of numbers (or, if allowed, a list of words)."""
    try:
        version = npy_format.read_magic(stream)
        read = npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # NumPy warns that headers written by Python 2 are slow to read
            shape, by_column, dtype = read(stream)
    except Exception:  # the header is Python syntax, and NumPy's parser fails in many ways
        raise FormatError(f"{name}: is not a valid .npy array.") from None
    if not all(type(length) is int and length >= 0 for length in shape) or dtype.itemsize == 0:
        raise FormatError(f"{name}: is not a valid .npy array.")
    if dtype.hasobject:
        raise FormatError(
            f"{name}: holds pickled Python objects, which could run any code, so they are refused."
        )
    is_table = dtype.kind == "f" and len(shape) == 2 and shape[1] >= 1
    is_list = allow_words and dtype.kind == "U" and len(shape) == 1
    if not (is_table or is_list) or (by_column and min(shape) > 1):
        raise FormatError(f"{name}: must be a table of floating point numbers, one row per word, in C order.")
    needed = dtype.itemsize * int(np.prod(shape, dtype=object))
    if size is not None and needed > size:
        raise FormatError(f"{name}: its header says {needed:,} bytes, more than the file holds.")
    return shape, dtype


def _strings(array: NDArray[Any], name: str) -> list[str]:
    try:
        return [str(word) for word in array.tolist()]
    except (ValueError, SystemError):  # code points outside Unicode
        raise FormatError(f"{name}: holds text that is not valid Unicode.") from None


def _read_exactly(stream: BinaryIO, shape: tuple[int, ...], dtype: np.dtype[Any], name: str) -> NDArray[Any]:
    needed = dtype.itemsize * int(np.prod(shape, dtype=object))
    data = stream.read(needed)
    if len(data) != needed:
        raise FormatError(f"{name}: is cut short.")
    return np.frombuffer(data, dtype=dtype).reshape(shape)


def _take_rows(
    source: OpenedFile,
    stream: BinaryIO,
    words: list[str],
    shape: tuple[int, ...],
    dtype: np.dtype[Any],
    options: ReadOptions,
) -> Collector:
    rows, dim = shape
    collector = Collector(dim, options, rows if source.size is not None else None)
    step = max(1, _BLOCK // (dtype.itemsize * dim))
    for start in range(0, rows, step):
        count = min(step, rows - start)
        block = _read_exactly(stream, (count, dim), dtype, source.name)
        collector.add(words[start : start + count], block)
        options.progress(source.done(), source.raw_size)
        if collector.full:
            break
    return collector
