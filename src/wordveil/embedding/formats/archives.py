"""Byte streams out of plain, gzipped and zipped files, guarded against bombs and pickles."""

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

__all__ = ["Source", "check_ratio", "member_name", "open_source", "open_zip", "refuse_pickle", "zip_stream"]

_GZIP: Final = b"\x1f\x8b"
_ZIP: Final = b"PK\x03\x04"
_BOMB_RATIO: Final = 100
_BOMB_FLOOR: Final = 64 << 20
_HEAD: Final = 1 << 16


@dataclass(frozen=True, slots=True)
class Source:
    """An open source of bytes: `name` says what it is for people, `size` is None where unknown."""

    stream: "io.BufferedReader[Any]"
    raw: "_Counted"
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
        """How many bytes of the file on disk have been read."""
        return self.raw.count

    @contextmanager
    def as_file(self) -> Iterator[Path]:
        """Yield the path of a plain file with the content, for readers that need one to move about in."""
        if not self.packed and self.raw_size is not None:
            yield self.path
            return
        with tempfile.NamedTemporaryFile(prefix="wordveil-") as copy:
            shutil.copyfileobj(self.stream, copy, 1 << 20)
            copy.flush()
            yield Path(copy.name)


@contextmanager
def open_source(path: Path, member: str | None = None) -> Iterator[Source]:
    """Open `path` for reading (`-` is standard input), unpacking gzip or a member of a zip on the way.

    A zip of .npy arrays (an .npz) is handed out as it is, unless a member is named.
    """
    with ExitStack() as stack:
        raw = _Counted(stack.enter_context(_open_raw(path)))
        stream: io.BufferedReader[Any] = stack.enter_context(io.BufferedReader(raw, _HEAD))
        name, whole = str(path), path.stat().st_size if path.is_file() else None
        size, magic = whole, stream.peek(4)[:4]
        is_zip = magic == _ZIP and not (member is None and whole is not None and is_npz(path))
        if member is not None and not is_zip:
            raise FormatError(f"{path}: is not a zip file, so it has no members.")
        if is_zip and whole is None:
            raise FormatError(f"{path}: a zip file can't be read from a pipe. Hint: give its path.")
        try:
            if is_zip:
                archive = stack.enter_context(open_zip(path))
                info = _choose(path, archive, member)
                name, size = member_name(path, info), info.file_size
                unpacked: io.RawIOBase = zip_stream(path, archive, info)
            elif magic[:2] == _GZIP:
                unpacked, size = _Guarded(gzip.GzipFile(fileobj=stream), raw, name), None
            packed = is_zip or magic[:2] == _GZIP
            if packed:
                stream = stack.enter_context(io.BufferedReader(unpacked, _HEAD))
            yield _checked(Source(stream, raw, name, path, size, whole, packed))
        except (gzip.BadGzipFile, zipfile.BadZipFile, zlib.error, EOFError):
            raise FormatError(f"{path}: the compressed file is damaged or cut short.") from None


def _open_raw(path: Path) -> io.FileIO:
    return io.FileIO(0 if str(path) == "-" else path, closefd=str(path) != "-")


def _checked(source: Source) -> Source:
    if not source.head:
        raise FormatError(f"{source.name}: the file is empty.")
    refuse_pickle(source.head, source.name)
    return source


def refuse_pickle(head: bytes, name: str) -> None:
    """Raise FormatError if the content is a Python pickle, whatever its name."""
    if head[:1] == b"\x80" and head[1:2] in (b"\x02", b"\x03", b"\x04", b"\x05"):
        raise FormatError(
            f"{name}: is a Python pickle, which can run any code when it is opened, and never is here. "
            "Hint: export the vectors with gensim's save_word2vec_format or NumPy's save."
        )


def is_npz(path: Path) -> bool:
    """Tell whether a zip file holds .npy arrays only."""
    with open_zip(path) as archive:
        names = archive.namelist()
    return bool(names) and all(name.endswith(".npy") for name in names)


def open_zip(path: Path) -> zipfile.ZipFile:
    """Open a zip file and check the names in it, and where they say that their contents are."""
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
        chosen = [info for info in files if info.filename == member]
        if not chosen:
            raise FormatError(f"{path}: has no member of that name. Hint: it has {_some_names(files)}.")
        return chosen[0]
    if len(files) != 1:
        raise FormatError(
            f"{path}: has {len(files)} members. Hint: name one with --member: {_some_names(files)}."
        )
    return files[0]


def _some_names(files: list[zipfile.ZipInfo]) -> str:
    names = [ascii(info.filename) for info in files[:5]]
    return ", ".join(names) + (" …" if len(files) > 5 else "")


def member_name(archive: str | Path, info: zipfile.ZipInfo) -> str:
    """Return what errors call a member of an archive: on one line, whatever its name."""
    name = "".join(letter if letter.isprintable() else "?" for letter in info.filename)
    return f"{archive}({name})"


def zip_stream(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> io.RawIOBase:
    """Open one member, unless it is encrypted or expands like a bomb."""
    name = member_name(path, info)
    check_ratio(info.file_size, info.compress_size, name)
    encrypted = info.flag_bits & 1
    if encrypted or info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise FormatError(f"{name}: is encrypted, or packed by another method than deflate.")
    try:
        return _Guarded(archive.open(info), None, name)
    except (RuntimeError, ValueError):  # features that zipfile lacks, for instance
        raise FormatError(f"{name}: is damaged.") from None


def check_ratio(unpacked: int, packed: int, name: str) -> None:
    """Raise FormatError if content expands more than any real vectors do."""
    if unpacked > _BOMB_FLOOR and unpacked > _BOMB_RATIO * max(packed, 1):
        raise FormatError(
            f"{name}: expands more than {_BOMB_RATIO} times, as no vectors do; refused as a bomb."
        )


class _Counted(io.RawIOBase):
    """A file that knows how many bytes were read from it, also where it can't tell a position."""

    def __init__(self, inner: io.FileIO) -> None:
        self._inner = inner
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # any writable buffer
        given = self._inner.readinto(buffer) or 0
        self.count += given
        return given


class _Guarded(io.RawIOBase):
    """A decompressing stream that stops when it has given far more than it has read."""

    def __init__(self, inner: gzip.GzipFile | IO[bytes], raw: "_Counted | None", name: str) -> None:
        self._inner, self._raw, self._name = inner, raw, name
        self._given = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # any writable buffer
        data = self._inner.read(len(buffer))
        buffer[: len(data)] = data
        self._given += len(data)
        if self._raw is not None:
            check_ratio(self._given, self._raw.count, self._name)
        return len(data)
