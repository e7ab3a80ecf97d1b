"""The ledger: what is counted, what is refused, and what survives damage."""

import hashlib
import json
import os
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import wordveil as wv
from wordveil.runs import run as run_module
from wordveil.runs.sums import together

CSV = "message,other\nBook a flight,tea\n"


SETTING: dict[str, Any] = {
    "vectors": "v", "lam": 0.0, "dims": 3, "epsilon": 1.0, "worst_case_exponent": 1.0, "secure": True, "unsafe": []
}  # fmt: skip


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.csv"
    path.write_text(CSV)
    return path


def test_a_second_release_is_refused_with_the_sum_of_both(
    source: Path, tmp_path: Path, ledger: wv.Ledger, small: wv.Embedding
) -> None:
    perturber = wv.Perturber(wv.Mahalanobis(small, 2.0))
    options: dict[str, Any] = {"perturber": perturber, "text": "message", "ledger": ledger}
    wv.perturb_file(source, tmp_path / "a.csv", **options)
    copy = tmp_path / "renamed.csv"
    copy.write_text(CSV)
    with pytest.raises(wv.ParameterError) as caught:
        wv.perturb_file(copy, tmp_path / "b.csv", **options)
    message = str(caught.value)
    worst = perturber.guarantee.word.worst_case.upper
    assert "this exact content was perturbed before, once" in message
    assert f"at most exp({2 * worst:.1f}) ({worst:.1f} + {worst:.1f})" in message
    assert "as one release at ε = 2 + 2 = 4 would" in message
    assert "--again" in message
    assert not (tmp_path / "b.csv").exists()
    assert not (tmp_path / ".b.csv.wordveil").exists()
    with pytest.warns(wv.PrivacyWarning, match="released again"):
        run = wv.perturb_file(copy, tmp_path / "b.csv", again=True, **options)
    assert json.loads(run.manifest.read_text())["earlier_releases"]["known"] == 1
    assert "ε = 2 + 2 = 4" in json.loads(run.manifest.read_text())["earlier_releases"]["together"]
    with pytest.raises(wv.ParameterError, match="2 times"):
        wv.perturb_file(source, tmp_path / "c.csv", **options)


def test_exponents_of_different_distances_add_up(small: wv.Embedding) -> None:
    a, b = (SETTING | {"lam": lam, "worst_case_exponent": lam + 1.0} for lam in (0.0, 1.0))
    assert together(a, [b]).endswith(
        "at most exp(3.0) (2.0 + 1.0); their exponents add up, each by its own rule."
    )


def test_content_is_recognised_whatever_the_file_is_called(
    source: Path, tmp_path: Path, ledger: wv.Ledger, same: wv.Perturber
) -> None:
    options: dict[str, Any] = {"perturber": same, "ledger": ledger}
    wv.perturb_file(source, tmp_path / "a.csv", text="message", **options)
    with pytest.raises(wv.ParameterError, match="this exact content"):
        wv.perturb_file(source, tmp_path / "b.csv", text="1", layout=wv.Layout(header=False), **options)
    with pytest.raises(wv.ParameterError, match="this exact content"):
        wv.perturb_file(source, tmp_path / "b.txt", layout=wv.Layout("text"), **options)
    source.write_text(CSV + "x,y\n")
    wv.perturb_file(source, tmp_path / "c.csv", text=["message", "other"], **options)
    assert [entry.columns for entry in ledger.entries()] == [["message"], ["message", "other"]]
    assert all(entry.finished for entry in ledger.entries())


def test_a_file_without_words_is_not_counted(tmp_path: Path, ledger: wv.Ledger, same: wv.Perturber) -> None:
    (tmp_path / "in.csv").write_text("message\n")
    for name in ("a.csv", "b.csv"):
        wv.perturb_file(tmp_path / "in.csv", tmp_path / name, perturber=same, text="message", ledger=ledger)
    assert [entry.outcome for entry in ledger.entries()] == ["nothing", "nothing"]


