"""`wordveil perturb IN OUT` and `wordveil ledger` as a person runs them."""

import gzip
import json
import os
import pty
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import wordveil as wv
from wordveil.cli.main import main
from wordveil.embedding.store import save_store
from wordveil.runs.ledger import Ledger

SCRIPT = shutil.which("wordveil", path=str(Path(sys.executable).parent)) or "wordveil is not installed"
CSV = "id,message,label\n4711,Book a flight to Zanzibar,ham\n4712,tea at noon,spam\n"


ORDINARY = (
    (
        "id name date label title body score user topic group lang link item list code page note rank role state "
        "step tag time type url value view word year zip"
    )
    .replace("step ", "size ")
    .split()[:30]
)

# At this ε the small vocabulary stays as it is, and the command says what that is worth.
STRENGTH = (
    "strength: 100.0% of public words come out unchanged (99.8% to 100.0%, measured); proven: "
    "exp(843,733,039.6) at most between a typical word and its nearest one"
)
WEAK = (
    "wordveil: warning: This setting protects next to nothing: 100.0% of public words come out unchanged. "
    "Hint: a smaller --epsilon; 'wordveil explain' says what a setting does."
)


@pytest.fixture
def vectors(tmp_path: Path, small: wv.Embedding) -> str:
    path = tmp_path / "vectors.safetensors"
    save_store(small, path)
    return str(path)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    (place / "in.csv").write_text(CSV)
    monkeypatch.chdir(place)
    return place


def perturb(vectors: str, *arguments: str) -> int:
    return main(["perturb", *arguments, "--embedding", vectors, "--epsilon", "1e9"])


