"""The ledger and runs that are stopped, resumed or killed."""

import json
import sqlite3
import stat
from pathlib import Path
from typing import Any

import pytest

import wordveil as wv
from wordveil.runs import ledger_file, publishing
from wordveil.runs import run as run_module
from wordveil.runs.journal import Journal


class Stopped:
    """Runs that are stopped after 2,048 of 5,000 rows, and those that come after them."""

    def __init__(self, folder: Path, perturber: wv.Perturber, ledger: wv.Ledger) -> None:
        self.folder, self.ledger = folder, ledger
        self.options: dict[str, Any] = {"perturber": perturber, "text": "m"}
        (folder / "in.csv").write_text("m\n" + "tea\n" * 5000)

    def stop(self, name: str, **more: Any) -> None:
        def watch(rows: int, words: int, share: float) -> None:
            if rows > 2500:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            self.run(name, watch=watch, **more)

    def run(self, name: str, **more: Any) -> wv.FileRun:
        options = {"ledger": self.ledger} | self.options | more
        return wv.perturb_file(self.folder / "in.csv", self.folder / name, **options)

    @property
    def states(self) -> list[tuple[str, str | None]]:
        return [(Path(entry.target).name, entry.outcome) for entry in self.ledger.entries()]


@pytest.fixture
def stopped(
    tmp_path: Path, ledger: wv.Ledger, noisy: wv.Perturber, monkeypatch: pytest.MonkeyPatch
) -> Stopped:
    monkeypatch.setattr(run_module, "_COMMIT_SECONDS", 0.0)
    return Stopped(tmp_path, noisy, ledger)


def test_different_paths_to_one_target_are_the_same(stopped: Stopped) -> None:
    (stopped.folder / "sub").mkdir()
    (stopped.folder / "link").symlink_to(stopped.folder)
    stopped.stop("sub/../a.csv")
    stopped.run("link/a.csv", resume=True)
    assert stopped.states == [("a.csv", "released")]


def test_a_run_resumed_with_another_ledger_is_recorded_there(
    stopped: Stopped, tmp_path: Path, same: wv.Perturber
) -> None:
    stopped.stop("a.csv")
    (tmp_path / "other.csv").write_text("m\nnoon\n")
    stopped.ledger = wv.Ledger(tmp_path / "second.sqlite")
    wv.perturb_file(
        tmp_path / "other.csv", tmp_path / "b.csv", perturber=same, text="m", ledger=stopped.ledger
    )
    stopped.run("a.csv", resume=True)
    assert stopped.states == [("b.csv", "released"), ("a.csv", "released")]


def test_a_resumed_run_still_reports_earlier_releases(stopped: Stopped) -> None:
    stopped.run("a.csv")
    with pytest.warns(wv.PrivacyWarning):
        stopped.stop("b.csv", again=True)
    with pytest.warns(wv.PrivacyWarning):
        run = stopped.run("b.csv", resume=True)
    assert json.loads(run.manifest.read_text())["earlier_releases"]["known"] == 1
    assert stopped.states == [("a.csv", "released"), ("b.csv", "released")]


def test_a_refusal_changes_nothing(stopped: Stopped) -> None:
    stopped.run("a.csv")
    with pytest.warns(wv.PrivacyWarning):
        stopped.stop("b.csv", again=True)
    with pytest.raises(wv.ParameterError, match="--again"):
        stopped.run("b.csv", force=True)
    assert stopped.states == [("a.csv", "released"), ("b.csv", "begun")]
    with pytest.warns(wv.PrivacyWarning):
        assert stopped.run("b.csv", resume=True).resumed_rows == 2048