@pytest.mark.parametrize("how", ["seed", "unsafe"])
@pytest.mark.parametrize("first", [True, False])
def test_a_void_release_voids_the_sum(
    how: str, first: bool, source: Path, tmp_path: Path, ledger: wv.Ledger, small: wv.Embedding
) -> None:
    void: dict[str, Any] = {"perturber": wv.Perturber(wv.Mahalanobis(small, 2.0)), "key": wv.insecure_key(1)}
    if how == "unsafe":
        with pytest.warns(wv.PrivacyWarning):
            void = {"perturber": wv.Perturber(wv.Mahalanobis(small, 2.0), wv.Policy(unsafe_keep=True))}
    good: dict[str, Any] = {"perturber": wv.Perturber(wv.Mahalanobis(small, 2.0))}
    before, after = (void, good) if first else (good, void)
    wv.perturb_file(source, tmp_path / "a.csv", text="message", ledger=ledger, **before)
    sentence = (
        f"promise nothing: release {1 if first else 2} of 2 (drew its noise from a seed|made unsafe choices)"
    )
    with pytest.warns(wv.PrivacyWarning, match=sentence):
        run = wv.perturb_file(source, tmp_path / "b.csv", text="message", ledger=ledger, again=True, **after)
    earlier = json.loads(run.manifest.read_text())["earlier_releases"]
    assert (earlier["void"], earlier["known"]) == (True, 1)
    assert "at most exp" not in run.manifest.read_text()
    with pytest.raises(wv.ParameterError, match="promise nothing"):
        wv.perturb_file(source, tmp_path / "c.csv", text="message", ledger=ledger, **good)


def test_a_release_with_unknown_security_is_void() -> None:
    assert "did not record" in together(SETTING, [{key: SETTING[key] for key in SETTING if key != "secure"}])


def test_a_symbolic_link_is_refused(source: Path, tmp_path: Path, same: wv.Perturber) -> None:
    link = tmp_path / "link.sqlite"
    link.symlink_to(tmp_path / "elsewhere.sqlite")
    with pytest.raises(wv.MachineError, match="is a symbolic link"):
        wv.perturb_file(source, tmp_path / "a.csv", perturber=same, text="message", ledger=wv.Ledger(link))
    with pytest.raises(wv.MachineError, match="is a symbolic link"):
        wv.Ledger(link).entries()
    assert not (tmp_path / "elsewhere.sqlite").exists()


OLD = """
CREATE TABLE secret (key BLOB NOT NULL);
CREATE TABLE entry (
    number INTEGER PRIMARY KEY AUTOINCREMENT, content TEXT NOT NULL, begun TEXT NOT NULL, finished TEXT,
    source TEXT NOT NULL, target TEXT NOT NULL, columns TEXT NOT NULL, setting TEXT NOT NULL
);
"""


def test_a_ledger_of_version_0_1_is_read(
    source: Path, tmp_path: Path, ledger: wv.Ledger, same: wv.Perturber
) -> None:
    wv.perturb_file(source, tmp_path / "a.csv", perturber=same, text="message", ledger=ledger)
    (entry,) = ledger.entries()
    setting = {key: value for key, value in entry.setting.items() if key != "secure"}
    old = wv.Ledger(tmp_path / "old.sqlite")
    with closing(sqlite3.connect(ledger.path)) as new, closing(sqlite3.connect(old.path)) as database:
        database.executescript(OLD)
        database.execute("INSERT INTO secret SELECT ?", new.execute("SELECT key FROM secret").fetchone())
        for finished in ("2026-01-01", None):
            database.execute(
                "INSERT INTO entry (content, begun, finished, source, target, columns, setting) "
                "VALUES (?, '2026-01-01', ?, 'in', ?, '[]', ?)",
                (entry.content, finished, entry.target, json.dumps(setting)),
            )
        database.commit()
    assert [entry.outcome for entry in old.entries()] == ["released", None]
    with pytest.raises(wv.ParameterError, match=r"2 times.*did not finish\. .*did not record"):
        wv.perturb_file(source, tmp_path / "b.csv", perturber=same, text="message", ledger=old)


def damage_entry(column: str, value: object) -> Callable[[sqlite3.Connection], object]:
    return lambda database: database.execute(f"UPDATE entry SET {column} = ?", (value,))


