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

__all__ = ["Begun", "Entry", "Ledger", "Release", "Superseded", "together"]

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


class Begun(NamedTuple):
    """The number of an entry, and the releases of the same content before it."""

    number: int
    earlier: list[Entry]


class Superseded(NamedTuple):
    """An entry, which its target tells from those of other ledgers, and whether it released anything."""

    number: int
    target: str
    released: bool


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
            number = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o600)
            os.chmod(number if os.chmod in os.supports_fd else self.path, 0o600)  # noqa: PTH101  # by its number
            os.close(number)
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

    def begin(self, release: Release, *, again: bool, instead: Superseded | None = None) -> Begun:
        """Write an entry before the work begins; return its number and the releases before it.

        Raises ParameterError if there are any, unless `again`; then nothing is changed. A run to the same
        output that did not end has released nothing, and makes way; `instead` says what became of another.
        """
        with self._open() as base:
            if instead is not None:
                _settle(base, instead)
            content = _keyed(base, release.digest)
            base.execute(
                "DELETE FROM entry WHERE content = ? AND target = ? AND finished IS NULL",
                (content, release.target),
            )
            earlier = _entries(base, "SELECT * FROM entry WHERE content = ? ORDER BY number", content)
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
            return Begun(row.lastrowid, earlier)

    def take_up(self, number: int | None, release: Release, *, again: bool) -> Begun:
        """Return the entry of a run that is gone on with, or begin one, if this ledger has none of it."""
        with self._open() as base:
            content = _keyed(base, release.digest)
            mine = _entries(
                base,
                "SELECT * FROM entry WHERE number = ? AND content = ? AND target = ?",
                number,
                content,
                release.target,
            )
            if mine:
                query = "SELECT * FROM entry WHERE content = ? AND number < ? ORDER BY number"
                return Begun(mine[0].number, _entries(base, query, content, mine[0].number))
        return self.begin(release, again=again)

    def settle(self, number: int, target: str, *, released: bool) -> None:
        """Say that the output of an entry is there, or forget an entry that released nothing."""
        with self._open() as base:
            _settle(base, Superseded(number, target, released))


def _settle(base: sqlite3.Connection, entry: Superseded) -> None:
    if entry.released:
        change = "UPDATE entry SET finished = ? WHERE number = ? AND target = ? AND finished IS NULL"
        base.execute(change, (_now(), entry.number, entry.target))
    else:
        change = "DELETE FROM entry WHERE number = ? AND target = ? AND finished IS NULL"
        base.execute(change, (entry.number, entry.target))


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
