"""The user's own record of what was perturbed, so that no file is released twice unawares.

It knows a file by a fingerprint of its bytes under a key that never leaves the ledger, so that a fingerprint
says nothing to those who have only it. It knows exact repeats of files only.

An entry is `begun` before the work, `released` before the output gets its name, or ends with `nothing`
released. A run that is killed between the last two was counted and published nothing: never the other way
round. No entry is ever removed.
"""

import errno
import hashlib
import json
import os
import secrets
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args

from wordveil.errors import MachineError, ParameterError, sealed
from wordveil.folders import checked_path, user_folder
from wordveil.perturber import Perturber
from wordveil.runs.sums import Setting, readable, together

__all__ = ["Begun", "DamagedLedgerError", "Entry", "Ledger", "Outcome", "Release"]

Outcome = Literal["begun", "released", "nothing"]

_WAIT_SECONDS: Final = 10.0
_KEY_BYTES: Final = 32
_TABLES: Final = """
CREATE TABLE IF NOT EXISTS secret (key BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS entry (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    content TEXT NOT NULL,
    begun TEXT NOT NULL,
    finished TEXT,
    source TEXT NOT NULL,
    target TEXT NOT NULL,
    columns TEXT NOT NULL,
    setting TEXT NOT NULL,
    outcome TEXT
);
CREATE INDEX IF NOT EXISTS entry_content ON entry (content);
"""
_LAST_NUMBER: Final = 1 << 62  # SQLite calls it a full disk when there is none after it
_USED_UP: Final = "SELECT 1 FROM entry WHERE number > ? UNION SELECT 1 FROM sqlite_sequence WHERE seq > ?"
_SELECT: Final = (
    "SELECT number, content, begun, finished, source, target, columns, setting, outcome FROM entry "
)


class DamagedLedgerError(MachineError):
    """The ledger is not what wordveil writes."""


class Entry(NamedTuple):
    """A run that the ledger knows of.

    `outcome` is None for a run of wordveil 0.1 that did not end: it may have released its output.
    """

    number: int
    content: str
    begun: str
    finished: str | None
    source: str
    target: str
    columns: list[str]
    setting: Setting
    outcome: Outcome | None

    @property
    def counts(self) -> bool:
        """Whether the run has released something, or may have, or may still do so."""
        return self.outcome != "nothing"


class Begun(NamedTuple):
    """The number of an entry, and the releases of the same content before it."""

    number: int
    earlier: list[Entry]


@dataclass(frozen=True, slots=True)
class Release:
    """What a run is about to release: which content, from where to where, and under what promise."""

    digest: bytes
    source: str
    target: str
    columns: tuple[str, ...]
    setting: Setting

    @staticmethod
    def setting_of(perturber: Perturber, *, secure: bool) -> Setting:
        """Return what the ledger must know of a setting to add promises up, or to know that they do not."""
        word = perturber.guarantee.word
        setting = perturber.mechanism.setting()
        epsilon, distance = word.distance or (None, None)
        return {
            "mechanism": setting["mechanism"],
            "parameters": setting,
            "epsilon": epsilon,
            "distance": distance,
            "vectors": perturber.mechanism.embedding.fingerprint,
            "worst_case_exponent": word.worst_case.upper,
            "secure": secure,
            "unsafe": list(perturber.policy.unsafe),
        }


