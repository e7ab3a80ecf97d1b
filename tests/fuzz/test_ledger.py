"""The ledger: any file in its place, and any value in its tables."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import strategies as st

import wordveil as wv

from .budget import Budget
from .mutations import as_json, damaged, odd_values, weighted
from .rules import SECRET, Rules
from .runs import SmallRun

pytestmark = pytest.mark.fuzz

_COLUMNS: Final = ("number", "content", "begun", "finished", "source", "columns", "setting", "outcome")
_STATEMENTS: Final = (
    "DROP TABLE entry",
    "DROP TABLE secret",
    "DELETE FROM entry",
    "DELETE FROM secret",
    "INSERT INTO secret SELECT * FROM secret",
    "DROP INDEX entry_content",
    f"ALTER TABLE entry RENAME COLUMN setting TO {SECRET}",
    "ALTER TABLE entry DROP COLUMN outcome",
    f"ALTER TABLE entry ADD COLUMN {SECRET} TEXT NOT NULL DEFAULT '{SECRET}'",
    f"ALTER TABLE secret RENAME TO {SECRET}",
    f"CREATE TRIGGER {SECRET} BEFORE INSERT ON entry BEGIN SELECT RAISE(ABORT, '{SECRET}'); END",
    f"CREATE TRIGGER {SECRET} BEFORE UPDATE ON entry BEGIN SELECT RAISE(FAIL, '{SECRET}'); END",
    f"CREATE TABLE {SECRET} (a)",
    "ALTER TABLE entry RENAME TO old; CREATE VIEW entry AS SELECT * FROM old",
    f"ALTER TABLE entry RENAME TO old; CREATE TABLE entry ({SECRET} TEXT)",
    "PRAGMA user_version = 99",
    "PRAGMA journal_mode = WAL",
)

_Change = tuple[str, tuple[Any, ...]]


def stored() -> st.SearchStrategy[Any]:
    """Values as SQLite can hold them."""
    usual = st.sampled_from([SECRET, f"{SECRET}\n", "2026-01-01", "released", "[]", "{}"])
    texts = odd_values().map(lambda value: as_json(value).decode()) | st.text(max_size=6) | usual
    numbers = st.integers(-(2**63), 2**63 - 1) | st.floats()
    return st.one_of(st.none(), texts, numbers, st.binary(max_size=40))


def changes(setting: dict[str, Any]) -> st.SearchStrategy[list[_Change]]:
    """Statements that somebody might have run on a ledger."""
    update = st.tuples(st.sampled_from(_COLUMNS), stored()).map(
        lambda pair: (f"UPDATE OR REPLACE entry SET {pair[0]} = ?", (pair[1],))
    )
    member = st.tuples(st.sampled_from(sorted(setting)), odd_values()).map(
        lambda pair: ("UPDATE entry SET setting = ?", (as_json(setting | {pair[0]: pair[1]}).decode(),))
    )
    key = stored().map(lambda value: ("UPDATE secret SET key = ?", (value,)))
    statement = st.sampled_from(_STATEMENTS).map(lambda text: (text, ()))
    return st.lists(weighted((4, update), (3, member), (1, key), (2, statement)), min_size=1, max_size=2)


def changed(path: Path, statements: list[_Change]) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as base:
        for text, values in statements:
            try:
                if values:
                    base.execute(text, values)
                else:
                    base.executescript(text)
            except (sqlite3.Error, UnicodeEncodeError, OverflowError):
                continue


def test_ledgers(
    budget: Budget, rules: Rules, folder: Path, noisy: wv.Perturber, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = SmallRun(folder, noisy, monkeypatch)
    state = folder.parent / "state"
    monkeypatch.setenv("XDG_STATE_HOME", str(state))
    ledger = wv.Ledger()
    run(ledger=ledger)
    with pytest.warns(wv.PrivacyWarning):
        run(ledger=ledger, again=True, force=True)
    valid, setting = ledger.path.read_bytes(), ledger.entries()[0].setting

    def example(case: bytes | list[_Change]) -> str:
        for path in ledger.path.parent.iterdir():
            path.unlink()
        run.clear()
        ledger.path.write_bytes(case if isinstance(case, bytes) else valid)
        if isinstance(case, list):
            changed(ledger.path, case)
        entries = rules.call(ledger.entries)
        code = rules.command("ledger", *(["--json"] if len(case) % 2 else []))
        assert (code == 0) == (not isinstance(entries, wv.WordveilError))
        first = rules.call(lambda: run(ledger=ledger))
        if isinstance(first, wv.WordveilError):
            assert {path.name for path in folder.iterdir()} == {run.source.name}
        again = rules.call(lambda: run(ledger=ledger, force=True, again=True))
        assert not isinstance(again, wv.WordveilError), again
        run.check_complete()
        return "refused" if isinstance(entries, wv.WordveilError) else "read"

    budget.spend(weighted((1, damaged([valid])), (2, changes(setting))), example)
