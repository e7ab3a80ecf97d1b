"""gzip and Zstandard: read as a stream; written one chunk at a time, as consecutive members of a file."""

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

# Compressed bytes per step. A run of zeros unpacks to 30,000 times its size, so small steps bound the memory:
# 4 KiB become 120 MB at worst.
_FED_BYTES: Final = 1 << 12
_BUFFER_BYTES: Final = 1 << 20  # unpacked: one block of lines, so a block is filled by one read
_GZIP_LEVEL: Final = 6  # zlib's own default; 9 takes far longer for files that are hardly smaller


def decompressed(file: BinaryIO, compression: Compression, name: str) -> BinaryIO:
    """Return the decompressed stream; damage raises a FormatError when it is reached."""
    match compression:
        case "gz":
            return io.BufferedReader(_Unpacked(file, name, _Gzip()), _BUFFER_BYTES)
        case "zst":
            return io.BufferedReader(_Unpacked(file, name, _Zstandard()), _BUFFER_BYTES)
        case _:
            return file


def compressor(compression: Compression) -> Callable[[bytes], bytes]:
    """Return a function that compresses bytes into one member; joined members are a valid file."""
    match compression:
        case "gz":
            return lambda data: gzip.compress(data, compresslevel=_GZIP_LEVEL, mtime=0)
        case "zst":
            compress: Callable[[bytes], bytes] = _zstandard().ZstdCompressor().compress
            return compress
        case _:
            return lambda data: data


@contextmanager
def packed_writer(file: BinaryIO, compression: Compression) -> Iterator[BinaryIO]:
    """Yield a file that compresses everything written to it into one member; `file` stays open."""
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
    """The content of a compressed file, member by member; a truncated member is an error, not an end."""

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
            raise FormatError(f"{self._name}: is not a {self._kind.title} file, or it is damaged.") from None
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _advance(self) -> bool:
        """Unpack one more step; return False at the end of the file."""
        if not self._packed:
            self._packed = self._file.read(_FED_BYTES)
        if not self._packed:
            if self._member is not None:
                raise FormatError(f"{self._name}: is cut short. Hint: copy it again.")
            return False
        if self._member is None:
            if self._begun:  # zero bytes may follow the members of a gzip file
                self._packed = self._packed.lstrip(b"\0")
            if not self._packed:
                return True
            self._member, self._begun = self._kind.member(), True
        self._ready = memoryview(self._member.decompress(self._packed))
        self._packed = b""
        if self._member.eof:
            self._packed, self._member = self._member.unused_data, None
        return True
