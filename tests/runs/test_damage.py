"""A damaged work folder is noticed and refused in one line; force starts over."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.stopped_runs import StoppedRun

import wordveil as wv
from wordveil.runs import publishing
from wordveil.runs import run as run_module
from wordveil.runs.journal import _checksum

ROWS = 6000


class Run(StoppedRun):
    """A run over 6,000 rows that is stopped in the middle, and the journal that it leaves."""

    def __init__(self, folder: Path, perturber: wv.Perturber) -> None:
        super().__init__(folder, perturber, ["tea at noon"] * ROWS)

    def stop(self) -> None:
        self.stop_at(3000)

    @property
    def lines(self) -> list[bytes]:
        return (self.work / "journal").read_bytes().splitlines()

    def write(self, *lines: bytes) -> None:
        (self.work / "journal").write_bytes(b"".join(line + b"\n" for line in lines))


@pytest.fixture
def run(tmp_path: Path, noisy: wv.Perturber, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(run_module, "_COMMIT_SECONDS", 0.0)
    return Run(tmp_path, noisy)


def check_refused(run: Run) -> None:
    """Refused with --resume; with --force the run always succeeds."""
    with pytest.raises(wv.IntegrityError, match=r"is damaged\. Hint: --force") as caught:
        run(resume=True)
    assert "\n" not in str(caught.value)
    assert not run.target.exists()
    done = run(force=True)
    assert (done.rows, done.resumed_rows) == (ROWS, 0)
    assert not run.work.exists()


@pytest.mark.parametrize("at", [0, 1, 2000, -1])
def test_a_flipped_bit_in_the_part(run: Run, at: int) -> None:
    run.stop()
    part = bytearray((run.work / "part").read_bytes())
    part[at] ^= 1
    (run.work / "part").write_bytes(part)
    check_refused(run)


def test_a_block_of_zeros_in_the_part(run: Run) -> None:
    """As a disk leaves them that lost a page. An early version published them, with a matching SHA-256."""
    run.stop()
    with (run.work / "part").open("r+b") as file:
        file.seek(4096)
        file.write(bytes(4096))
    check_refused(run)


@pytest.mark.parametrize("name", ["part", "manifest", "private"])
def test_damage_after_the_last_commit(run: Run, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(publishing, "publish", killed)
        run()
    data = bytearray((run.work / name).read_bytes())
    data[len(data) // 2] ^= 1
    (run.work / name).write_bytes(data)
    check_refused(run)


def test_damage_during_the_run(run: Run) -> None:
    def watch(rows: int, words: int, share: float) -> None:
        if rows == 4096:
            with (run.work / "part").open("r+b") as file:
                file.seek(100)
                file.write(b"\0\0")

    with pytest.raises(wv.IntegrityError, match="is damaged"):
        run(watch=watch)
    assert not run.target.exists()


def altered(kind: str, **changes: Any) -> Callable[[Run], None]:
    """Change members of the first line of that kind, and make its checksum match."""

    def damage(run: Run) -> None:
        lines = run.lines
        place = next(i for i, line in enumerate(lines) if json.loads(line)[0] == kind)
        facts = json.loads(lines[place])[1] | changes
        facts = {name: value for name, value in facts.items() if value is not ...}
        lines[place] = json.dumps([kind, facts, _checksum(kind, facts)]).encode()
        run.write(*lines)

    return damage


DAMAGES: dict[str, Callable[[Run], None]] = {
    "no JSON": lambda run: run.write(b"{", *run.lines[1:]),
    "a number": lambda run: run.write(b"7", *run.lines[1:]),
    "null": lambda run: run.write(b"null", *run.lines[1:]),
    "nested": lambda run: run.write(b"[" * 100_000, *run.lines[1:]),
    "not UTF-8": lambda run: run.write(b"\xff\xfe", *run.lines[1:]),
    "a pair": lambda run: run.write(b'["header", {}]', *run.lines[1:]),
    "zeros in the middle": lambda run: run.write(run.lines[0], bytes(50), *run.lines[2:]),
    "a digit changed": lambda run: run.write(
        run.lines[0], run.lines[1].replace(b'"rows": 1024', b'"rows": 1023'), *run.lines[2:]
    ),
    "two headers": lambda run: run.write(run.lines[0], *run.lines),
    "no header": lambda run: run.write(*run.lines[1:]),
    "unknown kind": lambda run: run.write(*run.lines, b'["x", 1, %d]' % _checksum("x", 1)),
    "of version 0.1": lambda run: run.write(
        b'["header", {"salt": "00", "identity": "", "entry": null, "head": 4}]'
    ),
    "salt is no hexadecimal": altered("header", salt="xyz"),
    "salt is a number": altered("header", salt=5),
    "salt is gone": altered("header", salt=...),
    "salt is long": altered("header", salt="00" * 100),
    "entry is huge": altered("header", entry=10**30),
    "seconds is huge": altered("commit", seconds=10**400),
    "rows is huge": altered("commit", rows=10**30),
    "entry is a text": altered("header", entry="1"),
    "head is negative": altered("header", head=-1),
    "head is a truth": altered("header", head=True),
    "another form": altered("header", form="other"),
    "rows is a text": altered("commit", rows="many"),
    "rows is negative": altered("commit", rows=-5),
    "rows is gone": altered("commit", rows=...),
    "something is added": altered("commit", more=1),
    "report is a list": altered("commit", report=[]),
    "report lacks nothing but sense": altered("commit", report={"texts": "x"}),
    "seconds is a list": altered("commit", seconds=[]),
    "sha256 is short": altered("commit", sha256="00"),
}


@pytest.mark.parametrize("how", DAMAGES)
def test_a_malformed_journal(run: Run, how: str) -> None:
    run.stop()
    DAMAGES[how](run)
    check_refused(run)


@pytest.mark.parametrize("name", ["journal", "lock", "part"])
def test_a_folder_where_a_file_should_be(run: Run, name: str) -> None:
    run.stop()
    (run.work / name).unlink()
    (run.work / name / "sub").mkdir(parents=True)
    assert run(force=True).rows == ROWS


def test_a_truncated_line_was_never_committed(run: Run) -> None:
    run.stop()
    journal = run.work / "journal"
    journal.write_bytes(journal.read_bytes()[:-5])
    done = run(resume=True)
    assert (done.rows, done.resumed_rows) == (ROWS, 1024)


def test_two_runs_over_the_same_input_have_nothing_in_common_on_disk(run: Run) -> None:
    """A constant salt, or none, would let anyone who has the folder test guesses of the input for all runs at once."""
    headers = []
    for _ in range(2):
        run.stop()
        headers.append(json.loads(run.lines[0])[1])
        for path in run.work.iterdir():
            path.unlink()
        run.work.rmdir()
    a, b = headers
    assert len(bytes.fromhex(a["salt"])) == len(bytes.fromhex(b["salt"])) == 32
    assert a["salt"] != b["salt"]
    assert a["identity"] != b["identity"]


@pytest.mark.parametrize("more", [{}, {"resume": True}])
def test_a_symbolic_link_for_a_lock(run: Run, more: dict[str, bool], tmp_path: Path) -> None:
    run.stop()
    (run.work / "lock").unlink()
    (run.work / "lock").symlink_to(tmp_path / "elsewhere")
    assert run(force=True, **more).rows == ROWS
    assert not (tmp_path / "elsewhere").exists()


def test_more_committed_rows_than_the_input_has(run: Run) -> None:
    """If this were accepted, an incomplete output would be published as if it were complete."""
    run.stop()
    lines = run.lines
    kind, facts, _ = json.loads(lines[-1])
    facts["rows"] = 10**9
    run.write(*lines[:-1], json.dumps([kind, facts, _checksum(kind, facts)]).encode())
    check_refused(run)