DAMAGES: dict[str, Callable[[sqlite3.Connection], object]] = {
    "setting is no JSON": damage_entry("setting", "{"),
    "setting is a list": damage_entry("setting", "[]"),
    "setting is empty": damage_entry("setting", "{}"),
    "setting is a blob": damage_entry("setting", b"\xff"),
    "setting is a number": damage_entry("setting", 7),
    "setting nests": damage_entry("setting", "[" * 100_000),
    "epsilon is a text": damage_entry("setting", json.dumps(SETTING | {"epsilon": "1"})),
    "epsilon is no number": damage_entry("setting", json.dumps(SETTING | {"epsilon": float("nan")})),
    "epsilon is too large": damage_entry("setting", json.dumps(SETTING | {"epsilon": 10**400})),
    "unsafe is a text": damage_entry("setting", json.dumps(SETTING | {"unsafe": "no"})),
    "unsafe holds numbers": damage_entry("setting", json.dumps(SETTING | {"unsafe": [1]})),
    "secure is a text": damage_entry("setting", json.dumps(SETTING | {"secure": "yes"})),
    "columns is no JSON": damage_entry("columns", "x"),
    "columns is a dict": damage_entry("columns", "{}"),
    "columns holds numbers": damage_entry("columns", "[1]"),
    "unsafe holds another text": damage_entry("setting", json.dumps(SETTING | {"unsafe": ["Zanzibar"]})),
    "no number is left": damage_entry("number", 2**63 - 1),
    "begun is no time": damage_entry("begun", "Zanzibar"),
    "finished is no time": damage_entry("finished", "\n"),
    "begun is a blob": damage_entry("begun", b"\xff\xfe"),
    "target is a blob": damage_entry("target", b"\xff"),
    "outcome is unknown": damage_entry("outcome", "lost"),
    "key is short": lambda database: database.execute("UPDATE secret SET key = x'00'"),
    "key is a text": lambda database: database.execute(
        "UPDATE secret SET key = 'a text of thirty-two letters ....'"
    ),
    "key is long": lambda database: database.execute("UPDATE secret SET key = zeroblob(100)"),
    "key is gone": lambda database: database.execute("DELETE FROM secret"),
    "entries lack a column": lambda database: database.execute("ALTER TABLE entry DROP COLUMN source"),
    "a trigger blocks updates": lambda database: database.execute(
        "CREATE TRIGGER t BEFORE UPDATE ON entry BEGIN SELECT RAISE(FAIL, 'no'); END"
    ),
    "the schema is not UTF-8": lambda database: database.execute(
        "UPDATE sqlite_master SET sql = 'CREATE TABLE entry ' || CAST(x'ff' AS TEXT) WHERE name = 'entry'"
    ),
    "entry is a view": lambda database: database.executescript(
        "DROP TABLE entry; CREATE VIEW entry AS SELECT 1;"
    ),
}


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_ledger_is_refused_and_renamed_with_force(
    how: str, source: Path, tmp_path: Path, ledger: wv.Ledger, same: wv.Perturber
) -> None:
    options: dict[str, Any] = {"perturber": same, "text": "message", "ledger": ledger}
    wv.perturb_file(source, tmp_path / "a.csv", **options)
    with closing(sqlite3.connect(ledger.path)) as database:
        database.execute("PRAGMA writable_schema = ON")
        DAMAGES[how](database)
        database.commit()
    damaged = ledger.path.read_bytes()
    with pytest.raises(wv.MachineError, match="is damaged") as caught:
        wv.perturb_file(source, tmp_path / "b.csv", **options)
    assert "\n" not in str(caught.value)
    assert "Zanzibar" not in str(caught.value)
    with pytest.warns(wv.PrivacyWarning, match="does not know about earlier releases"):
        wv.perturb_file(source, tmp_path / "b.csv", force=True, **options)
    assert [entry.outcome for entry in ledger.entries()] == ["released"]
    (aside,) = ledger.path.parent.glob("*.damaged-*")
    assert aside.read_bytes() == damaged


def test_paths_of_odd_bytes(tmp_path: Path, ledger: wv.Ledger, same: wv.Perturber) -> None:
    source = tmp_path / os.fsdecode(b"in\x8e.txt")
    source.write_text("tea\n")
    wv.perturb_file(source, tmp_path / os.fsdecode(b"out\x8e.txt"), perturber=same, ledger=ledger)
    assert ledger.entries()[0].target.endswith("out\\x8e.txt")


