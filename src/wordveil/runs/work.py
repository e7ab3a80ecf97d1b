"""The folder beside an output in which a run keeps what it has committed, for another to go on from there.

`part` holds the rows that are done, `journal` a line for each commit: a commit is the part made safe on disk,
then its line made safe on disk. What the journal does not tell was never committed. No key is ever in there.
"""

import json
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, Self

from wordveil.errors import IntegrityError, MachineError, ParameterError
from wordveil.perturber import PrivateReport

__all__ = ["Progress", "Work", "private_file", "sync_folder"]

_FILES: Final = ("part", "whole", "manifest", "private", "journal", "lock")
_NOFOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)


@dataclass(slots=True)
class Progress:
    """How far a run has come: what was committed, and counts that are not for release."""

    rows: int = 0
    size: int = 0
    words: int = 0
    seconds: float = 0.0
    nulls: int = 0
    report: PrivateReport = field(default_factory=PrivateReport)

    @classmethod
    def of(cls, facts: dict[str, Any]) -> Self:
        """Return what a line of the journal tells."""
        return cls(**facts | {"report": PrivateReport(**facts["report"])})


class Work:
    """The work on one output, held by one process at a time.

    Attributes
    ----------
    header : dict or None
        What the run was begun with; None if none was.
    progress : Progress
        What is committed.
    finished : dict or None
        The facts of the whole output, if it was whole and only had to be put in its place.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.header: dict[str, Any] | None = None
        self.progress = Progress()
        self.finished: dict[str, Any] | None = None
        self._part: BinaryIO | None = None
        self._removed = False
        self._read_journal()

    @classmethod
    @contextmanager
    def claim(cls, target: Path) -> Iterator[Self]:
        """Yield the work on `target`, or fail at once if another process has it.

        What was not begun or was removed leaves nothing behind.
        """
        folder = target.with_name(f".{target.name}.wordveil")
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        if not _is_own_folder(folder):
            raise ParameterError(f"{folder} stands in the way. Hint: move it elsewhere.")
        with _lock(folder / "lock", target):
            work = cls(folder)
            try:
                yield work
            finally:
                work._close()
                if work.header is None:
                    work.remove()

    def _read_journal(self) -> None:
        path = self._folder / "journal"
        try:
            *lines, _ = path.read_bytes().split(b"\n")  # a line without its end was never committed
        except FileNotFoundError:
            return
        good = 0
        for line in lines:
            try:
                kind, facts = json.loads(line)
            except ValueError:
                break
            match kind:
                case "header":
                    self.header, self.progress = facts, Progress(size=facts["head"])
                case "commit":
                    self.progress = Progress.of(facts)
                case "finished":
                    self.finished = facts
            good += len(line) + 1
        os.truncate(path, good)

    def begin(self, header: dict[str, Any], head: bytes) -> None:
        """Begin a new run with what stands before the first row, and forget whatever was there."""
        self._close()
        for name in _FILES[:-1]:
            (self._folder / name).unlink(missing_ok=True)
        self._part = private_file(self._folder / "part")
        self._part.write(head)
        self._part.flush()
        os.fsync(self._part.fileno())
        self.header = header | {"head": len(head)}
        self._append("header", self.header)
        self.progress, self.finished = Progress(size=len(head)), None
        sync_folder(self._folder)

    def go_on(self) -> None:
        """Take up what was committed; what came after the last commit is cut off."""
        path = self._folder / "part"
        if self.finished is not None:
            return
        if not path.exists() or path.stat().st_size < self.progress.size:
            raise IntegrityError(
                f"{self._folder}: what was committed there is damaged. Hint: --force begins anew."
            )
        os.truncate(path, self.progress.size)
        self._part = path.open("ab")

    def commit(self, data: bytes, progress: Progress) -> None:
        """Make more rows safe on disk; then, and only then, say so in the journal."""
        assert self._part is not None
        self._part.write(data)
        self._part.flush()
        os.fsync(self._part.fileno())
        progress.size = self.progress.size + len(data)
        self._append("commit", asdict(progress))
        self.progress = progress

    def finish(self, facts: dict[str, Any]) -> None:
        """Say in the journal that the output is whole."""
        self._append("finished", facts)
        self.finished = facts

    def _append(self, kind: str, facts: dict[str, Any]) -> None:
        with private_file(self._folder / "journal", append=True) as file:
            file.write(json.dumps([kind, facts]).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def path(self, name: Literal["part", "whole", "manifest", "private"]) -> Path:
        """Return where the committed rows are, or something that is made ready to be published."""
        return self._folder / name

    @contextmanager
    def make(self, name: Literal["whole", "manifest", "private"]) -> Iterator[BinaryIO]:
        """Yield a new file of that name, and make it safe on disk."""
        self.path(name).unlink(missing_ok=True)
        with private_file(self.path(name)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())

    def remove(self) -> None:
        """Remove everything. Only what is ours: a folder that holds anything else stays."""
        self._close()
        if self._removed:  # by now the folder may be another run's
            return
        for name in _FILES:
            (self._folder / name).unlink(missing_ok=True)
        with suppress(OSError):
            self._folder.rmdir()
        self.header, self._removed = None, True

    def _close(self) -> None:
        if self._part is not None:
            with suppress(OSError):  # a full disk has been told of already
                self._part.close()
            self._part = None


def private_file(path: Path, *, append: bool = False) -> BinaryIO:
    """Open a file for writing that only its owner can read; never through a symbolic link."""
    flags = os.O_WRONLY | os.O_CREAT | _NOFOLLOW | (os.O_APPEND if append else os.O_EXCL)
    return os.fdopen(os.open(path, flags, 0o600), "ab" if append else "wb")


def _is_own_folder(path: Path) -> bool:
    """Say whether this is a folder, no link to one, that nobody else can have put anything into."""
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode):
        return False
    return sys.platform == "win32" or (found.st_uid == os.geteuid() and not found.st_mode & 0o077)


def sync_folder(folder: Path) -> None:
    """Make the names in a folder safe on disk."""
    if sys.platform != "win32":
        number = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(number)
        finally:
            os.close(number)


@contextmanager
def _lock(path: Path, target: Path) -> Iterator[None]:
    """Hold a lock that the operating system takes back, however this process ends."""
    taken = MachineError(f"Another run is writing {target}. Hint: wait for its end.")
    try:
        number = os.open(path, os.O_RDWR | os.O_CREAT | _NOFOLLOW, 0o600)
    except FileNotFoundError:  # the other run has just ended and removed the folder
        raise taken from None
    try:
        try:
            _try_lock(number)
            held = os.path.samestat(os.fstat(number), path.stat())
        except OSError:
            raise taken from None
        if not held:
            raise taken
        yield
    finally:
        os.close(number)


if sys.platform == "win32":
    import msvcrt

    def _try_lock(number: int) -> None:
        msvcrt.locking(number, msvcrt.LK_NBLCK, 1)
else:
    import fcntl

    def _try_lock(number: int) -> None:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
