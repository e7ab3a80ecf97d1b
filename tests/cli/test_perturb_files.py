"""`wordveil perturb IN OUT` and `wordveil ledger` as a person runs them."""

import json
import os
import resource
import subprocess
import time
from pathlib import Path

import pytest

from wordveil.cli.main import main
from wordveil.runs.ledger import Ledger

from .commands import HEADLINE, WEAK, names, perturb, perturb_command, shown_on_a_terminal, without_coverage

ORDINARY = (
    (
        "id name date label title body score user topic group lang link item list code page note rank role state "
        "step tag time type url value view word year zip"
    )
    .replace("step ", "size ")
    .split()[:30]
)


def test_a_table(folder: Path, vectors: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert perturb(vectors, "in.csv", "out.csv", "--text", "message", "--keep", "label") == 0
    captured = capsys.readouterr()
    assert captured.err == f"{WEAK}\nnote: left out, since not named with --keep: id\n"
    assert captured.out == (
        "out.csv: 2 rows, 8 words\n"
        "out.csv.manifest.json: what is promised; it may be released\n"
        "out.csv.private.json: counts of the input, not for release\n"
        f"{HEADLINE}\n"
    )
    lines = (folder / "out.csv").read_text().splitlines()
    assert lines[0] == "message,label"
    assert lines[1].startswith("book a flight to ")
    assert "zanzibar" not in lines[1]
    assert lines[2] == "tea at noon,spam"


def test_the_ledger(folder: Path, vectors: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ledger"]) == 0
    assert capsys.readouterr().out.startswith("no entries in ")
    assert perturb(vectors, "in.csv", "out.csv", "--text", "message") == 0
    assert perturb(vectors, "in.csv", "two.csv", "--text", "message") == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert "this exact content was perturbed before, once" in error
    assert "as one release at ε = 1e+09 + 1e+09 = 2e+09 would. Hint: --again" in error
    assert "two.csv" not in names(folder)
    assert perturb(vectors, "in.csv", "two.csv", "--text", "message", "--again") == 0
    assert "warning: This content is released again." in capsys.readouterr().err
    assert main(["ledger"]) == 0
    shown = capsys.readouterr().out
    assert shown.count("released") == 2
    assert "mahalanobis, ε 1e+09, λ 1, answer " in shown
    assert "nearest, a block list, dims 3 " in " ".join(shown.split())
    assert main(["ledger", "--json"]) == 0
    entries = json.loads(capsys.readouterr().out)
    assert [entry["target"] for entry in entries] == [str(folder / "out.csv"), str(folder / "two.csv")]
    assert len({entry["content"] for entry in entries}) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["in.csv", "out.csv", "--text", "mesage"], "in.csv: has no column 'mesage'. Hint: did you mean 'message'?"),
        (["in.csv", "out.csv", "--text", "message", "--keep", "lable"], "did you mean 'label'?"),
        (["in.csv", "out.csv"], "which column has the texts? Hint: --text COLUMN"),
        (["absent.csv", "out.csv", "--text", "a"], "absent.csv: No such file or directory."),
        (["in.csv", "absent/out.csv", "--text", "message"], "absent: No such folder."),
        (["in.csv", "in.csv", "--text", "message"], "in.csv is the input."),
        (["in.csv", "out.jsonl", "--text", "message"], "must be of the same format as the input, csv"),
        (["in.csv", "out", "--text", "message"], "the extension does not name a format. Hint: --format"),
        (["in.csv", "out.csv", "--text", "message", "--delimiter", "ab"], "delimiter must be one character"),
        (["in.csv", "out.csv", "--text", "message", "--workers", "0"], "--workers must be"),
        (["in.csv", "out.csv", "--text", "message", "--master", "local"], "--master is not for --engine local. Hint: --engine spark takes it"),
        (["in.csv", "out.csv", "--text", "message", "--engine", "beam"], "--engine must be one of local, spark."),
        (["in.csv", "-", "--text", "message", "--resume"], "are for files"),
        (["in.csv", "-", "--text", "message", "--again"], "are for files"),
        (["in.csv", "out.csv", "--text", "message", "--keep", "message"], "both perturbed and kept"),
        (["in.csv", "out.csv", "--text", "message", "--config", "absent.toml"], "absent.toml: No such file"),
        (["in.csv", "-", "--text", "message", "--format", "parquet"], "Parquet can't go through a pipe"),
        (["-", "out", "--text", "message"], "the extension does not name a format"),
    ],
)  # fmt: skip
def test_mistakes_are_one_line(
    arguments: list[str], message: str, folder: Path, vectors: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert perturb(vectors, *arguments) == 2
    seen = capfd.readouterr().err
    assert message in seen
    assert seen.count("\n") == 1
    assert "Zanzibar" not in seen
    assert names(folder) == ["in.csv"]
    assert Ledger().entries() == []


def test_settings_from_a_file(folder: Path, vectors: str, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "settings.toml").write_text(
        f'epsilon = 1\nembedding = "{vectors}"\ntext = "message"\nkeep = ["label", "id"]\npad-to = 3\nbag = true\n'
        'mechanism = "laplace"\nworkers = 1\n'
    )
    assert main(["perturb", "in.csv", "out.csv", "--config", "settings.toml", "--epsilon", "1e9"]) == 0
    assert (folder / "out.csv").read_text().splitlines()[0] == "id,message,label"
    manifest = json.loads((folder / "out.csv.manifest.json").read_text())
    assert manifest["parameters"]["epsilon"] == 1e9  # the command line comes first
    assert manifest["parameters"]["mechanism"] == "laplace"
    assert (manifest["policy"]["pad_to"], manifest["policy"]["bag"]) == (3, True)
    capsys.readouterr()
    for content, message in [
        ("epsilom = 1", "setting 1 has an unknown name. Hint: did you mean 'epsilon'?"),
        ("source = 'x'", "setting 1 has an unknown name."),
        ("[perturb]", "setting 1 has an unknown name. Hint: only [mechanism] can be a table."),
        ("epsilon = 'Zanzibar'", "settings.toml: 'epsilon' has an invalid value."),
        ("epsilon = true", "'epsilon' must be a number or a string"),
        ("epsilon = [1]", "'epsilon' must be a number or a string"),
        ("epsilon = 1\ndims = 2.5", "'dims' has an invalid value."),
        ("bag = 'yes'", "'bag' must be true or false"),
        ("text = 3", "'text' must be a string or a list of strings"),
        ("text = [3]", "'text' must be a string or a list of strings"),
        ("epsilon = 1\nmechanism = 'Zanzibar'", "settings.toml: There is no mechanism of that name."),
        ("epsilon = ", "is not valid TOML"),
        ("x = '\ud800'", "is not valid UTF-8"),
    ]:
        (folder / "settings.toml").write_bytes(content.encode("utf-8", "surrogatepass"))
        assert main(["perturb", "in.csv", "out2.csv", "--config", "settings.toml"]) == 2
        seen = capsys.readouterr().err
        assert message in seen
        assert seen.count("\n") == 1
        assert "Zanzibar" not in seen


def test_what_is_left_out_is_told_in_few_words(
    folder: Path, vectors: str, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = ["message", "tab\there", "x" * 50, *(f"c{i}" for i in range(30))]
    (folder / "wide.csv").write_text(",".join(columns) + "\n" + ",".join("tea" for _ in columns) + "\n")
    assert perturb(vectors, "wide.csv", "out.csv", "--text", "message") == 0
    _, note = capsys.readouterr().err.splitlines()
    assert note == "note: left out, since not named with --keep: 32 columns of 33"
    ordinary = ["message", *(f"text_{w}" for w in ORDINARY)]
    (folder / "wide.csv").write_text(",".join(ordinary) + "\n" + ",".join("tea" for _ in ordinary) + "\n")
    assert perturb(vectors, "wide.csv", "out.csv", "--text", "message", "--force") == 0
    _, note = capsys.readouterr().err.splitlines()
    assert note.endswith("10 more with names")


def test_a_disk_that_is_full_and_a_folder_without_permission(folder: Path, vectors: str) -> None:
    (folder / "in.csv").write_text("m\n" + "tea at noon please\n" * 50_000)
    command = perturb_command("in.csv", "m", vectors)
    done = subprocess.run(
        command, capture_output=True, text=True, env=without_coverage(),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000)),
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("wordveil: out.csv: File too large.")
    assert not (folder / "out.csv").exists()
    if os.geteuid() != 0:  # to root everything is permitted
        (folder / "locked").mkdir(mode=0o500)
        done = subprocess.run([*command[:3], "locked/out.csv", *command[4:]], capture_output=True, text=True)
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)


