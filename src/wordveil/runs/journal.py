"""The folder beside an output in which a run keeps what it has committed, for another to go on from there.

`part` holds the rows that are done, `journal` a line for each commit: a commit is the part made safe on disk,
then its line made safe on disk. What the journal does not tell was never committed. Each line has a checksum
of its own, and says what the part up to there must hash to. No key is ever in there.
"""

import hashlib
import json
import os
import shutil
import stat
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, Self

from wordveil.errors import IntegrityError, MachineError, ParameterError
from wordveil.perturber import PrivateReport

__all__ = ["Journal", "Progress", "private_file", "sync_folder"]

_FORM: Final = "wordveil-work-2"
_READY: Final = ("part", "whole", "manifest", "private")
_FILES: Final = (*_READY, "journal", "lock")
_NOFOLLOW: Final = getattr(os, "O_NOFOLLOW", 0)
_BLOCK: Final = 1 << 20
_SALT_BYTES: Final = 32
_LARGEST: Final = 1 << 62  # of any count
_HEADER: Final = {
    "form": str, "salt": str, "identity": str, "entry": int | None, "pipe": bool, "head": int, "sha256": str,
}  # fmt: skip
_FINISHED: Final = {"made": str, "sha256": str, "manifest": str, "private": str}


@dataclass(slots=True)
class Progress:
    """How far a run has come: what was committed, and counts that are not for release.

    `sha256` is what the part hashes to, up to `size`.
    """

    rows: int = 0
    size: int = 0
    words: int = 0
    seconds: float = 0.0
    nulls: int = 0
    sha256: str = ""
    report: PrivateReport = field(default_factory=PrivateReport)

    @classmethod
    def of(cls, facts: dict[str, Any]) -> Self:
        """Return what a line of the journal tells; ValueError or TypeError if it tells something else."""
        report = PrivateReport(**facts["report"])
        numbers = [getattr(report, each.name) for each in fields(report)]
        numbers += [facts[name] for name in ("rows", "size", "words", "nulls")]
        if not all(type(number) is int and 0 <= number < _LARGEST for number in numbers):
            raise ValueError
        seconds = facts["seconds"]
        if not (isinstance(seconds, int | float) and 0 <= seconds < _LARGEST and _is_digest(facts["sha256"])):
            raise ValueError
        return cls(**facts | {"report": report})


