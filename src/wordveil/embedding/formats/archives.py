"""Byte streams from plain, gzipped and zipped files, guarded against bombs and pickles."""

import gzip
import io
import shutil
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any, Final

from wordveil.errors import FormatError
from wordveil.folders import printable_name

__all__ = [
    "ZIP_MAGIC",
    "OpenedFile",
    "check_ratio",
    "member_name",
    "open_file",
    "open_zip",
    "refuse_pickle",
    "zip_stream",
]

ZIP_MAGIC: Final = b"PK\x03\x04"
_GZIP_MAGIC: Final = b"\x1f\x8b"
# Vectors are nearly random digits or bits, which compress a few times. Deflate reaches 1,000 times at most,
# so 100 separates the two. Below 64 MiB nothing can exhaust memory, so small files may expand as they like.
_BOMB_RATIO: Final = 100
_BOMB_FLOOR: Final = 64 << 20
# How much of a file is buffered, and can be examined before it is read: more than any header, with room for
# the first vectors.
_HEAD: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class OpenedFile:
    """A file of vectors or counts, open and unpacked. `size` and `raw_size` are None if unknown.

    `name` is for messages. `size` is that of the content; `raw_size`, that of the file on disk, which may be
    packed.
    """

    stream: "io.BufferedReader[Any]"
    raw: "_CountingReader"
    name: str
    path: Path
    size: int | None
    raw_size: int | None
    packed: bool

    @property
    def head(self) -> bytes:
        """The first bytes of the content, without consuming them."""
        return self.stream.peek(_HEAD)[:_HEAD]

    def done(self) -> int:
        """Return how many bytes of the file on disk have been read."""
        return self.raw.count

    @contextmanager
    def as_file(self) -> Iterator[Path]:
        """Yield the path of an unpacked file with the content, for readers that need to seek."""
        if not self.packed and self.raw_size is not None:
            yield self.path
            return
        with tempfile.NamedTemporaryFile(prefix="wordveil-") as copy:
            shutil.copyfileobj(self.stream, copy, 1 << 20)
            copy.flush()
            yield Path(copy.name)


@contextmanager
def open_file(path: Path, member: str | None = None) -> Iterator[OpenedFile]:
    """Open `path` for reading (`-` is standard input), and unpack gzip or a member of a zip.

    A zip of .npy arrays (an .npz) is returned as it is, unless a member is named.
    """
    with ExitStack() as stack:
        raw = _CountingReader(stack.enter_context(_open_raw(path)))
        stream: io.BufferedReader[Any] = stack.enter_context(io.BufferedReader(raw, _HEAD))
        name, raw_size = str(path), path.stat().st_size if path.is_file() else None
        size, magic = raw_size, stream.peek(4)[:4]
        is_zip = magic == ZIP_MAGIC and not (member is None and raw_size is not None and is_npz(path))
        if member is not None and not is_zip:
            raise FormatError(f"{path}: is not a zip file, so it has no members.")
        if is_zip and raw_size is None:
            raise FormatError(f"{path}: a zip file can't be read from a pipe. Hint: give its path.")
        try:
            if is_zip:
                archive = stack.enter_context(open_zip(path))
                info = _choose(path, archive, member)
                name, size = member_name(path, info), info.file_size
                unpacked: io.RawIOBase = zip_stream(path, archive, info)
            elif magic[:2] == _GZIP_MAGIC:
                unpacked, size = _GuardedReader(gzip.GzipFile(fileobj=stream), raw, name), None
            packed = is_zip or magic[:2] == _GZIP_MAGIC
            if packed:
                stream = stack.enter_context(io.BufferedReader(unpacked, _HEAD))
            yield _checked(OpenedFile(stream, raw, name, path, size, raw_size, packed))
        except (gzip.BadGzipFile, zipfile.BadZipFile, zlib.error, EOFError):
            raise FormatError(f"{path}: the compressed file is damaged or cut short.") from None


def _open_raw(path: Path) -> io.FileIO:
    return io.FileIO(0 if str(path) == "-" else path, closefd=str(path) != "-")


