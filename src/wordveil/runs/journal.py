"""The work folder beside an output: what a run has committed, so that a stopped run can be resumed.

`part` holds the rows that are done, `journal` has one line per commit. A commit first makes the part safe on
disk, then its line; what the journal does not mention was never committed. Each line has a checksum of its
own, and the hash of the part up to there. The folder never holds a key.
"""

import hashlib
import json
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, Self

from wordveil.errors import IntegrityError, ParameterError
from wordveil.perturber import PrivateReport
from wordveil.runs.private_files import is_own_folder, lock, private_file, remove, sync_folder

__all__ = ["Journal", "Progress"]

_FORM: Final = "wordveil-work-2"
_FILES: Final = ("part", "whole", "manifest", "private", "journal", "lock")
_BLOCK: Final = 1 << 20  # bytes read at a time: little memory, and few calls
_SALT_BYTES: Final = 32
_LARGEST: Final = 1 << 62  # no real count comes near it
_HEADER: Final = {
    "form": str, "salt": str, "identity": str, "entry": int | None, "pipe": bool, "head": int, "sha256": str,
}  # fmt: skip
_FINISHED: Final = {"made": str, "sha256": str, "manifest": str, "private": str}


@dataclass(slots=True)
class Progress:
    """How far a run has got: what was committed, and counts that are not for release.

    `sha256` is the hash of the first `size` bytes of the part.
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
        """Return the progress in a line of the journal; ValueError or TypeError if it is malformed."""
        report = PrivateReport(**facts["report"])
        counts = [getattr(report, count.name) for count in fields(report)]
        counts += [facts[name] for name in ("rows", "size", "words", "nulls")]
        if not all(type(count) is int and 0 <= count < _LARGEST for count in counts):
            raise ValueError
        seconds = facts["seconds"]
        if not (isinstance(seconds, int | float) and 0 <= seconds < _LARGEST and _is_digest(facts["sha256"])):
            raise ValueError
        return cls(**facts | {"report": report})

    def copy(self) -> Self:
        """Return a copy with a report of its own."""
        return replace(self, report=replace(self.report))


class Journal:
    """The work on one output, held by one process at a time.

    Attributes
    ----------
    header : dict or None
        The header of the run; None if no run was started.
    progress : Progress
        What is committed.
    finished : dict or None
        The facts of the complete output, once only publishing is left to do.
    damaged : bool
        Whether the journal can't be read, so that nothing is known about the run.
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

        If no run was started, or its work was removed, no folder is left behind.
        """
        folder = target.with_name(f".{target.name}.wordveil")
        with suppress(FileExistsError):
            folder.mkdir(mode=0o700)
        if not is_own_folder(folder):
            raise ParameterError(
                f"{folder} already exists and is not a private folder of this user. Hint: move it elsewhere."
            )
        with lock(folder / "lock", target):
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
        """Read one line of the journal; raises one of several errors if no run wrote it."""
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

    def damage(self, what: str = "the committed output") -> IntegrityError:
        """Return the error for a work folder that is not as a run left it."""
        return IntegrityError(
            f"{self._folder}: {what} is damaged. Hint: --force, without --resume, starts over."
        )

    def begin(self, header: dict[str, Any], head: bytes) -> None:
        """Start a new run with what comes before the first row; anything from an earlier run is removed."""
        self._close()
        for name in _FILES[:-1]:
            remove(self._folder / name)
        self._forget()
        self.damaged = False
        self._part, self._digest = private_file(self._folder / "part"), hashlib.sha256()
        self._write(head)
        self.progress = Progress(size=len(head), sha256=self._digest.hexdigest())
        self.header = header | {"form": _FORM, "head": len(head), "sha256": self.progress.sha256}
        self._append("header", self.header)
        sync_folder(self._folder)

    def resume(self) -> None:
        """Continue after the last commit, if the part is still as committed; cut off what came after it."""
        path = self._folder / "part"
        if self.finished is not None:
            return
        self.check_part()
        os.truncate(path, self.progress.size)
        self._part = path.open("ab")

    def check_part(self) -> None:
        """Refuse a part that differs from what was committed in any byte."""
        self._digest = hashlib.sha256()
        remaining = self.progress.size
        try:
            with (self._folder / "part").open("rb", buffering=0) as file:
                while remaining and (data := file.read(min(remaining, _BLOCK))):
                    self._digest.update(data)
                    remaining -= len(data)
        except FileNotFoundError:
            raise self.damage() from None
        if remaining or self._digest.hexdigest() != self.progress.sha256:
            raise self.damage()

    def commit(self, data: bytes, progress: Progress) -> None:
        """Make more rows safe on disk; then, and only then, record them in the journal."""
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
        """Record in the journal that the output is complete."""
        self._append("finished", facts)
        self.finished = facts

    def _append(self, kind: str, facts: dict[str, Any]) -> None:
        with private_file(self._folder / "journal", append=True) as file:
            file.write(json.dumps([kind, facts, _checksum(kind, facts)]).encode() + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def path(self, name: Literal["part", "whole", "manifest", "private"]) -> Path:
        """Return the path of the committed rows, or of a file that is ready to be published."""
        return self._folder / name

    @contextmanager
    def make(self, name: Literal["whole", "manifest", "private"]) -> Iterator[BinaryIO]:
        """Yield a new file of that name, and make it safe on disk."""
        remove(self.path(name))
        with private_file(self.path(name)) as file:
            yield file
            file.flush()
            os.fsync(file.fileno())

    def remove(self) -> None:
        """Remove our files, the journal after what it describes, and the folder if it is empty then."""
        self._close()
        if self._removed:  # by now the folder may belong to another run
            return
        for name in _FILES:
            remove(self._folder / name)
        with suppress(OSError):
            self._folder.rmdir()
        self.header, self._removed = None, True

    def _close(self) -> None:
        if self._part is not None:
            with suppress(OSError):  # a full disk has been reported already
                self._part.close()
            self._part = None


def _checksum(kind: object, facts: object) -> int:
    return zlib.crc32(json.dumps([kind, facts], sort_keys=True).encode())


def _has(facts: object, kinds: dict[str, Any]) -> bool:
    """Return whether something is a dict of these members and types; a bool does not count as an int."""
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