class Ledger:
    """A SQLite file for this user alone, by default in the folder that the platform has for state.

    Examples
    --------
    >>> import tempfile
    >>> Ledger(Path(tempfile.mkdtemp()) / "ledger.sqlite").entries()
    []
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path: Final = (
            user_folder("state", "the ledger") / "ledger.sqlite"
            if path is None
            else checked_path(path, "path", "Ledger")
        )

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection inside of one transaction that nobody else writes in."""
        self._make_file()
        try:
            with closing(sqlite3.connect(self.path, timeout=_WAIT_SECONDS, isolation_level=None)) as base:
                base.execute("BEGIN IMMEDIATE")
                if base.execute("SELECT 1 FROM sqlite_master WHERE type IN ('trigger', 'view')").fetchone():
                    raise self._damaged("it holds a trigger or a view, which wordveil never makes")
                for statement in filter(str.strip, _TABLES.split(";")):
                    base.execute(statement)
                if "outcome" not in {row[1] for row in base.execute("PRAGMA table_info(entry)")}:
                    base.execute("ALTER TABLE entry ADD COLUMN outcome TEXT")  # made by wordveil 0.1
                if base.execute(_USED_UP, (_LAST_NUMBER, _LAST_NUMBER)).fetchone():
                    raise self._damaged("its numbers are used up")
                yield base
                base.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._failure(error) from None
        except UnicodeDecodeError:  # in what SQLite says of a schema that it can't read
            raise self._damaged("SQLite can't read it") from None

    def _make_file(self) -> None:
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
            number = os.open(self.path, flags, 0o600)
            os.chmod(number if os.chmod in os.supports_fd else self.path, 0o600)  # noqa: PTH101  # by its number
            os.close(number)
        except OSError as error:
            if error.errno == errno.EISDIR:
                raise self._damaged("it is a folder") from None
            if error.errno == errno.ELOOP:
                raise MachineError(
                    f"The ledger {self.path} is a symbolic link. Hint: XDG_STATE_HOME names another folder."
                ) from None
            raise MachineError(
                f"The ledger {self.path} can't be written: {error.strerror}. "
                "Hint: XDG_STATE_HOME names another folder; --no-ledger does without."
            ) from None

    def _failure(self, error: sqlite3.Error) -> MachineError:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return MachineError(
                f"The ledger {self.path} is in use by another program. "
                "Hint: run the same command again when it is free, with --resume if rows were done."
            )
        if code in (
            sqlite3.SQLITE_FULL,
            sqlite3.SQLITE_IOERR,
            sqlite3.SQLITE_READONLY,
            sqlite3.SQLITE_CANTOPEN,
        ):
            return MachineError(f"The ledger {self.path} can't be written ({error}). Hint: look at its disk.")
        return self._damaged("SQLite can't read it")

    def _damaged(self, what: str) -> DamagedLedgerError:
        return DamagedLedgerError(
            f"The ledger {self.path} is damaged: {what}. Hint: put a copy of it back; without one, "
            "'wordveil perturb --force' sets it aside and begins a new one, which knows of no release before."
        )

    def set_aside(self) -> Path:
        """Give a damaged ledger another name, so that a new one can be begun; return that name."""
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        aside = self.path.with_name(f"{self.path.name}.damaged-{stamp}")
        self.path.rename(aside)
        for suffix in ("-journal", "-wal", "-shm"):  # they belong to the old one
            beside = self.path.with_name(self.path.name + suffix)
            if beside.exists():
                beside.rename(aside.with_name(aside.name + suffix))
        return aside

    @sealed
    def entries(self) -> list[Entry]:
        """Return all entries, the oldest first."""
        if not self.path.exists() and not self.path.is_symlink():
            return []
        with self._open() as base:
            return self._entries(base, "ORDER BY number")

    def begin(self, release: Release, *, again: bool) -> Begun:
        """Write an entry before the work begins; return its number and the releases before it.

        Raises ParameterError if there are any, unless `again`; then nothing is changed. A run to the same
        output that did not come to publishing it has released nothing, and never will.
        """
        with self._open() as base:
            content = self._keyed(base, release.digest)
            base.execute(
                "UPDATE entry SET outcome = 'nothing', finished = ? "
                "WHERE content = ? AND target = ? AND outcome = 'begun'",
                (_now(), content, release.target),
            )
            earlier = self._others(base, content)
            if earlier and not again:
                raise ParameterError(_refusal(release, earlier))
            row = base.execute(
                "INSERT INTO entry (content, begun, source, target, columns, setting, outcome) "
                "VALUES (?, ?, ?, ?, ?, ?, 'begun')",
                (
                    content,
                    _now(),
                    release.source,
                    release.target,
                    json.dumps(release.columns),
                    json.dumps(release.setting),
                ),
            )
            assert row.lastrowid is not None
            return Begun(row.lastrowid, earlier)

    def take_up(self, number: int | None, release: Release, *, again: bool) -> Begun:
        """Return the entry of a run that is gone on with, or begin one, if this ledger has none of it."""
        with self._open() as base:
            content = self._keyed(base, release.digest)
            known = base.execute(
                "SELECT 1 FROM entry WHERE number = ? AND content = ? AND target = ?",
                (number, content, release.target),
            ).fetchone()
            if known is not None and number is not None:
                return Begun(number, self._others(base, content, number))
        return self.begin(release, again=again)

    def settle(self, number: int, target: str, outcome: Outcome) -> None:
        """Say what became of an entry; `begun` takes back that it was released, if it was not."""
        with self._open() as base:
            base.execute(
                "UPDATE entry SET outcome = ?, finished = ? WHERE number = ? AND target = ?",
                (outcome, None if outcome == "begun" else _now(), number, target),
            )

    def _others(self, base: sqlite3.Connection, content: str, own: int | None = None) -> list[Entry]:
        """Return all other releases of a content: there may be some since this run was stopped."""
        known = self._entries(base, "WHERE content = ? ORDER BY number", content)
        return [entry for entry in known if entry.counts and entry.number != own]

    def _entries(self, base: sqlite3.Connection, condition: str, *values: object) -> list[Entry]:
        return [self._entry(row) for row in base.execute(_SELECT + condition, values)]

    def _entry(self, row: tuple[Any, ...]) -> Entry:
        """Return a row as an entry if it is one that this program could have written."""
        number, *texts, columns, setting, outcome = row
        try:
            columns, setting = json.loads(columns), json.loads(setting)
        except (TypeError, ValueError, RecursionError):
            raise self._damaged(f"entry {number} is not readable") from None
        content, begun, finished, source, target = texts
        if outcome is None and finished is not None:  # of wordveil 0.1
            outcome = "released"
        if not (
            all(isinstance(text, str) for text in (content, source, target))
            and _is_time(begun)
            and (finished is None or _is_time(finished))
            and isinstance(columns, list)
            and all(isinstance(column, str) for column in columns)
            and readable(setting)
            and outcome in (None, *get_args(Outcome))
        ):
            raise self._damaged(f"entry {number} is not readable")
        return Entry(number, content, begun, finished, source, target, columns, setting, outcome)

    def _keyed(self, base: sqlite3.Connection, digest: bytes) -> str:
        """Return the fingerprint of a content under the ledger's own key, made when it is first needed."""
        row = base.execute("SELECT key FROM secret").fetchone()
        if row is None:
            if base.execute("SELECT 1 FROM entry").fetchone() is not None:
                raise self._damaged("its key is missing, so that it can't know any content again")
            row = (secrets.token_bytes(_KEY_BYTES),)
            base.execute("INSERT INTO secret (key) VALUES (?)", row)
        if not isinstance(row[0], bytes) or len(row[0]) != _KEY_BYTES:
            raise self._damaged("its key is not a key")
        return hashlib.blake2b(digest, key=row[0], digest_size=32, person=b"ledger").hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _is_time(text: object) -> bool:
    try:
        return isinstance(text, str) and datetime.fromisoformat(text) is not None
    except ValueError:
        return False


def _refusal(release: Release, earlier: list[Entry]) -> str:
    last = earlier[-1]
    times = "once" if len(earlier) == 1 else f"{len(earlier)} times"
    state = "" if last.outcome == "released" else ", a run that did not end"
    return (
        f"{release.source}: this very content was perturbed before, {times}, last on {last.begun[:10]} to "
        f"{last.target}{state}. {together(release.setting, [entry.setting for entry in earlier])} "
        "Hint: --again releases it all the same."
    )