def without_coverage() -> dict[str, str]:
    """Return an environment in which nothing else is written that a limit could hit."""
    return {name: value for name, value in os.environ.items() if "COV" not in name}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_table(folder: Path, vectors: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert perturb(vectors, "in.csv", "out.csv", "--text", "message", "--keep", "label") == 0
    captured = capsys.readouterr()
    assert captured.err == f"note: left out, since not named with --keep: id\n{WEAK}\n"
    assert captured.out == (
        "out.csv: 2 rows, 8 words\n"
        "out.csv.manifest.json: what is promised; it may be released\n"
        "out.csv.private.json: counts of the input, not for release\n"
        f"{STRENGTH}\n"
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
    assert "ε 1e+09, λ 1, 3 dims" in shown
    assert main(["ledger", "--json"]) == 0
    entries = json.loads(capsys.readouterr().out)
    assert [entry["target"] for entry in entries] == [str(folder / "out.csv"), str(folder / "two.csv")]
    assert len({entry["content"] for entry in entries}) == 1


def test_pipes_of_every_format(vectors: str, folder: Path) -> None:
    options = ["--embedding", vectors, "--epsilon", "1e9", "--workers", "1"]
    cases = [
        (["--format", "csv", "--text", "m"], b'm,x\n"tea, noon",1\n', b"m\ntea noon\n"),
        (["--format", "tsv", "--text", "m", "--keep", "x"], b"m\tx\ntea\t1\n", b"m\tx\ntea\t1\n"),
        (["--format", "jsonl", "--text", "m"], b'{"m": "Tea", "x": 1}\n', b'{"m": "tea"}\n'),
        (["--format", "csv", "--no-header", "--text", "2"], b"1,tea\n2,noon\n", b"tea\nnoon\n"),
        (["--format", "csv", "--delimiter", ";", "--no-quotes", "--text", "m"], b'm;x\n"tea;1\n', b"m\ntea\n"),
        ([], b"Tea!\n", b"tea\n"),
    ]  # fmt: skip
    for arguments, data, expected in cases:
        done = subprocess.run(
            [SCRIPT, "perturb", "-", "-", *options, *arguments], input=data, capture_output=True
        )
        assert (done.returncode, done.stdout) == (0, expected), done.stderr
    done = subprocess.run(
        [SCRIPT, "perturb", "-", "-", "--text", "m", *options], input=b"x", capture_output=True
    )
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"plain text has no columns" in done.stderr
    done = subprocess.run(
        [SCRIPT, "perturb", "-", "out.csv.gz", "--text", "message", *options],
        input=CSV.encode(),
        capture_output=True,
    )
    assert done.returncode == 0
    assert gzip.decompress((folder / "out.csv.gz").read_bytes()).startswith(b"message\nbook a flight to ")
    done = subprocess.run(
        [SCRIPT, "perturb", "in.csv", "-", "--text", "label", *options], capture_output=True
    )
    assert done.stdout.startswith(b"label\n")
    assert done.stderr.decode().splitlines() == [
        "note: left out, since not named with --keep: id, message", WEAK, STRENGTH
    ]  # fmt: skip


def test_a_pipe_that_does_not_block_loses_nothing(vectors: str, folder: Path) -> None:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    command = [SCRIPT, "perturb", "-", "-", "--embedding", vectors, "--epsilon", "1e9"]
    with (
        subprocess.Popen(command, stdin=reader, stdout=subprocess.PIPE) as process,
        os.fdopen(writer, "wb") as pipe,
    ):
        os.close(reader)
        assert process.stdout is not None
        for word in (b"tea\n", b"noon\n"):
            pipe.write(word)
            pipe.flush()
            assert process.stdout.readline() == word
        pipe.close()
        assert process.wait(timeout=20) == 0


def test_records_of_a_pipe_that_lack_the_column_at_first(vectors: str, folder: Path) -> None:
    command = [
        SCRIPT,
        "perturb",
        "-",
        "-",
        "--embedding",
        vectors,
        "--epsilon",
        "1e9",
        "--format",
        "jsonl",
        "--text",
        "m",
    ]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b'{"id": 1}\n')
        process.stdin.flush()
        assert process.stdout.readline() == b"{}\n"
        out, _ = process.communicate(b'{"id": 1, "m": "Tea"}\n')
    assert (process.returncode, out) == (0, b'{"m": "tea"}\n')
    done = subprocess.run(command, input=b'{"id": 1}\n', capture_output=True)
    assert done.returncode == 2
    assert b"has no column 'm'" in done.stderr


def test_standard_input_is_read_from_where_it_stands(vectors: str, folder: Path) -> None:
    (folder / "in.txt").write_text("tea\nnoon\n")
    done = subprocess.run(
        f"(read first; {SCRIPT} perturb - out.txt --embedding {vectors} --epsilon 1e9) < in.txt",
        shell=True, capture_output=True,
    )  # fmt: skip
    assert done.returncode == 0
    assert (folder / "out.txt").read_text() == "noon\n"


def test_a_seeded_pipe_gives_what_a_seeded_file_gives(vectors: str, folder: Path) -> None:
    text = "".join("tea at noon please call me now\n" for _ in range(3000))
    (folder / "in.txt").write_text(text)
    options = ["--embedding", vectors, "--epsilon", "0.1", "--unsafe-seed", "4"]
    assert main(["perturb", "in.txt", "out.txt", *options]) == 0
    with subprocess.Popen(
        [SCRIPT, "perturb", "-", "-", *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(text[:1000].encode())
        process.stdin.flush()
        time.sleep(0.2)
        out, _ = process.communicate(text[1000:].encode())
    assert out == (folder / "out.txt").read_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["in.csv", "out.csv", "--text", "mesage"], "in.csv: has no column 'mesage'. Hint: did you mean 'message'?"),
        (["in.csv", "out.csv", "--text", "message", "--keep", "lable"], "did you mean 'label'?"),
        (["in.csv", "out.csv"], "which column is to be perturbed? Hint: --text COLUMN"),
        (["absent.csv", "out.csv", "--text", "a"], "absent.csv: No such file or directory."),
        (["in.csv", "absent/out.csv", "--text", "message"], "absent: No such folder."),
        (["in.csv", "in.csv", "--text", "message"], "in.csv is the input."),
        (["in.csv", "out.jsonl", "--text", "message"], "must be of the same format as the input, csv"),
        (["in.csv", "out", "--text", "message"], "the extension does not name a format. Hint: --format"),
        (["in.csv", "out.csv", "--text", "message", "--delimiter", "ab"], "delimiter must be one character"),
        (["in.csv", "out.csv", "--text", "message", "--workers", "0"], "--workers must be"),
        (["in.csv", "out.csv", "--text", "message", "--master", "local"], "--master is not for --engine local. Hint: --engine spark takes it"),
        (["in.csv", "out.csv", "--text", "message", "--engine", "beam"], "'--engine'"),
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
        ("epsilom = 1", "there is no such setting as its setting 1. Hint: did you mean 'epsilon'?"),
        ("source = 'x'", "there is no such setting as its setting 1."),
        ("[perturb]", "there is no such setting as its setting 1. Hint: only [mechanism] can be a table."),
        ("epsilon = 'Zanzibar'", "settings.toml: 'epsilon' has a value that it can't have."),
        ("epsilon = true", "'epsilon' must be a number or a text"),
        ("epsilon = [1]", "'epsilon' must be a number or a text"),
        ("epsilon = 1\ndims = 2.5", "'dims' has a value that it can't have."),
        ("bag = 'yes'", "'bag' must be true or false"),
        ("text = 3", "'text' must be a text or a list of texts"),
        ("text = [3]", "'text' must be a text or a list of texts"),
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
    note, _ = capsys.readouterr().err.splitlines()
    assert note == "note: left out, since not named with --keep: 32 columns of 33"
    ordinary = ["message", *(f"text_{w}" for w in ORDINARY)]
    (folder / "wide.csv").write_text(",".join(ordinary) + "\n" + ",".join("tea" for _ in ordinary) + "\n")
    assert perturb(vectors, "wide.csv", "out.csv", "--text", "message", "--force") == 0
    note, _ = capsys.readouterr().err.splitlines()
    assert note.endswith("10 more with names")


def test_a_disk_that_is_full_and_a_folder_without_permission(folder: Path, vectors: str) -> None:
    (folder / "in.csv").write_text("m\n" + "tea at noon please\n" * 50_000)
    command = [
        SCRIPT,
        "perturb",
        "in.csv",
        "out.csv",
        "--text",
        "m",
        "--embedding",
        vectors,
        "--epsilon",
        "1",
    ]
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
    command = [
        SCRIPT,
        "perturb",
        "slow.csv",
        "out.csv",
        "--text",
        "m",
        "--embedding",
        vectors,
        "--epsilon",
        "1",
    ]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as first, fifo.open("w") as writer:
        writer.write("m\ntea\n")
        writer.flush()
        while not (folder / ".out.csv.wordveil" / "journal").exists():
            time.sleep(0.02)
        second = subprocess.run(
            [*command[:2], "in.csv", *command[3:5], "message", *command[6:], "--force"], capture_output=True, text=True, timeout=30
        )  # fmt: skip
        assert second.returncode == 1
        assert (
            second.stderr == "wordveil: Another run is writing out.csv. Hint: wait until it has finished.\n"
        )
        writer.write("noon\n")
        writer.close()
        assert first.wait(timeout=30) == 0
    assert (folder / "out.csv").read_text().count("\n") == 3


def test_progress_on_a_terminal_and_none_in_a_pipe(folder: Path, vectors: str) -> None:
    (folder / "in.csv").write_text("m\n" + "tea at noon please\n" * 30_000)
    command = [
        SCRIPT,
        "perturb",
        "in.csv",
        "out.csv",
        "--text",
        "m",
        "--embedding",
        vectors,
        "--epsilon",
        "1",
    ]
    our_end, child_end = pty.openpty()
    with subprocess.Popen(
        command,
        stderr=child_end,
        stdout=subprocess.DEVNULL,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "100"},
    ) as process:
        os.close(child_end)
        seen = b""
        while True:
            try:
                part = os.read(our_end, 4096)
            except OSError:
                break
            if not part:
                break
            seen += part
    os.close(our_end)
    assert process.returncode == 0
    assert b"perturbing" in seen
    assert b"rows" in seen
    assert b"words/s" in seen


def test_ctrl_c_while_a_pipe_is_waited_for(folder: Path, vectors: str) -> None:
    command = [SCRIPT, "perturb", "-", "-", "--embedding", vectors, "--epsilon", "1"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(b"tea\n")
        process.stdin.flush()
        assert process.stdout.readline().strip()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=20) == 130
        assert process.stderr.read() == b"wordveil: stopped.\n"


def test_the_reader_of_the_output_may_go_away(folder: Path, vectors: str) -> None:
    (folder / "in.txt").write_text("tea at noon please\n" * 50_000)
    done = subprocess.run(
        f"{SCRIPT} perturb in.txt - --embedding {vectors} --epsilon 1 | head -1",
        shell=True, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


def test_explain_a_table(folder: Path, vectors: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["explain", "--epsilon", "10", "--embedding", vectors, "--file", "in.csv"]
    assert main([*options, "--text", "message", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)["file"]
    assert (facts["texts"], facts["words"], facts["unknown_words"]) == (2, 8, 1)
    assert main(options) == 2
    assert "which column" in capsys.readouterr().err


@pytest.mark.parametrize("target", ["-", "out.txt"])
def test_ctrl_c_while_a_named_pipe_has_nothing(target: str, folder: Path, vectors: str) -> None:
    os.mkfifo(folder / "pipe.txt")
    command = [SCRIPT, "perturb", "pipe.txt", target, "--embedding", vectors, "--epsilon", "1"]
    with (
        subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        ) as process,
        (folder / "pipe.txt").open("wb", buffering=0) as writer,
    ):  # fmt: skip
        writer.write(b"tea\n")
        time.sleep(4)  # now it waits for a pipe that is open and idle
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (130, b"wordveil: stopped.\n")
    assert sorted(path.name for path in folder.iterdir()) == ["in.csv", "pipe.txt"]


@pytest.mark.parametrize("times", [2, 8])
def test_ctrl_c_pressed_again_and_again(times: int, folder: Path, vectors: str) -> None:
    (folder / "in.csv").write_text("m\n" + "please call me at the red house\n" * 20_000)
    command = [SCRIPT, "perturb", "in.csv", "out.csv", "--text", "m", "--epsilon", "6", "--dims", "25"]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:  # fmt: skip
        journal = folder / ".out.csv.wordveil" / "journal"
        while process.poll() is None and not journal.exists():
            time.sleep(0.01)
        time.sleep(0.5)
        for _ in range(times):
            process.send_signal(signal.SIGINT)
            time.sleep(0.02)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert errors.splitlines()[-1] == b"wordveil: stopped."
