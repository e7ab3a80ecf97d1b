"""The user's own record of what was perturbed, so that no file is released twice unawares.

It knows a file by a fingerprint of its bytes under a key that never leaves the ledger, so that a fingerprint
says nothing to those who have only it. It knows exact repeats of files only.
"""

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
from typing import Any, Final, NamedTuple

from platformdirs import user_state_path

from wordveil.errors import MachineError, ParameterError
from wordveil.perturber import Perturber

__all__ = ["Entry", "Ledger", "Release"]

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
    setting TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS entry_content ON entry (content);
"""


class Entry(NamedTuple):
    """A run that the ledger knows of; `finished` is None for one that was begun and not ended."""

    number: int
    content: str
    begun: str
    finished: str | None
    source: str
    target: str
    columns: list[str]
    setting: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Release:
    """What a run is about to release: which content, from where to where, and under what promise."""

    digest: bytes
    source: str
    target: str
    columns: tuple[str, ...]
    setting: dict[str, Any]

    @staticmethod
    def setting_of(veil: Perturber) -> dict[str, Any]:
        """Return what the ledger must know of a setting to add promises up."""
        promise = veil.guarantee.word
        return {
            "mechanism": type(veil.mechanism).__name__.lower(),
            "epsilon": promise.epsilon,
            "lam": promise.metric.lam,
            "dims": promise.metric.dim,
            "vectors": promise.embedding.fingerprint,
            "worst_case_exponent": promise.worst_case.upper,
            "unsafe": list(veil.policy.unsafe),
        }


class Ledger:
    """A SQLite file for this user alone, by default in the folder that the platform has for state.

    Examples
    --------
    >>> import tempfile
    >>> Ledger(Path(tempfile.mkdtemp()) / "ledger.sqlite").entries()
    []
    """

    def __init__(self, path: Path | None = None) -> None:
        self.path: Final = (
            user_state_path("wordveil", appauthor=False) / "ledger.sqlite" if path is None else path
        )

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection inside of one transaction that nobody else writes in."""
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600))
        except OSError as error:
            raise MachineError(
                f"The ledger {self.path} can't be written: {error.strerror}. "
                "Hint: XDG_STATE_HOME names another folder."
            ) from None
        try:
            with closing(sqlite3.connect(self.path, timeout=_WAIT_SECONDS, isolation_level=None)) as base:
                base.executescript(_TABLES)
                base.execute("BEGIN IMMEDIATE")
                yield base
                base.execute("COMMIT")
        except sqlite3.Error as error:
            raise MachineError(
                f"The ledger {self.path} can't be used ({error}). Hint: free its disk, or move it away."
            ) from None

    def entries(self) -> list[Entry]:
        """Return all entries, the oldest first."""
        if not self.path.exists():
            return []
        with self._open() as base:
            return _entries(base, "SELECT * FROM entry ORDER BY number")

    def begin(self, release: Release, *, again: bool) -> tuple[int, list[Entry]]:
        """Write an entry before the work begins; return its number and the releases before it.

        Raises ParameterError if there are any, unless `again`. A run to the same output that did not end has
        released nothing, and makes way.
        """
        with self._open() as base:
            content = _keyed(base, release.digest)
            same = _entries(base, "SELECT * FROM entry WHERE content = ? ORDER BY number", content)
            earlier = []
            for entry in same:
                if entry.finished is None and entry.target == release.target:
                    base.execute("DELETE FROM entry WHERE number = ?", (entry.number,))
                elif set(entry.columns) & set(release.columns):
                    earlier.append(entry)
            if earlier and not again:
                raise ParameterError(_refusal(release, earlier))
            row = base.execute(
                "INSERT INTO entry (content, begun, source, target, columns, setting) "
                "VALUES (?, ?, ?, ?, ?, ?)",
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
            return row.lastrowid, earlier

    def earlier(self, number: int) -> list[Entry] | None:
        """Return the releases before an unfinished entry, to go on with it; None if it is not there."""
        with self._open() as base:
            mine = _entries(base, "SELECT * FROM entry WHERE number = ?", number)
            if not mine:
                return None
            same = _entries(
                base, "SELECT * FROM entry WHERE content = ? AND number < ?", mine[0].content, number
            )
            return [entry for entry in same if set(entry.columns) & set(mine[0].columns)]

    def finish(self, number: int, target: str) -> None:
        """Say that the output of an entry is there. The target tells entries of another ledger apart."""
        query = "UPDATE entry SET finished = ? WHERE number = ? AND target = ? AND finished IS NULL"
        with self._open() as base:
            base.execute(query, (_now(), number, target))

    def forget(self, number: int, target: str) -> None:
        """Remove the entry of a run that ended without an output."""
        query = "DELETE FROM entry WHERE number = ? AND target = ? AND finished IS NULL"
        with self._open() as base:
            base.execute(query, (number, target))


def _entries(base: sqlite3.Connection, query: str, *given: object) -> list[Entry]:
    rows = base.execute(query, given).fetchall()
    return [Entry._make((*row[:6], json.loads(row[6]), json.loads(row[7]))) for row in rows]


def _keyed(base: sqlite3.Connection, digest: bytes) -> str:
    """Return the fingerprint of a content under the ledger's own key, made when it is first needed."""
    row = base.execute("SELECT key FROM secret").fetchone()
    if row is None:
        row = (secrets.token_bytes(32),)
        base.execute("INSERT INTO secret (key) VALUES (?)", row)
    return hashlib.blake2b(digest, key=row[0], digest_size=32, person=b"ledger").hexdigest()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _refusal(release: Release, earlier: list[Entry]) -> str:
    last = earlier[-1]
    times = "once" if len(earlier) == 1 else f"{len(earlier)} times"
    state = "" if last.finished else ", a run that did not end"
    return (
        f"{release.source}: this very content was perturbed before, {times}, last on {last.begun[:10]} to "
        f"{last.target}{state}. {together(release.setting, [entry.setting for entry in earlier])} "
        "Hint: --again releases it all the same."
    )


def together(now: dict[str, Any], before: list[dict[str, Any]]) -> str:
    """Return, in a sentence, what several releases of the same texts promise together."""
    settings = [*before, now]
    worst = [setting["worst_case_exponent"] for setting in settings]
    told = (
        f"All releases together promise, for a word, at most exp({sum(worst):.1f}) "
        f"({' + '.join(f'{each:.1f}' for each in worst)})"
    )
    metrics = {(setting["vectors"], setting["lam"], setting["dims"]) for setting in settings}
    if len(metrics) == 1:
        epsilons = [setting["epsilon"] for setting in settings]
        sums = " + ".join(f"{each:g}" for each in epsilons)
        return f"{told}, as one release at ε = {sums} = {sum(epsilons):g} would."
    return f"{told}; their exponents ε·d add up, each in its own metric."
