"""Whole lines of UTF-8, a block at a time, with memory bounded by the longest line that is allowed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final, Self

from wordveil.errors import FormatError, MachineError
from wordveil.tokens import LARGEST_TEXT

__all__ = ["Block", "LineError", "blocks_of_lines", "lines_of"]

_BLOCK_BYTES: Final = 1 << 20
_BOM: Final = b"\xef\xbb\xbf"
TOO_LONG: Final = "is over 16 MiB. Hint: cut it into shorter texts."


class LineError(FormatError):
    """A line that can't be read; the text of the error names it."""

    def __init__(self, name: str, line: int, what: str) -> None:
        self.name, self.line, self.what = name, line, what
        super().__init__(f"{name}, line {line}: {what}")

    def __reduce__(self) -> tuple[type[Self], tuple[str, int, str]]:
        return type(self), (self.name, self.line, self.what)


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines with their ends, and the number of the first, counted from 1."""

    text: str
    line: int


def blocks_of_lines(file: BinaryIO, name: str, *, unbuffered: bool = False) -> Iterator[Block]:
    """Yield the lines of a file; `unbuffered` yields those that have come so far, to serve a slow writer.

    A byte order mark at the beginning is left out.
    """
    parts: list[bytes] = []
    size, line = 0, 1
    read = getattr(file, "read1", file.read) if unbuffered else file.read
    data = _opening(read, name)
    while data != b"":
        end = data.rfind(b"\n") + 1
        parts.append(data[:end] if end else data)
        size += len(parts[-1])
        if not end:
            if size > LARGEST_TEXT + 2:
                raise LineError(name, line, TOO_LONG)
        else:
            lines = b"".join(parts)
            parts, size = [data[end:]], len(data) - end
            yield from _decoded(lines, name, line)
            line += lines.count(b"\n")
        data = _more(read, name)
    if size:
        yield from _decoded(b"".join(parts), name, line)


def _opening(read: Callable[[int], bytes | None], name: str) -> bytes:
    """Return the first bytes of a file without a byte order mark, which two reads may bring."""
    data = _more(read, name)
    if not data:
        raise FormatError(f"{name}: is empty. Hint: is it the right file?")
    while _BOM.startswith(data) and data != _BOM and (more := _more(read, name)):
        data += more
    return data.removeprefix(_BOM) or _more(read, name)


def _more(read: Callable[[int], bytes | None], name: str) -> bytes:
    data = read(_BLOCK_BYTES)
    if data is None:
        raise MachineError(f"{name}: has nothing yet and does not wait. Hint: open it in blocking mode.")
    return data


def _decoded(data: bytes, name: str, line: int) -> Iterator[Block]:
    if len(data) > LARGEST_TEXT:
        for number, each in enumerate(data.split(b"\n")):
            if len(each.removesuffix(b"\r")) > LARGEST_TEXT:
                raise LineError(name, line + number, TOO_LONG)
    try:
        yield Block(data.decode("utf-8"), line)
    except UnicodeDecodeError as error:
        begin = data.rfind(b"\n", 0, error.start) + 1
        if begin:  # what is before is read, so that whoever reads it knows how many rows there were
            yield Block(data[:begin].decode("utf-8"), line)
        raise LineError(
            name, line + data.count(b"\n", 0, begin), "is not valid UTF-8. Hint: save it as UTF-8."
        ) from None


def lines_of(block: Block) -> list[str]:
    """Return the lines of a block without their ends."""
    lines = block.text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines] if "\r" in block.text else lines
