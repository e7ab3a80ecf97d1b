"""gzip and Zstandard: read as a stream, written a chunk at a time as members that stand in a row."""

import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, Final, Literal, cast

from wordveil.errors import FormatError, MissingExtraError

__all__ = ["COMPRESSIONS", "Compression", "compressor", "decompressed", "packed_writer"]

Compression = Literal["", "gz", "zst"]
COMPRESSIONS: Final[dict[str, Compression]] = {".gz": "gz", ".zst": "zst"}
"""The compression that each file extension implies."""

# A run of zeros unpacks to 30,000 times its size: feeding little at a time bounds what comes out at once.
_FED_BYTES: Final = 1 << 12


def decompressed(file: BinaryIO, compression: Compression, name: str) -> BinaryIO:
    """Return a stream of what was compressed; damage is a FormatError when the reading comes to it."""
    match compression:
        case "gz":
            return io.BufferedReader(_Unpacked(file, name, _Gzip()), 1 << 20)
        case "zst":
            return io.BufferedReader(_Unpacked(file, name, _Zstandard()), 1 << 20)
        case _:
            return file


def compressor(compression: Compression) -> Callable[[bytes], bytes]:
    """Return what makes one member of some bytes; members can be joined."""
    match compression:
        case "gz":
            return lambda data: gzip.compress(data, compresslevel=6, mtime=0)
        case "zst":
            packed: Callable[[bytes], bytes] = _zstandard().ZstdCompressor().compress
            return packed
        case _:
            return lambda data: data


@contextmanager
def packed_writer(file: BinaryIO, compression: Compression) -> Iterator[BinaryIO]:
    """Yield what packs all that is written to it into one member; the file stays open."""
    match compression:
        case "gz":
            with gzip.GzipFile(fileobj=file, mode="wb", filename="", mtime=0) as packed:
                yield cast(BinaryIO, packed)
        case "zst":
            with _zstandard().ZstdCompressor().stream_writer(file, closefd=False) as packed:
                yield packed
        case _:
            yield file


def _zstandard() -> Any:
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError("zstandard", "files", "A .zst file") from None
    return zstandard


class _Gzip:
    title: Final = "gzip"
    errors: Final = (zlib.error,)

    def member(self) -> Any:
        return zlib.decompressobj(wbits=31)


class _Zstandard:
    title: Final = "Zstandard"

    def __init__(self) -> None:
        library = _zstandard()
        self.errors: Final = (library.ZstdError,)
        self.member: Final = library.ZstdDecompressor().decompressobj


class _Unpacked(io.RawIOBase):
    """The members of a compressed file, one by one; one that is cut short is an error, not an end."""

    def __init__(self, file: BinaryIO, name: str, kind: _Gzip | _Zstandard) -> None:
        self._file, self._name, self._kind = file, name, kind
        self._member: Any = None
        self._begun = False
        self._packed = b""
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            while not self._ready and self._advance():
                pass
        except self._kind.errors:
            raise FormatError(f"{self._name}: is no {self._kind.title} file, or is damaged.") from None
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _advance(self) -> bool:
        """Unpack a little more; say whether there is more to come."""
        if not self._packed:
            self._packed = self._file.read(_FED_BYTES)
        if not self._packed:
            if self._member is not None:
                raise FormatError(f"{self._name}: is cut short. Hint: copy it again.")
            return False
        if self._member is None:
            if self._begun:  # zero bytes may pad a gzip file
                self._packed = self._packed.lstrip(b"\0")
            if not self._packed:
                return True
            self._member, self._begun = self._kind.member(), True
        self._ready = memoryview(self._member.decompress(self._packed))
        self._packed = b""
        if self._member.eof:
            self._packed, self._member = self._member.unused_data, None
        return True