def test_a_run_that_could_not_start_released_nothing(
    stopped: Stopped, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(wv.MachineError, match="No space left"):
        patch.setattr(Journal, "begin", full)
        stopped.run("a.csv")
    assert stopped.states == [("a.csv", "nothing")]
    assert [path.name for path in stopped.folder.iterdir() if path.name.startswith(".")] == []


def killed(*_: object, **__: object) -> None:
    raise KeyboardInterrupt


def test_a_release_is_counted_before_it_happens(stopped: Stopped, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(publishing, "publish", killed)
        stopped.run("a.csv")
    assert not (stopped.folder / "a.csv").exists()
    assert stopped.states == [("a.csv", "released")]  # one too many, which is safe
    assert stopped.run("a.csv", resume=True).rows == 5000
    assert stopped.states == [("a.csv", "released")]


def test_an_output_that_was_moved_away_stays_counted(
    stopped: Stopped, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed right after publishing; then everything is moved away, the work folder too."""
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(publishing, "sync_folder", killed)
        stopped.run("a.csv")
    assert (stopped.folder / "a.csv").exists()
    for path in [*stopped.folder.glob("a.csv*"), stopped.folder / ".a.csv.wordveil"]:
        path.rename(stopped.folder / f"moved{path.name}")
    with pytest.raises(wv.ParameterError, match="perturbed before, once"):
        stopped.run("a.csv")
    assert stopped.states == [("a.csv", "released")]


def test_a_failed_publication_is_not_counted(stopped: Stopped, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space"):
        patch.setattr(publishing, "publish", full)
        stopped.run("a.csv")
    assert stopped.states == [("a.csv", "begun")]
    assert stopped.run("a.csv", resume=True).resumed_rows == 5000
    assert stopped.states == [("a.csv", "released")]


def test_nothing_is_published_while_the_ledger_is_locked(
    stopped: Stopped, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_file, "_WAIT_SECONDS", 0.1)

    def lock(rows: int, words: int, share: float) -> None:
        if not holders:
            holders.append(
                sqlite3.connect(stopped.ledger.path, isolation_level=None, check_same_thread=False)
            )
            holders[0].execute("BEGIN EXCLUSIVE")

    holders: list[sqlite3.Connection] = []
    with pytest.raises(wv.MachineError, match=r"in use by another program\. Hint: .*--resume") as caught:
        stopped.run("a.csv", watch=lock)
    assert "move it" not in str(caught.value)
    assert not (stopped.folder / "a.csv").exists()
    holders[0].execute("ROLLBACK")
    holders[0].close()
    assert stopped.states == [("a.csv", "begun")]
    assert stopped.run("a.csv", resume=True).rows == 5000
    assert stopped.states == [("a.csv", "released")]


def test_numbers_have_no_gaps(stopped: Stopped) -> None:
    stopped.stop("a.csv")
    stopped.run("a.csv", force=True)
    with pytest.raises(wv.ParameterError):
        stopped.run("b.csv")
    with pytest.warns(wv.PrivacyWarning):
        stopped.run("b.csv", again=True)
    assert [entry.number for entry in stopped.ledger.entries()] == [1, 2, 3]
    assert [outcome for _, outcome in stopped.states] == ["nothing", "released", "released"]


def test_a_bad_option_does_not_lose_the_stopped_run(stopped: Stopped) -> None:
    stopped.stop("a.csv")
    with pytest.raises(wv.ParameterError, match="'workers'"):
        stopped.run("a.csv", resume=True, workers=0)
    with pytest.raises(wv.ParameterError, match="no such thing"):
        stopped.run("a.csv", resume=True, engine=_refuse)
    assert stopped.run("a.csv", resume=True).resumed_rows == 2048


def _refuse(perturber: wv.Perturber, key: wv.RunKey) -> Any:
    raise wv.ParameterError("no such thing")


def test_loose_permissions_are_tightened(stopped: Stopped) -> None:
    stopped.run("a.csv")
    stopped.ledger.path.chmod(0o644)
    stopped.ledger.entries()
    assert stat.S_IMODE(stopped.ledger.path.stat().st_mode) == 0o600


def test_a_resumed_run_reports_releases_made_since_it_was_stopped(stopped: Stopped) -> None:
    stopped.stop("a.csv")
    with pytest.warns(wv.PrivacyWarning):
        stopped.run("b.csv", again=True)
    with pytest.warns(wv.PrivacyWarning, match="This content is released again"):
        run = stopped.run("a.csv", resume=True)
    assert json.loads(run.manifest.read_text())["earlier_releases"]["known"] == 1


def test_a_run_in_the_ledger_is_not_resumed_without_it(stopped: Stopped) -> None:
    """Otherwise the output would be published, and the entry would say that nothing was released."""
    stopped.stop("a.csv")
    with pytest.raises(wv.ParameterError, match="is recorded in the ledger"):
        stopped.run("a.csv", resume=True, ledger=None)
    assert stopped.run("a.csv", resume=True).resumed_rows == 2048


def test_a_resumed_run_also_renames_a_damaged_ledger(stopped: Stopped) -> None:
    stopped.stop("a.csv")
    stopped.ledger.path.write_bytes(b"not a data database" * 1000)
    with pytest.raises(wv.MachineError, match="is damaged"):
        stopped.run("a.csv", resume=True)
    with pytest.warns(wv.PrivacyWarning, match="does not know about earlier releases"):
        assert stopped.run("a.csv", resume=True, force=True).resumed_rows == 2048
    assert stopped.states == [("a.csv", "released")]


def test_a_folder_instead_of_the_ledger(stopped: Stopped) -> None:
    stopped.ledger.path.mkdir(parents=True)
    with pytest.raises(wv.MachineError, match="is damaged: it is a folder"):
        stopped.run("a.csv")
    with pytest.warns(wv.PrivacyWarning, match="does not know about earlier releases"):
        stopped.run("a.csv", force=True)
