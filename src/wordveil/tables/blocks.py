"""Complete lines of UTF-8, one block at a time; memory is bounded by the longest line that is allowed."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, Final, Self

from wordveil.errors import FormatError, MachineError
from wordveil.tokens import LARGEST_TEXT

__all__ = ["Block", "LineError", "blocks_of_lines", "lines_of"]

# Bytes per read. Smaller blocks need more calls; larger ones need more memory and save nothing, since a chunk
# has at most as many bytes.
_BLOCK_BYTES: Final = 1 << 20
_BOM: Final = b"\xef\xbb\xbf"
TOO_LONG: Final = "is over 16 MiB. Hint: cut it into shorter texts."


class LineError(FormatError):
    """A line that can't be read; the message says which."""

    def __init__(self, name: str, line: int, problem: str) -> None:
        self.name, self.line, self.problem = name, line, problem
        super().__init__(f"{name}, line {line}: {problem}")

    def __reduce__(self) -> tuple[type[Self], tuple[str, int, str]]:
        return type(self), (self.name, self.line, self.problem)


@dataclass(frozen=True, slots=True)
class Block:
    """Complete lines with their line ends, and the number of the first line, counted from 1."""

    text: str
    line: int


def blocks_of_lines(file: BinaryIO, name: str, *, unbuffered: bool = False) -> Iterator[Block]:
    """Yield the lines of a file without its byte order mark.

    With `unbuffered`, yield the lines that have arrived so far, without waiting for a full block.
    """
    parts: list[bytes] = []
    size, line = 0, 1
    read = getattr(file, "read1", file.read) if unbuffered else file.read
    data = _first_bytes(read, name)
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
        data = _next_bytes(read, name)
    if size:
        yield from _decoded(b"".join(parts), name, line)


def _first_bytes(read: Callable[[int], bytes | None], name: str) -> bytes:
    """Return the first bytes of a file without a byte order mark, which may arrive in several reads."""
    data = _next_bytes(read, name)
    if not data:
        raise FormatError(f"{name}: is empty. Hint: is it the right file?")
    while _BOM.startswith(data) and data != _BOM and (more := _next_bytes(read, name)):
        data += more
    return data.removeprefix(_BOM) or _next_bytes(read, name)


def _next_bytes(read: Callable[[int], bytes | None], name: str) -> bytes:
    data = read(_BLOCK_BYTES)
    if data is None:
        raise MachineError(
            f"{name}: has no data yet and does not wait for it. Hint: open it in blocking mode."
        )
    return data


def _decoded(data: bytes, name: str, line: int) -> Iterator[Block]:
    if len(data) > LARGEST_TEXT:
        for number, content in enumerate(data.split(b"\n"), line):
            if len(content.removesuffix(b"\r")) > LARGEST_TEXT:
                raise LineError(name, number, TOO_LONG)
    try:
        yield Block(data.decode("utf-8"), line)
    except UnicodeDecodeError as error:
        begin = data.rfind(b"\n", 0, error.start) + 1
        if begin:  # yield the valid lines first: the reader counts them to say which row is wrong
            yield Block(data[:begin].decode("utf-8"), line)
        raise LineError(
            name, line + data.count(b"\n", 0, begin), "is not valid UTF-8. Hint: save it as UTF-8."
        ) from None


def lines_of(block: Block) -> list[str]:
    """Return the lines of a block without their line ends."""
    lines = block.text.split("\n")
    if not lines[-1]:
        lines.pop()
    return [line.removesuffix("\r") for line in lines] if "\r" in block.text else lines
