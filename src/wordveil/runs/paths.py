"""The files that a run reads and writes, and the checks of both."""

import hashlib
import os
import stat
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from wordveil.errors import FormatError, ParameterError

__all__ = ["Input", "Targets", "file_digest", "open_binary", "publish", "shown_path"]

_BLOCK: Final = 1 << 20  # bytes read at a time: little memory, and few calls


class Targets(NamedTuple):
    """The three files of a run: the output, the manifest published with it, and the private counts."""

    output: Path
    manifest: Path
    private: Path

    @classmethod
    def of(cls, output: Path) -> "Targets":
        """Return the files for an output."""
        if output.name in ("", ".", ".."):
            raise ParameterError(f"'{output}' is not the name of a file. Hint: name the output.")
        return cls(
            output,
            output.with_name(f"{output.name}.manifest.json"),
            output.with_name(f"{output.name}.private.json"),
        )

    def check(self, source: Path | None) -> None:
        """Refuse targets that must never be written to: symbolic links, special files, the input itself."""
        if not self.output.parent.is_dir():
            raise FileNotFoundError(2, "No such folder", str(self.output.parent))
        for path in self:
            if path.is_symlink():
                raise ParameterError(f"{path} is a symbolic link. Hint: name the file itself.")
            if path.exists():
                if source is not None and source.exists() and path.samefile(source):
                    raise ParameterError(f"{path} is the input. Hint: choose another name for the output.")
                if not path.is_file():
                    raise ParameterError(f"{path} is not a plain file. Hint: choose another name.")

    def check_new(self) -> None:
        """Refuse to replace any existing file."""
        for path in self:
            if path.exists():
                raise _exists(path)

    def check_output(self) -> None:
        """Refuse to replace an existing output."""
        if self.output.exists():
            raise _exists(self.output)


def _exists(path: Path) -> ParameterError:
    return ParameterError(f"{path} exists already. Hint: --force (force=True) replaces it.")


def shown_path(path: str | Path) -> str:
    """Return a path as text that can be stored, even if its bytes are not valid UTF-8."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def open_binary(path: Path) -> BinaryIO:
    """Open a file for reading; a named pipe without a buffer.

    A thread that waits for a pipe would hold the lock of the buffer, and the file could not be closed.
    """
    is_plain = stat.S_ISREG(path.stat().st_mode)
    return path.open("rb", buffering=-1 if is_plain else 0)


class Input:
    """A file that must not change while it is read."""

    def __init__(self, path: Path, name: str) -> None:
        self._path, self._name = path, name
        self._status = self._identity()
        self.digest: Final = self._digest()
        """SHA-512 of the content. Whoever has it can test guesses, so it is never written anywhere."""

    @staticmethod
    def is_plain(path: Path) -> bool:
        """Return whether a path is a file that can be read more than once."""
        return stat.S_ISREG(path.stat().st_mode)

    def _identity(self) -> tuple[int, int, int, int]:
        try:
            status = self._path.stat()
        except FileNotFoundError:
            raise FormatError(f"{self._name}: was removed during the run.") from None
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns

    def _digest(self) -> bytes:
        digest = hashlib.sha512()
        with self._path.open("rb", buffering=0) as file:
            while data := file.read(_BLOCK):
                digest.update(data)
        return digest.digest()

    @property
    def size(self) -> int:
        """The size of the file in bytes."""
        return self._status[2]

    def check(self) -> None:
        """Stop the run if the file was replaced, changed or removed."""
        if self._identity() != self._status:
            raise self._changed()

    def check_content(self) -> None:
        """Stop the run if the content is not what it was at the start."""
        self.check()
        if self._digest() != self.digest:
            raise self._changed()

    def _changed(self) -> FormatError:
        return FormatError(
            f"{self._name}: has changed during the run. Hint: run again when nothing else writes to it."
        )


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def publish(complete: Path, target: Path, *, force: bool) -> None:
    """Give a complete file its final name; an existing file is replaced only with `force`."""
    if force:
        complete.replace(target)
        return
    try:
        os.link(complete, target, follow_symlinks=False)  # unlike a rename, it never replaces a file
    except FileExistsError:
        if not target.samefile(complete):  # else an earlier run was killed between these two calls
            raise _exists(target) from None
    except OSError:  # a file system without hard links
        complete.rename(target)
        return
    complete.unlink()
