"""Runs that are stopped, at any point and in any way, and then resumed."""

import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

import wordveil as wv
from wordveil.runs import run as run_module
from wordveil.runs.journal import Journal

DRIVER = Path(__file__).parent / "crash_driver.py"
SCRIPT = shutil.which("wordveil", path=str(Path(sys.executable).parent)) or "wordveil is not installed"
ROWS = 6000


@pytest.mark.parametrize("suffix", ["csv", pytest.param("parquet", marks=pytest.mark.slow)])
def test_killed_at_every_call_that_touches_the_disk(suffix: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", str(DRIVER), str(tmp_path), suffix], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    results = json.loads(done.stdout)
    assert len(results) > 60
    assert [row["ended"] for row in results] == [signal.SIGKILL] * (len(results) - 1) + [0]
    for row in results:
        assert (row["again"], row["early"], row["left"]) == (0, False, False), row
        assert row["complete"], row
        assert row["prefix"], row
        assert row["redone"], row
        assert row["entries"].count("released") == 1, row
        assert row["entries"][-1] == "released", row
        assert "begun" not in row["entries"], row
        assert row["manifest"] == 60, row
    assert len({row["committed"] for row in results}) > 4  # it was killed between commits as well


class StopError(Exception):
    pass


def stopping_after(rows: int) -> Any:
    def watch(done: int, words: int, share: float) -> None:
        if done >= rows:
            raise StopError

    return watch


@pytest.fixture
def stopped(tmp_path: Path, noisy: wv.Perturber, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A run that was stopped after 2,048 rows of 6,000 were committed, and 1,024 more computed."""
    monkeypatch.setattr(run_module, "_COMMIT_SECONDS", 0.0)
    source = tmp_path / "in.csv"
    source.write_text("n,m\n" + "".join(f"{i},tea at noon\n" for i in range(ROWS)))
    options: dict[str, Any] = {"perturber": noisy, "text": "m", "keep": "n", "workers": 1}
    with pytest.raises(StopError):
        wv.perturb_file(source, tmp_path / "out.csv", watch=stopping_after(3000), **options)
    return options


def test_a_run_is_resumed_after_the_last_commit(tmp_path: Path, stopped: dict[str, Any]) -> None:
    part = (tmp_path / ".out.csv.wordveil" / "part").read_bytes()
    run = wv.perturb_file(tmp_path / "in.csv", tmp_path / "out.csv", resume=True, **stopped)
    assert (run.rows, run.resumed_rows, run.words) == (ROWS, 2048, 3 * ROWS)
    assert run.output.read_bytes().startswith(part)
    numbers = [int(line.split(",")[0]) for line in run.output.read_text().splitlines()[1:]]
    assert numbers == list(range(ROWS))
    assert json.loads(run.private.read_text())["counts"]["tokens"] == 3 * ROWS
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "in.csv", "out.csv", "out.csv.manifest.json", "out.csv.private.json"
    ]  # fmt: skip


def test_a_stopped_run_is_reported_without_resume(tmp_path: Path, stopped: dict[str, Any]) -> None:
    with pytest.raises(wv.ParameterError, match=r"stopped after 2,048 rows\. Hint: --resume .* --force"):
        wv.perturb_file(tmp_path / "in.csv", tmp_path / "out.csv", **stopped)
    run = wv.perturb_file(tmp_path / "in.csv", tmp_path / "out.csv", force=True, **stopped)
    assert (run.rows, run.resumed_rows) == (ROWS, 0)


@pytest.mark.parametrize("what", ["content", "epsilon", "policy", "columns", "layout", "seed"])
def test_only_the_same_run_is_resumed(
    what: str, tmp_path: Path, stopped: dict[str, Any], small: wv.Embedding
) -> None:
    match what:
        case "content":
            (tmp_path / "in.csv").write_text(
                (tmp_path / "in.csv").read_text().replace("5999,tea", "5999,red")
            )
        case "epsilon":
            stopped["perturber"] = wv.Perturber(wv.Mahalanobis(small, 0.02))
        case "policy":
            stopped["perturber"] = wv.Perturber(wv.Mahalanobis(small, 0.01), wv.Policy(bag=True))
        case "columns":
            stopped["keep"] = []
        case "layout":
            stopped["layout"] = wv.Layout(quotes=False)
        case "seed":
            stopped["key"] = wv.insecure_key(1)
    with pytest.raises(wv.ParameterError, match="had a different input or different settings"):
        wv.perturb_file(tmp_path / "in.csv", tmp_path / "out.csv", resume=True, **stopped)
    assert (tmp_path / ".out.csv.wordveil" / "part").exists()


def test_a_damaged_part_is_noticed(tmp_path: Path, stopped: dict[str, Any]) -> None:
    os.truncate(tmp_path / ".out.csv.wordveil" / "part", 10)
    with pytest.raises(wv.IntegrityError, match="is damaged"):
        wv.perturb_file(tmp_path / "in.csv", tmp_path / "out.csv", resume=True, **stopped)


def test_a_truncated_line_of_the_journal_is_not_a_commit(tmp_path: Path, stopped: dict[str, Any]) -> None:
    journal = tmp_path / ".out.csv.wordveil" / "journal"
    journal.write_bytes(journal.read_bytes()[:-5])
    run = wv.perturb_file(tmp_path / "in.csv", tmp_path / "out.csv", resume=True, **stopped)
    assert (run.rows, run.resumed_rows) == (ROWS, 1024)


def test_with_nothing_to_resume_a_new_run_starts(tmp_path: Path, same: wv.Perturber) -> None:
    (tmp_path / "in.txt").write_text("tea\n")
    for resumed in (0, 1):
        run = wv.perturb_file(tmp_path / "in.txt", tmp_path / "out.txt", perturber=same, resume=True)
        assert (run.rows, run.resumed_rows) == (1, resumed)


def test_no_key_is_ever_on_disk(tmp_path: Path, noisy: wv.Perturber, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_module, "_COMMIT_SECONDS", 0.0)
    source = tmp_path / "in.csv"
    source.write_text("n,m\n" + "".join(f"{i},tea at noon\n" for i in range(ROWS)))
    key = wv.RunKey()
    secret, _ = key.expose()
    with pytest.raises(StopError):
        wv.perturb_file(
            source, tmp_path / "out.csv", perturber=noisy, text="m", key=key, watch=stopping_after(3000)
        )
    for path in (tmp_path / ".out.csv.wordveil").iterdir():
        stored = path.read_bytes()
        assert secret not in stored
        assert secret.hex().encode() not in stored


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    """A command that takes some seconds, on real vectors."""
    rows = "".join(f"{i},please call me at the red house in boston now or later\n" for i in range(12000))
    (tmp_path / "in.csv").write_text("n,m\n" + rows)
    options = ["--text", "m", "--keep", "n", "--epsilon", "4", "--dims", "100"]
    return [SCRIPT, "perturb", str(tmp_path / "in.csv"), str(tmp_path / "out.csv"), *options]


def check_output(folder: Path) -> None:
    lines = (folder / "out.csv").read_text().splitlines()
    assert lines[0] == "n,m"
    assert [int(line.split(",")[0]) for line in lines[1:]] == list(range(12000))
    assert all(len(line.split()) == 12 for line in lines[1:])


@pytest.mark.parametrize("signal_", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_signals_at_random_moments(signal_: signal.Signals, command: list[str], tmp_path: Path) -> None:
    with subprocess.Popen(
        command,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        work = tmp_path / ".out.csv.wordveil" / "journal"
        while process.poll() is None and not (work.exists() and work.read_bytes().count(b"\n") > 2):
            time.sleep(0.01)
        time.sleep(random.random() * 0.3)
        process.send_signal(signal_)
        _, errors = process.communicate(timeout=120)
    if process.returncode != 0:
        assert not (tmp_path / "out.csv").exists()
        part = (tmp_path / ".out.csv.wordveil" / "part").read_bytes()
        if signal_ == signal.SIGINT:
            assert process.returncode == 130
            assert b"rows are done; --resume continues from there" in errors
            assert errors.endswith(b"wordveil: stopped.\n")
        done = subprocess.run([*command, "--resume"], capture_output=True, text=True)
        assert (done.returncode, done.stderr) == (0, "")
        assert "of them before" in done.stdout or "was complete already" in done.stdout
        assert (tmp_path / "out.csv").read_bytes()[:1000] == part[:1000]
    check_output(tmp_path)


def test_a_full_disk(command: list[str], tmp_path: Path) -> None:
    limit = 500_000  # of 780,000, so that some rows are recorded before it is reached
    done = subprocess.run(
        command, capture_output=True, text=True,
        env={name: value for name, value in os.environ.items() if "COV" not in name},  # it writes files too
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)),
    )  # fmt: skip
    assert done.returncode == 1
    assert "File too large. " in done.stderr
    assert "rows are done. Hint: --resume continues from there." in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "out.csv").exists()
    done = subprocess.run([*command, "--resume"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    check_output(tmp_path)


@pytest.mark.parametrize("where", ["remove", "rmdir", "after"])
def test_resume_after_everything_was_published(
    where: str, tmp_path: Path, noisy: wv.Perturber, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after publishing, before it could report success: nothing is left to do."""
    source = tmp_path / "in.csv"
    source.write_text("m\n" + "tea\n" * 10)
    options: dict[str, Any] = {"perturber": noisy, "text": "m", "ledger": wv.Ledger(tmp_path / "l.sqlite")}

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        if where == "remove":
            patch.setattr(Journal, "remove", killed)
        elif where == "rmdir":
            patch.setattr(Path, "rmdir", killed)
        if where == "after":
            wv.perturb_file(source, tmp_path / "out.csv", **options)
        else:
            with pytest.raises(KeyboardInterrupt):
                wv.perturb_file(source, tmp_path / "out.csv", **options)
    output = (tmp_path / "out.csv").read_bytes()
    run = wv.perturb_file(source, tmp_path / "out.csv", resume=True, **options)
    assert (run.rows, run.words, run.resumed_rows) == (10, 10, 10)
    assert run.output.read_bytes() == output
    assert not (tmp_path / ".out.csv.wordveil").exists()
    assert [entry.outcome for entry in options["ledger"].entries()] == ["released"]


@pytest.mark.parametrize("what", ["content", "setting", "output", "manifest", "report"])
def test_a_different_output_does_not_count_as_finished(
    what: str, tmp_path: Path, noisy: wv.Perturber, same: wv.Perturber
) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("m\n" + "tea\n" * 10)
    wv.perturb_file(source, target, perturber=noisy, text="m")
    perturber = noisy
    match what:
        case "content":
            source.write_text("m\n" + "red\n" * 10)
        case "setting":
            perturber = same
        case "output":
            target.write_text("m\nfire\n")
        case "manifest":
            target.with_name("out.csv.manifest.json").write_text('{"output": {"rows": Infinity}}')
        case _:
            target.with_name("out.csv.private.json").write_text("[]")
    with pytest.raises(wv.ParameterError, match="exists already"):
        wv.perturb_file(source, target, perturber=perturber, text="m", resume=True)
