"""Files and folders that only their owner can use, locked and made safe on disk."""

import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, Final

from wordveil.errors import MachineError

__all__ = ["is_own_folder", "lock", "private_file", "remove", "sync_folder"]

_NOFOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)


def private_file(path: Path, *, append: bool = False) -> BinaryIO:
    """Open a file for writing that only its owner can read; never through a symbolic link."""
    flags = os.O_WRONLY | os.O_CREAT | _NOFOLLOW | (os.O_APPEND if append else os.O_EXCL)
    return os.fdopen(os.open(path, flags, 0o600), "ab" if append else "wb")


def remove(path: Path) -> None:
    """Remove a file, or a folder that somebody put in its place."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def is_own_folder(path: Path) -> bool:
    """Return whether this is a folder, not a link to one, that nobody else can have put anything into."""
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode):
        return False
    return sys.platform == "win32" or (status.st_uid == os.geteuid() and not status.st_mode & 0o077)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder safe on disk."""
    if sys.platform != "win32":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


@contextmanager
def lock(path: Path, target: Path) -> Iterator[None]:
    """Hold a lock on the work on `target`, which the operating system releases however this process ends."""
    in_use = MachineError(f"Another run is writing {target}. Hint: wait until it has finished.")
    if path.is_dir() or path.is_symlink():  # no run creates these
        remove(path)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | _NOFOLLOW, 0o600)
    except FileNotFoundError:  # the other run has just finished and removed the folder
        raise in_use from None
    try:
        try:
            _try_lock(descriptor)
            is_current = os.path.samestat(os.fstat(descriptor), path.stat())
        except OSError:
            raise in_use from None
        if not is_current:  # the other run removed the file that was locked here
            raise in_use
        yield
    finally:
        os.close(descriptor)


if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> None:
        msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _try_lock(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
