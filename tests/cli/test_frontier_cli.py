"""`wordveil frontier` and `wordveil tune`: what they print and write, bad input, and a real Ctrl-C."""

import json
import os
import signal
import stat
import subprocess
import time
from pathlib import Path

import pytest

import wordveil as wv
from wordveil.cli.main import main
from wordveil.cli.spaces import all_mechanisms, list_spaces
from wordveil.mechanisms import mechanism_names

from .commands import SCRIPT

LABELLED = "message,label\n" + "book a flight,ham\ntea at noon please,spam\n" * 12
QUICK = ["--draws", "120"]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main([*arguments]) == 0
    return capsys.readouterr().out


def test_tables_and_pages_of_a_frontier(
    vectors: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = run(
        capsys, "frontier", "--embedding", vectors, "--dims", "2,all", "--attacks", "0.3,0.5", *QUICK,
        "--word-draws", "3", "--out", "page",
    )  # fmt: skip
    assert "16 settings were compared by S" in " ".join(shown.split())
    assert "always the same answer" in shown
    names = {path.name for path in (folder / "page").iterdir()}
    assert {
        "frontier.html",
        "frontier.csv",
        "frontier.json",
        "closeness.svg",
        "closeness-by-epsilon.png",
    } <= names
    facts = json.loads((folder / "page" / "frontier.json").read_text())
    assert facts["kind"] == "frontier"
    assert {row["space"] for row in facts["rows"]} == {"2 axes", "all 3 dims"}
    page = (folder / "page" / "frontier.html").read_text()
    assert "ndominated (ringed)" in page


def test_a_frontier_of_labelled_texts(vectors: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "texts.csv").write_text(LABELLED)
    shown = run(
        capsys, "frontier", "--embedding", vectors, "--lams", "0", "--answers", "nearest", "--attacks", "0.5",
        *QUICK, "--word-draws", "3", "--data", "texts.csv", "--text", "message", "--label", "label",
        "--repetitions", "2", "--json", "--out", "page",
    )  # fmt: skip
    facts = json.loads(shown)
    assert facts["is_private"]
    assert facts["rows"][0]["linkage_candidates"] == 24
    assert 0.4 < facts["rows"][0]["accuracy_majority"] < 0.6
    for path in (folder / "page").iterdir():
        assert path.stat().st_mode & 0o077 == 0
        assert b"flight" not in path.read_bytes()


def test_a_setting_for_a_goal(vectors: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shown = run(
        capsys, "tune", "--max-attack", "0.6", "--embedding", vectors, "--lams", "0", "--answers",
        "nearest,closest", "--draws", "400", "--out", "page",
    )  # fmt: skip
    words = " ".join(shown.split())
    assert "The choice is all 3 dims, mahalanobis, λ = 0, " in words
    assert "the runner-up is all 3 dims" in words
    assert "What was traded away" in words
    toml = shown.partition("# chosen by wordveil tune: ")[2]
    assert "S, how often a word is guessed: at most 0.6" in toml
    assert "\n[mechanism]\n" in toml
    assert (folder / "page" / "tuning.html").exists()


def test_tuning_with_texts_warns(vectors: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "texts.csv").write_text(LABELLED)
    command = ["tune", "--max-attack", "0.7", "--embedding", vectors, "--lams", "0", "--answers", "nearest"]
    texts = ["--data", "texts.csv", "--text", "message", "--label", "label", "--repetitions", "3"]
    assert main([*command, *texts, "--draws", "300", "--save", "tuned.toml"]) == 0
    captured = capsys.readouterr()
    assert "this choice is not private" in captured.err
    assert "public stand-in" in captured.err
    assert "if these are private, so is this file" in (folder / "tuned.toml").read_text()
    assert stat.S_IMODE((folder / "tuned.toml").stat().st_mode) == 0o600


def test_a_settings_file_is_checked_before_the_work_and_replaced_only_by_force(
    vectors: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "old.toml").write_text("epsilon = 1\n")
    command = ["tune", "--max-attack", "0.6", "--embedding", vectors, "--lams", "0", "--answers", "nearest"]
    with monkeypatch.context() as no_work:
        no_work.setattr("wordveil.cli.tune.find_setting", lambda *_, **__: pytest.fail("it should not start"))
        for target, code, message in (
            ("old.toml", 2, "exists already. Hint: --force"),
            (str(folder), 2, "is a folder"),
            ("absent/tuned.toml", 2, "No such folder"),
        ):
            assert main([*command, "--save", target]) == code
            assert message in capsys.readouterr().err
    assert (folder / "old.toml").read_text() == "epsilon = 1\n"
    assert main([*command, "--draws", "200", "--save", "old.toml", "--force"]) == 0
    assert "chosen by wordveil tune" in (folder / "old.toml").read_text()
    assert sorted(path.name for path in folder.iterdir()) == ["in.csv", "old.toml"]


def test_a_split_column(vectors: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"book a flight,ham,{part}\ntea at noon,spam,{part}\n" for part in ("train", "dev", "test")]
    (folder / "texts.csv").write_text("message,label,part\n" + "".join(6 * lines))
    texts = ["--data", "texts.csv", "--text", "message", "--label", "label", "--split-column", "part"]
    common = ["--embedding", vectors, "--lams", "0", "--answers", "nearest", *texts, "--json", *QUICK]
    facts = json.loads(run(capsys, "frontier", "--epsilons", "9", "--word-draws", "2", *common))
    assert facts["settings"]["records"] == 24
    facts = json.loads(run(capsys, "tune", "--max-attack", "0.7", "--repetitions", "2", *common))
    assert facts["settings"]["records"] == 24


def test_spaces_of_the_default_vectors(glove: wv.Embedding) -> None:
    spaces = list_spaces(None, "10,all", ())
    assert [(space.source, space.dims) for space in spaces] == [
        ("glove-840b-map10", None), ("glove-840b-300d", 10), ("glove-840b-300d", None),
    ]  # fmt: skip


def test_all_mechanisms_are_compared_and_none_that_is_unsafe_is_chosen(
    vectors: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert set(all_mechanisms(["all"], to_release=False)) == set(mechanism_names())
    assert set(mechanism_names()) - set(all_mechanisms(["all"], to_release=True)) == {"custext"}
    assert all_mechanisms(None, to_release=False) == ["mahalanobis"]
    shown = run(
        capsys, "frontier", "--mechanisms", "all", "--embedding", vectors, "--lams", "0", "--answers",
        "nearest", "--epsilons", "2", "--draws", "100", "--word-draws", "2", "--json",
    )  # fmt: skip
    compared = {row["mechanism"] for row in json.loads(shown)["rows"]}
    assert compared == set(mechanism_names()) - {"laplace"}  # that is mahalanobis with λ = 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["frontier", "--attacks", "2"], "--attacks must be numbers between 0 and 1."),
        (["frontier", "--attacks", "a"], "--attacks must be numbers"),
        (["frontier", "--answers", "best"], "--answers must be some of nearest, likeliest, closest"),
        (["frontier", "--mechanism", "laplce"], "did you mean 'laplace'?"),
        (["frontier", "--lams", "2"], "--lams must be in [0, 1]."),
        (["frontier", "--text", "message"], "are about --data"),
        (["frontier", "--dims", "9"], "--dims must be a whole number from 1 to 3."),
        (["frontier", "--epsilons", "0"], "--epsilons must be finite and positive"),
        (["tune"], "What must the setting satisfy? Hint: a limit such as --max-attack 0.3"),
        (["tune", "--max-attack", "7"], "--max-attack must be in (0, 1)."),
        (["tune", "--max-linkage", "0.2"], "--max-linkage needs labelled texts. Hint: --data FILE"),
        (["tune", "--max-attack", "0.3", "--at-percentile", "5"], "--at-percentile is about"),
    ],
)
def test_mistakes(
    arguments: list[str], message: str, vectors: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--embedding", vectors]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert message in captured.err


@pytest.mark.slow
@pytest.mark.parametrize("command", [["frontier"], ["tune", "--max-attack", "0.3"]])
def test_ctrl_c_keeps_what_was_measured(command: list[str], tmp_path: Path) -> None:
    """A real signal to a real process; what it has kept is still there, and a second run adds to it."""
    home = tmp_path / "cache"
    environment = {**os.environ, "XDG_CACHE_HOME": str(home)}
    options = ["--embedding", "glove-840b-300d", "--dims", "3,5,8,10,12", "--draws", "500"]

    def kept() -> set[str]:
        return {path.name for path in home.rglob("*.json")}

    def interrupted_after(count: int) -> subprocess.CompletedProcess[str]:
        with subprocess.Popen(
            [SCRIPT, *command, *options],
            env=environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            limit = time.monotonic() + 240.0
            while len(kept()) < count and process.poll() is None and time.monotonic() < limit:
                time.sleep(0.02)
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=120)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    first = interrupted_after(3)
    assert first.returncode == 130
    assert first.stdout == ""
    assert "finished parts are kept. Run the same command again to continue." in first.stderr
    assert "Traceback" not in first.stderr
    before = kept()
    assert len(before) >= 3
    second = interrupted_after(len(before) + 2)
    assert second.returncode == 130
    assert kept() > before