def test_only_the_owner_can_read_it_and_fingerprints_are_keyed(
    source: Path, tmp_path: Path, ledger: wv.Ledger, same: wv.Perturber
) -> None:
    before = os.umask(0)
    try:
        wv.perturb_file(source, tmp_path / "a.csv", perturber=same, text="message", ledger=ledger)
    finally:
        os.umask(before)
    assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600
    assert stat.S_IMODE(ledger.path.parent.stat().st_mode) == 0o700
    stored = ledger.path.read_bytes()
    for name in ("sha256", "sha512", "blake2b", "md5"):
        digest = hashlib.new(name, CSV.encode())
        assert digest.hexdigest().encode() not in stored
        assert digest.digest() not in stored
    assert b"flight" not in stored
    other = wv.Ledger(tmp_path / "other.sqlite")
    wv.perturb_file(source, tmp_path / "b.csv", perturber=same, text="message", ledger=other)
    assert other.entries()[0].content != ledger.entries()[0].content


def test_the_entry_is_written_before_the_work_starts(
    source: Path, tmp_path: Path, ledger: wv.Ledger, same: wv.Perturber
) -> None:
    seen = []

    def make(perturber: wv.Perturber, key: wv.RunKey) -> Any:
        seen.extend(ledger.entries())
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        wv.perturb_file(
            source, tmp_path / "a.csv", perturber=same, text="message", ledger=ledger, engine=make
        )
    assert [entry.outcome for entry in seen] == ["begun"]
    assert [entry.outcome for entry in ledger.entries()] == ["nothing"]


def test_an_unfinished_entry_blocks_only_other_outputs(
    tmp_path: Path, ledger: wv.Ledger, noisy: wv.Perturber, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_module, "_COMMIT_SECONDS", 0.0)
    source = tmp_path / "in.csv"
    source.write_text("m\n" + "tea\n" * 5000)
    options: dict[str, Any] = {"perturber": noisy, "text": "m", "ledger": ledger}

    def stop(rows: int, words: int, share: float) -> None:
        if rows > 2500:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match="2,048 rows are done; --resume continues from there"):
        wv.perturb_file(source, tmp_path / "a.csv", watch=stop, **options)
    with pytest.raises(wv.ParameterError, match="a run that did not finish"):
        wv.perturb_file(source, tmp_path / "b.csv", **options)
    run = wv.perturb_file(source, tmp_path / "a.csv", resume=True, **options)
    assert (run.rows, run.resumed_rows) == (5000, 2048)
    assert [entry.outcome for entry in ledger.entries()] == ["released"]


def test_bad_input_leaves_no_entry(tmp_path: Path, ledger: wv.Ledger, same: wv.Perturber) -> None:
    (tmp_path / "in.csv").write_text("message\nok\nbad,row\n")
    with pytest.raises(wv.FormatError):
        wv.perturb_file(
            tmp_path / "in.csv", tmp_path / "a.csv", perturber=same, text="message", ledger=ledger
        )
    assert ledger.entries() == []


def test_a_damaged_or_unwritable_ledger_is_a_machine_error(
    source: Path, tmp_path: Path, same: wv.Perturber
) -> None:
    path = tmp_path / "ledger.sqlite"
    path.write_bytes(b"this is not a data database, but it is long enough to be taken for one" * 100)
    with pytest.raises(wv.MachineError, match=r"is damaged: SQLite can't read it\. Hint: restore a backup"):
        wv.perturb_file(source, tmp_path / "a.csv", perturber=same, text="message", ledger=wv.Ledger(path))
    with pytest.raises(wv.MachineError, match=r"can't be written.*XDG_STATE_HOME"):
        wv.perturb_file(
            source, tmp_path / "a.csv", perturber=same, text="message", ledger=wv.Ledger(Path("/dev/null/x"))
        )
    assert not (tmp_path / "a.csv").exists()


def test_without_a_ledger_nothing_is_recorded(source: Path, tmp_path: Path, same: wv.Perturber) -> None:
    for name in ("a.csv", "b.csv"):
        run = wv.perturb_file(source, tmp_path / name, perturber=same, text="message")
        assert "earlier_releases" not in json.loads(run.manifest.read_text())
    assert wv.Ledger().entries() == []