def test_without_permission(
    folder: Path, vectors: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "locked/.out.csv.wordveil")

    monkeypatch.setattr(Path, "mkdir", denied)
    assert perturb(vectors, "in.csv", "out.csv", "--text", "message") == 1
    assert capsys.readouterr().err == "wordveil: locked/.out.csv.wordveil: Permission denied.\n"


def test_the_second_of_two_jobs_fails_at_once(folder: Path, vectors: str) -> None:
    fifo = folder / "slow.csv"
    os.mkfifo(fifo)
    command = perturb_command("slow.csv", "m", vectors)
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as first, fifo.open("w") as writer:
        writer.write("m\ntea\n")
        writer.flush()
        while not (folder / ".out.csv.wordveil" / "journal").exists():
            time.sleep(0.02)
        other = [*perturb_command("in.csv", "message", vectors), "--force"]
        second = subprocess.run(other, capture_output=True, text=True, timeout=120)
        assert second.returncode == 1
        assert (
            second.stderr == "wordveil: Another run is writing out.csv. Hint: wait until it has finished.\n"
        )
        writer.write("noon\n")
        writer.close()
        assert first.wait(timeout=120) == 0
    assert (folder / "out.csv").read_text().count("\n") == 3


def test_progress_on_a_terminal_and_none_in_a_pipe(folder: Path, vectors: str) -> None:
    (folder / "in.csv").write_text("m\n" + "tea at noon please\n" * 30_000)
    shown = shown_on_a_terminal(perturb_command("in.csv", "m", vectors))
    assert b"perturbing" in shown
    assert b"rows" in shown
    assert b"words/s" in shown


def test_explain_a_table(folder: Path, vectors: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["explain", "--epsilon", "10", "--embedding", vectors, "--file", "in.csv"]
    assert main([*options, "--text", "message", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)["file"]
    assert (facts["texts"], facts["words"], facts["unknown_words"]) == (2, 8, 1)
    assert main(options) == 2
    assert "which column" in capsys.readouterr().err
