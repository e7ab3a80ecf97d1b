"""The user's own record of what was perturbed, so that no file is released twice by accident.

A file is recognised by a fingerprint of its bytes under a key that never leaves the ledger, so the
fingerprint alone reveals nothing. Only exact copies of a file are recognised.

An entry is `begun` before the work starts, `released` before the output gets its name, or ends with `nothing`
released. A run that is killed between these two steps is counted although it published nothing; no output
is ever published without being counted. No entry is ever removed.
"""

import hashlib
import json
import secrets
import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple, get_args

from wordveil.errors import ParameterError, sealed
from wordveil.folders import checked_path, user_folder
from wordveil.perturber import Perturber
from wordveil.runs.ledger_file import DamagedLedgerError, LedgerFile
from wordveil.runs.sums import ReleaseSetting, readable, together

__all__ = ["DamagedLedgerError", "Entry", "Ledger", "Registration", "Release", "ReleaseOutcome"]

ReleaseOutcome = Literal["begun", "released", "nothing"]

_KEY_BYTES: Final = 32
_SELECT: Final = (
    "SELECT number, content, begun, finished, source, target, columns, setting, outcome FROM entry "
)


class Entry(NamedTuple):
    """A run that is recorded in the ledger.

    `outcome` is None for a run of wordveil 0.1 that did not finish: it may have released its output.
    """

    number: int
    content: str
    begun: str
    finished: str | None
    source: str
    target: str
    columns: list[str]
    setting: ReleaseSetting
    outcome: ReleaseOutcome | None

    @property
    def counts(self) -> bool:
        """Whether the run has released something, or may have, or may still do so."""
        return self.outcome != "nothing"


class Registration(NamedTuple):
    """The number of a run's entry, and the other releases of the same content."""

    number: int
    earlier: list[Entry]


@dataclass(frozen=True, slots=True)
class Release:
    """What a run is about to release: which content, from where to where, and under what promise."""

    digest: bytes
    source: str
    target: str
    columns: tuple[str, ...]
    setting: ReleaseSetting

    @staticmethod
    def setting_of(perturber: Perturber, *, secure: bool) -> ReleaseSetting:
        """Return what the ledger needs in order to add up promises, or to see that they do not add up."""
        word = perturber.guarantee.word
        setting = perturber.mechanism.setting()
        epsilon, distance = word.distance or (None, None)
        epsilon = None if epsilon is None else float(epsilon)
        release = {
            "mechanism": setting["mechanism"],
            "parameters": setting,
            "epsilon": epsilon,
            "distance": distance,
            "vectors": perturber.mechanism.embedding.fingerprint,
            "worst_case_exponent": float(word.worst_case.upper),
            "secure": secure,
            "unsafe": [*perturber.policy.unsafe, *perturber.mechanism.unsafe],
        }
        if not readable(release):  # an entry that can't be read would make the ledger a damaged one
            raise ParameterError(
                f"{type(perturber.mechanism).__name__} can't be recorded in the ledger. Hint: the worst case "
                "of its guarantee must be from 0 to 1e300, and names of unsafe parameters must consist of "
                "lower-case letters, digits and _."
            )
        return release


