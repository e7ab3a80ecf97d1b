"""The SQLite file behind the ledger: created for its owner alone, locked, checked, and renamed if damaged."""

import errno
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from wordveil.errors import MachineError

__all__ = ["DamagedLedgerError", "LedgerFile"]

# How long to wait for a run that holds the lock. Of 4,000 transactions (`begin` and `settle`, up to 1,000
# entries, ext4, two busy cores) the slowest took 84 ms; of 100 threads that began at once, five times, the
# last one waited 3.4 to 7.1 s. A longer wait would only delay the message about a program that never lets go.
_WAIT_SECONDS: Final = 10.0
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
_LAST_NUMBER: Final = 1 << 62  # SQLite reports a full disk when no number is left, at 2**63 - 1
_NUMBERS_USED_UP: Final = (
    "SELECT 1 FROM entry WHERE number > ? UNION SELECT 1 FROM sqlite_sequence WHERE seq > ?"
)


class DamagedLedgerError(MachineError):
    """The ledger holds something that wordveil would not have written."""


class LedgerFile:
    """A SQLite file with the tables of the ledger."""

    def __init__(self, path: Path) -> None:
        self.path: Final = path

    def exists(self) -> bool:
        """Return whether there is anything of that name, even a broken link."""
        return self.path.exists() or self.path.is_symlink()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection inside one transaction that keeps other writers out."""
        self._create()
        try:
            with closing(sqlite3.connect(self.path, timeout=_WAIT_SECONDS, isolation_level=None)) as database:
                database.execute("BEGIN IMMEDIATE")
                self._prepare(database)
                yield database
                database.execute("COMMIT")
        except sqlite3.Error as error:
            raise self._failure(error) from None
        except UnicodeDecodeError:  # in SQLite's message about a schema that it can't read
            raise self.damaged("SQLite can't read it") from None

    def _prepare(self, database: sqlite3.Connection) -> None:
        """Refuse foreign objects, create missing tables and upgrade those of wordveil 0.1."""
        if database.execute("SELECT 1 FROM sqlite_master WHERE type IN ('trigger', 'view')").fetchone():
            raise self.damaged("it holds a trigger or a view, which wordveil never creates")
        for statement in filter(str.strip, _TABLES.split(";")):
            database.execute(statement)
        if "outcome" not in {row[1] for row in database.execute("PRAGMA table_info(entry)")}:
            database.execute("ALTER TABLE entry ADD COLUMN outcome TEXT")  # wordveil 0.1 had none
        if database.execute(_NUMBERS_USED_UP, (_LAST_NUMBER, _LAST_NUMBER)).fetchone():
            raise self.damaged("its entry numbers are used up")

    def _create(self) -> None:
        """Create the file if it is missing, and make sure that only its owner can read it."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
            descriptor = os.open(self.path, flags, 0o600)
            os.chmod(descriptor if os.chmod in os.supports_fd else self.path, 0o600)  # noqa: PTH101  # a descriptor
            os.close(descriptor)
        except OSError as error:
            if error.errno == errno.EISDIR:
                raise self.damaged("it is a folder") from None
            if error.errno == errno.ELOOP:
                raise MachineError(
                    f"The ledger {self.path} is a symbolic link. Hint: set XDG_STATE_HOME to another folder."
                ) from None
            raise MachineError(
                f"The ledger {self.path} can't be written: {error.strerror}. "
                "Hint: set XDG_STATE_HOME to another folder, or use --no-ledger."
            ) from None

    def _failure(self, error: sqlite3.Error) -> MachineError:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return MachineError(
                f"The ledger {self.path} is in use by another program. "
                "Hint: run the same command again later, with --resume if some rows are done already."
            )
        if code in (
            sqlite3.SQLITE_FULL,
            sqlite3.SQLITE_IOERR,
            sqlite3.SQLITE_READONLY,
            sqlite3.SQLITE_CANTOPEN,
        ):
            return MachineError(f"The ledger {self.path} can't be written ({error}). Hint: check its disk.")
        return self.damaged("SQLite can't read it")

    def damaged(self, problem: str) -> DamagedLedgerError:
        """Return the error for a ledger that wordveil would not have written like this."""
        return DamagedLedgerError(
            f"The ledger {self.path} is damaged: {problem}. Hint: restore a backup of it. Without one, "
            "'wordveil perturb --force' renames it and starts a new ledger, which does not know about "
            "earlier releases."
        )

    def set_aside(self) -> Path:
        """Rename a damaged ledger, so that a new one can be started; return its new path."""
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        renamed = self.path.with_name(f"{self.path.name}.damaged-{stamp}")
        self.path.rename(renamed)
        for suffix in ("-journal", "-wal", "-shm"):  # SQLite's files beside it belong to the old one
            companion = self.path.with_name(self.path.name + suffix)
            if companion.exists():
                companion.rename(renamed.with_name(renamed.name + suffix))
        return renamed