def _checked(source: OpenedFile) -> OpenedFile:
    if not source.head:
        raise FormatError(f"{source.name}: the file is empty.")
    refuse_pickle(source.head, source.name)
    return source


def refuse_pickle(head: bytes, name: str) -> None:
    """Raise FormatError if the content is a Python pickle, whatever its name."""
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        raise FormatError(
            f"{name}: is a Python pickle, which could run any code when it is opened, so it is refused. "
            "Hint: export the vectors with gensim's save_word2vec_format or NumPy's save."
        )


def is_npz(path: Path) -> bool:
    """Return whether a zip file contains only .npy arrays."""
    with open_zip(path) as archive:
        names = archive.namelist()
    return bool(names) and all(name.endswith(".npy") for name in names)


def open_zip(path: Path) -> zipfile.ZipFile:
    """Open a zip file, and check the names and positions of its members."""
    damaged = FormatError(f"{path}: the zip file is damaged or cut short.")
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, NotImplementedError, ValueError):
        raise damaged from None
    size = path.stat().st_size
    for info in archive.infolist():
        if not 0 <= info.header_offset < size:
            archive.close()
            raise damaged
        name = info.filename
        if ".." in PurePosixPath(name.replace("\\", "/")).parts or name.startswith(("/", "\\")):
            archive.close()
            raise FormatError(f"{path}: a member's name leads outside of the archive; refused.")
    return archive


def _choose(path: Path, archive: zipfile.ZipFile, member: str | None) -> zipfile.ZipInfo:
    files = [info for info in archive.infolist() if not info.is_dir()]
    if member is not None:
        matches = [info for info in files if info.filename == member]
        if not matches:
            raise FormatError(f"{path}: has no member of that name. Hint: it has {_some_names(files)}.")
        return matches[0]
    if len(files) != 1:
        raise FormatError(
            f"{path}: has {len(files)} members. Hint: name one with --member: {_some_names(files)}."
        )
    return files[0]


def _some_names(files: list[zipfile.ZipInfo]) -> str:
    names = [ascii(info.filename) for info in files[:5]]
    return ", ".join(names) + (" …" if len(files) > 5 else "")


def member_name(archive: str | Path, info: zipfile.ZipInfo) -> str:
    """Return how error messages refer to a member of an archive."""
    return f"{archive}({printable_name(info.filename)})"


def zip_stream(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> io.RawIOBase:
    """Open one member, unless it is encrypted or expands like a bomb."""
    name = member_name(path, info)
    check_ratio(info.file_size, info.compress_size, name)
    encrypted = info.flag_bits & 1
    if encrypted or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise FormatError(f"{name}: is encrypted, or packed by another method than deflate.")
    try:
        return _GuardedReader(archive.open(info), None, name)
    except (RuntimeError, ValueError):  # for instance a feature that zipfile does not support
        raise FormatError(f"{name}: is damaged.") from None


def check_ratio(unpacked: int, packed: int, name: str) -> None:
    """Raise FormatError if the content expands more than real vectors ever do."""
    if unpacked > _BOMB_FLOOR and unpacked > _BOMB_RATIO * max(packed, 1):
        raise FormatError(
            f"{name}: expands more than {_BOMB_RATIO} times, as no vectors do; refused as a bomb."
        )


class _CountingReader(io.RawIOBase):
    """Counts the bytes read from a file, even from a pipe, which has no position."""

    def __init__(self, inner: io.FileIO) -> None:
        self._inner = inner
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # any writable buffer
        count = self._inner.readinto(buffer) or 0
        self.count += count
        return count


class _GuardedReader(io.RawIOBase):
    """A decompressing stream that fails once its output is far larger than its input."""

    def __init__(self, inner: gzip.GzipFile | IO[bytes], raw: _CountingReader | None, name: str) -> None:
        self._inner, self._raw, self._name = inner, raw, name
        self._unpacked = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # any writable buffer
        data = self._inner.read(len(buffer))
        buffer[: len(data)] = data
        self._unpacked += len(data)
        if self._raw is not None:
            check_ratio(self._unpacked, self._raw.count, self._name)
        return len(data)