class Ledger:
    """A SQLite file that only this user can read, by default in the platform's folder for state.

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
        self._file = LedgerFile(self.path)

    def set_aside(self) -> Path:
        """Rename a damaged ledger, so that a new one can be started; return its new path."""
        return self._file.set_aside()

    @sealed
    def entries(self) -> list[Entry]:
        """Return all entries, the oldest first."""
        if not self._file.exists():
            return []
        with self._file.transaction() as database:
            return self._entries(database, "ORDER BY number")

    def begin(self, release: Release, *, again: bool) -> Registration:
        """Write an entry before the work starts; return its number and the earlier releases.

        Raises ParameterError if there are any, unless `again`; then nothing is changed. An unfinished run
        with the same output has released nothing and never will: its entry is closed.
        """
        with self._file.transaction() as database:
            content = self._fingerprint(database, release.digest)
            database.execute(
                "UPDATE entry SET outcome = 'nothing', finished = ? "
                "WHERE content = ? AND target = ? AND outcome = 'begun'",
                (_now(), content, release.target),
            )
            earlier = self._other_releases(database, content)
            if earlier and not again:
                raise ParameterError(_refusal(release, earlier))
            row = database.execute(
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
            return Registration(row.lastrowid, earlier)

    def resume(self, number: int | None, release: Release, *, again: bool) -> Registration:
        """Return the entry of a run that is resumed, or write one if this ledger does not have it."""
        with self._file.transaction() as database:
            content = self._fingerprint(database, release.digest)
            row = database.execute(
                "SELECT 1 FROM entry WHERE number = ? AND content = ? AND target = ?",
                (number, content, release.target),
            ).fetchone()
            if row is not None and number is not None:
                return Registration(number, self._other_releases(database, content, number))
        return self.begin(release, again=again)

    def settle(self, number: int, target: str, outcome: ReleaseOutcome) -> None:
        """Record the outcome of an entry; `begun` reverts a release that then failed."""
        with self._file.transaction() as database:
            database.execute(
                "UPDATE entry SET outcome = ?, finished = ? WHERE number = ? AND target = ?",
                (outcome, None if outcome == "begun" else _now(), number, target),
            )

    def _other_releases(
        self, database: sqlite3.Connection, content: str, own: int | None = None
    ) -> list[Entry]:
        """Return all other releases of a content, including those made since this run was stopped."""
        entries = self._entries(database, "WHERE content = ? ORDER BY number", content)
        return [entry for entry in entries if entry.counts and entry.number != own]

    def _entries(self, database: sqlite3.Connection, condition: str, *values: object) -> list[Entry]:
        return [self._entry(row) for row in database.execute(_SELECT + condition, values)]

    def _entry(self, row: tuple[Any, ...]) -> Entry:
        """Return a row as an entry, if it is one that this program could have written."""
        number, *texts, columns, setting, outcome = row
        try:
            columns, setting = json.loads(columns), json.loads(setting)
        except (TypeError, ValueError, RecursionError):
            raise self._file.damaged(f"entry {number} is not readable") from None
        content, begun, finished, source, target = texts
        if outcome is None and finished is not None:  # written by wordveil 0.1
            outcome = "released"
        if not (
            all(isinstance(text, str) for text in (content, source, target))
            and _is_time(begun)
            and (finished is None or _is_time(finished))
            and isinstance(columns, list)
            and all(isinstance(column, str) for column in columns)
            and readable(setting)
            and outcome in (None, *get_args(ReleaseOutcome))
        ):
            raise self._file.damaged(f"entry {number} is not readable")
        return Entry(number, content, begun, finished, source, target, columns, setting, outcome)

    def _fingerprint(self, database: sqlite3.Connection, digest: bytes) -> str:
        """Return the fingerprint of a content under the ledger's key, which is drawn on first use."""
        row = database.execute("SELECT key FROM secret").fetchone()
        if row is None:
            if database.execute("SELECT 1 FROM entry").fetchone() is not None:
                raise self._file.damaged("its key is missing, so it can't recognise any content")
            row = (secrets.token_bytes(_KEY_BYTES),)
            database.execute("INSERT INTO secret (key) VALUES (?)", row)
        if not isinstance(row[0], bytes) or len(row[0]) != _KEY_BYTES:
            raise self._file.damaged("its key is not a key")
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
    state = "" if last.outcome == "released" else ", by a run that did not finish"
    return (
        f"{release.source}: this exact content was perturbed before, {times}, last on {last.begun[:10]} to "
        f"{last.target}{state}. {together(release.setting, [entry.setting for entry in earlier])} "
        "Hint: --again releases it anyway."
    )
