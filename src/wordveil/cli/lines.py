"""Texts from standard input or a file, a text a line, as they come."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from wordveil.errors import FormatError, MachineError
from wordveil.tokens import LARGEST_TEXT

__all__ = ["batches_of_lines", "open_lines"]

_CHUNK: Final = 1 << 20


@contextmanager
def open_lines(source: str) -> Iterator[BinaryIO]:
    """Yield the file of that path, or standard input for `-`."""
    if source == "-":
        if sys.stdin is None:
            raise MachineError("Standard input is closed.")
        yield sys.stdin.buffer
        return
    with Path(source).open("rb") as file:
        yield file


def batches_of_lines(file: BinaryIO, name: str) -> Iterator[list[str]]:
    """Yield the lines that have come so far, again and again, so that a slow writer gets answers at once."""
    parts: list[bytes] = []
    size, number = 0, 1
    read = getattr(file, "read1", file.read)
    while data := read(_CHUNK):
        parts.append(data)
        size += len(data)
        if b"\n" not in data:
            if size > LARGEST_TEXT + 2:
                raise _too_long(name, number)
            continue
        *lines, rest = b"".join(parts).split(b"\n")
        parts, size = [rest], len(rest)
        yield [_text(line, name, number + i) for i, line in enumerate(lines)]
        number += len(lines)
    if size:
        yield [_text(b"".join(parts), name, number)]


def _text(line: bytes, name: str, number: int) -> str:
    line = line.removesuffix(b"\r")
    if len(line) > LARGEST_TEXT:
        raise _too_long(name, number)
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError:
        raise FormatError(f"{name}, line {number}: is not valid UTF-8.") from None


def _too_long(name: str, number: int) -> FormatError:
    return FormatError(f"{name}, line {number}: is over 16 MiB. Hint: cut it into shorter texts.")