class Journal:
    """The work on one output, held by one process at a time.

    Attributes
    ----------
    header : dict or None
        What the run was begun with; None if none was.
    progress : Progress
        What is committed.
    finished : dict or None
        The facts of the whole output, if it was whole and only had to be put in its place.
    damaged : bool
        Whether the journal can't be read, so that nothing is known of what was there.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.header: dict[str, Any] | None = None
        self.progress = Progress()
        self.finished: dict[str, Any] | None = None
        self.damaged = False
        self._part: BinaryIO | None = None
        self._digest = hashlib.sha256()
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
            journal = cls(folder)
            try:
                yield journal
            finally:
                journal._close()
                if journal.is_new:
                    journal.remove()

    def _read_journal(self) -> None:
        path = self._folder / "journal"
        try:
            *lines, last = path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return
        except OSError:
            self.damaged = True
            return
        try:
            for line in lines:
                self._read_line(line)
        except (ValueError, TypeError, KeyError, OverflowError, RecursionError):
            self._forget()
            self.damaged = True
            return
        if last:  # a line without its end was never committed
            os.truncate(path, path.stat().st_size - len(last))

    def _read_line(self, line: bytes) -> None:
        """Take in a line of the journal; any of several errors if it is none that was written here."""
        kind, facts, checksum = json.loads(line)
        if checksum != _checksum(kind, facts):
            raise ValueError
        match kind:
            case "header" if self.header is None and _has(facts, _HEADER) and facts["form"] == _FORM:
                if (
                    len(bytes.fromhex(facts["salt"])) != _SALT_BYTES
                    or not 0 <= (facts["entry"] or 0) < _LARGEST
                ):
                    raise ValueError
                self.header = facts
                self.progress = Progress(size=facts["head"], sha256=facts["sha256"])
            case "commit" if self.header is not None and self.finished is None:
                self.progress = Progress.of(facts)
            case "finished" if self.header is not None and _has(facts, _FINISHED):
                if facts["made"] not in ("part", "whole"):
                    raise ValueError
                self.finished = facts
            case _:
                raise ValueError

    @property
    def is_new(self) -> bool:
        """Whether nothing of an earlier run is here."""
        return self.header is None and not self.damaged

    def _forget(self) -> None:
        self.header, self.progress, self.finished = None, Progress(), None

    def damage(self, what: str = "what was committed there") -> IntegrityError:
        """Return the error for a work folder that is not as a run left it."""
        return IntegrityError(
            f"{self._folder}: {what} is damaged. Hint: --force, without --resume, begins anew."
        )

    def begin(self, header: dict[str, Any], head: bytes) -> None:
        """Begin a new run with what stands before the first row, and forget whatever was there."""
        self._close()
        for name in _FILES[:-1]:
            _remove(self._folder / name)
        self._forget()
        self.damaged = False
        self._part, self._digest = private_file(self._folder / "part"), hashlib.sha256()
        self._write(head)
        self.progress = Progress(size=len(head), sha256=self._digest.hexdigest())
        self.header = header | {"form": _FORM, "head": len(head), "sha256": self.progress.sha256}
        self._append("header", self.header)
        sync_folder(self._folder)

    def go_on(self) -> None:
        """Take up what was committed, if it is what it was; what came after the last commit is cut off."""
        path = self._folder / "part"
        if self.finished is not None:
            return
        self.check_part()
        os.truncate(path, self.progress.size)
        self._part = path.open("ab")

    def check_part(self) -> None:
        """Refuse a part that is not what was committed, byte for byte."""
        self._digest = hashlib.sha256()
        left = self.progress.size
        try:
            with (self._folder / "part").open("rb", buffering=0) as file:
                while left and (data := file.read(min(left, _BLOCK))):
                    self._digest.update(data)
                    left -= len(data)
        except FileNotFoundError:
            raise self.damage() from None
        if left or self._digest.hexdigest() != self.progress.sha256:
            raise self.damage()

    def commit(self, data: bytes, progress: Progress) -> None:
        """Make more rows safe on disk; then, and only then, say so in the journal."""
        self._write(data)
        progress.size = self.progress.size + len(data)
        progress.sha256 = self._digest.hexdigest()
        self._append("commit", asdict(progress))
        self.progress = progress

    def _write(self, data: bytes) -> None:
        assert self._part is not None
        self._part.write(data)
        self._part.flush()
        os.fsync(self._part.fileno())
        self._digest.update(data)

    def finish(self, facts: dict[str, Any]) -> None:
        """Say in the journal that the output is whole."""
        self._append("finished", facts)
        self.finished = facts

    def _append(self, kind: str, facts: dict[str, Any]) -> None:
        with private_file(self._folder / "journal", append=True) as file:
            file.write(json.dumps([kind, facts, _checksum(kind, facts)]).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def path(self, name: Literal["part", "whole", "manifest", "private"]) -> Path:
        """Return where the committed rows are, or something that is made ready to be published."""
        return self._folder / name

    @contextmanager
    def make(self, name: Literal["whole", "manifest", "private"]) -> Iterator[BinaryIO]:
        """Yield a new file of that name, and make it safe on disk."""
        _remove(self.path(name))
        with private_file(self.path(name)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())

    def remove(self) -> None:
        """Remove everything, the journal last. Only what is ours: a folder that holds anything else stays."""
        self._close()
        if self._removed:  # by now the folder may be another run's
            return
        for name in _FILES:
            _remove(self._folder / name)
        with suppress(OSError):
            self._folder.rmdir()
        self.header, self._removed = None, True

    def _close(self) -> None:
        if self._part is not None:
            with suppress(OSError):  # a full disk has been told of already
                self._part.close()
            self._part = None


def _checksum(kind: object, facts: object) -> int:
    return zlib.crc32(json.dumps([kind, facts], sort_keys=True).encode())


def _has(facts: object, kinds: dict[str, Any]) -> bool:
    """Tell whether something is a dict of these members and types; a bool is no int."""
    return (
        isinstance(facts, dict)
        and facts.keys() == kinds.keys()
        and all(
            isinstance(facts[name], kind) and (kind is bool or not isinstance(facts[name], bool))
            for name, kind in kinds.items()
        )
        and facts.get("head", 0) >= 0
    )


def _is_digest(text: object) -> bool:
    return isinstance(text, str) and len(text) == 64 and all(letter in "0123456789abcdef" for letter in text)


def _remove(path: Path) -> None:
    """Remove what stands there, also a folder that somebody put into ours."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def private_file(path: Path, *, append: bool = False) -> BinaryIO:
    """Open a file for writing that only its owner can read; never through a symbolic link."""
    flags = os.O_WRONLY | os.O_CREAT | _NOFOLLOW | (os.O_APPEND if append else os.O_EXCL)
    return os.fdopen(os.open(path, flags, 0o600), "ab" if append else "wb")


def _is_own_folder(path: Path) -> bool:
    """Say whether this is a folder, no link to one, that nobody else can have put anything into."""
    status = path.lstat()
    if not stat.S_ISDIR(status.st_mode):
        return False
    return sys.platform == "win32" or (status.st_uid == os.geteuid() and not status.st_mode & 0o077)


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
    if path.is_dir() or path.is_symlink():  # nothing that a run left
        _remove(path)
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
