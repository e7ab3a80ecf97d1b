"""The installed command, as a person runs it: a process of its own, a pipe, a terminal, Ctrl-C."""

import json
import os
import resource
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

import wordveil
import wordveil_command
from wordveil.cli import main as cli
from wordveil.embedding.catalog import stores_folder
from wordveil.kernels import level

from .commands import SCRIPT, shown_on_a_terminal

GOOD = b"cat 1.0 0.5\ndog 0.9 0.4\ncar 0.1 0.9\n"


def run(*arguments: str | Path, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([SCRIPT, *map(str, arguments)], capture_output=True, text=True, **options)  # type: ignore[call-overload, no-any-return]  # options pass through


def hear_ctrl_c() -> None:
    """Listen to SIGINT again, which shells ignore in background jobs and all their children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


LOOPS = "search without compiled loops" if level == "none" else f"compiled search, {level}"
VERSION = f"wordveil {wordveil.__version__} ({LOOPS})\n"


def test_version() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, VERSION, "")


def test_as_a_module() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "wordveil", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == VERSION


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["embedding", "import", "--help"]])
def test_help(arguments: list[str]) -> None:
    done = run(*arguments)
    assert done.returncode == 0
    assert "Usage: wordveil" in done.stdout


def test_a_bare_command_shows_help_and_fails() -> None:
    done = run("embedding")
    assert done.returncode == 2
    assert "import" in done.stdout + done.stderr


def test_import_list_info(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_bytes(GOOD)
    only = tmp_path / "only.txt"
    only.write_text("cat\ncar\ncow\n")
    done = run("embedding", "import", path, "--name", "mine", "--public", "--only-words", only, "--licence", "CC0",
               "--dtype", "float16", "--unit", "--lowercase")  # fmt: skip
    assert done.returncode == 0
    assert done.stdout.startswith("mine: 2 words, 2 dimensions, in ")
    assert done.stderr == "note: 1 words of the list are not in the source.\n"
    listed = json.loads(run("embedding", "list", "--json").stdout)
    assert [(entry["name"], entry["words"]) for entry in listed] == [
        ("glove-840b-300d", 33_752),
        ("glove-840b-map10", 33_752),
        ("mine", 2),
    ]
    assert "mine" in run("embedding", "list").stdout
    facts = json.loads(run("embedding", "info", "mine", "--verify", "--json").stdout)
    assert (facts["words"], facts["dims"], facts["licence"], facts["verified"]) == (2, 2, "CC0", True)
    assert facts["preprocessing"] == "lower-cased, unit length, float16"
    assert list(facts["neighbours"]) == ["cat", "car"]


def test_info_of_the_default_vectors() -> None:
    done = run("embedding", "info", "--word", "boston")
    assert done.returncode == 0
    assert "words that match [a-z0-9]+(?:['-][a-z0-9]+)*" in done.stdout
    assert "near boston" in done.stdout
    assert "chicago" in done.stdout


def test_standard_input() -> None:
    done = run("embedding", "import", "-", "--name", "mine", "--public", input=GOOD.decode())
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("mine: 3 words")


def test_a_zip_in_a_pipe_is_refused_in_one_line(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "v.zip", "w") as archive:
        archive.writestr("a", GOOD)
    with (tmp_path / "v.zip").open("rb") as file:
        done = run("embedding", "import", "-", "--name", "mine", stdin=file)
    assert done.returncode == 2
    assert "can't be read from a pipe" in done.stderr


def test_a_terminal_of_few_letters(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_text("東京 1 2\n大阪 2 1\n", encoding="utf-8")
    done = run("embedding", "info", tmp_path / "v.txt", env=os.environ | {"PYTHONIOENCODING": "latin-1"})
    assert done.returncode == 0
    assert done.stderr.startswith("wordveil: warning: Nobody has declared")


def test_an_odd_file_name_can_be_imported(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"v\xff[red].txt")
    path.write_bytes(GOOD)
    assert run("embedding", "import", path, "--name", "mine").returncode == 0
    assert "v?[red].txt" in run("embedding", "info", "mine").stdout


def test_a_data_folder_that_cannot_be_made_is_the_environments_fault(tmp_path: Path) -> None:
    (tmp_path / "v.txt").write_bytes(GOOD)
    done = run(
        "embedding", "import", tmp_path / "v.txt", "--name", "mine", "--public",
        env=os.environ | {"XDG_DATA_HOME": os.devnull},
    )  # fmt: skip
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert "can't be created" in done.stderr


def test_the_reader_of_a_pipe_may_go_away() -> None:
    done = subprocess.run(
        f"{SCRIPT} embedding info | true", shell=True, capture_output=True, text=True, check=False
    )
    assert done.stderr == ""


def test_a_closed_output_is_no_traceback() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as output:
        done = subprocess.run(
            [SCRIPT, "embedding", "info"], stdout=output, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, done.stderr) == (141, "")


def test_progress_on_a_terminal_and_none_in_a_pipe(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_bytes(b"".join(b"w%d 1.5 2.5 3.5\n" % i for i in range(300_000)))
    assert run("embedding", "import", path, "--name", "quiet", "--public").stderr == ""
    shown = shown_on_a_terminal([SCRIPT, "embedding", "import", str(path), "--name", "loud"])
    assert b"reading v.txt" in shown


def test_a_disk_that_fills_up_is_the_environments_fault(tmp_path: Path) -> None:
    path = tmp_path / "v.txt"
    path.write_bytes(b"".join(b"w%d 1.5 2.5 3.5\n" % i for i in range(30_000)))
    assert run("embedding", "import", path, "--name", "mine", "--first", "10").returncode == 0
    before = (stores_folder() / "mine.safetensors").read_bytes()
    done = run(
        "embedding", "import", path, "--name", "mine", "--force", "--public",
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 18, 1 << 18)),
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "File too large" in done.stderr
    assert [(p.name, p.read_bytes()) for p in stores_folder().iterdir()] == [("mine.safetensors", before)]


def test_ctrl_c_is_130_and_leaves_nothing(tmp_path: Path) -> None:
    fifo = tmp_path / "slow.txt"
    os.mkfifo(fifo)
    command = [SCRIPT, "embedding", "import", str(fifo), "--name", "mine"]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=hear_ctrl_c
    )
    with fifo.open("wb") as writer:
        writer.write(GOOD)
        writer.flush()
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        try:
            _, error = process.communicate(timeout=120)
        finally:
            process.kill()
    assert (process.returncode, error) == (130, "wordveil: stopped.\n")
    assert not stores_folder().exists() or not list(stores_folder().iterdir())


def test_without_permission_it_is_the_environments_fault(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "vectors.txt")

    monkeypatch.setattr("wordveil.cli.embedding.load_embedding", denied)
    assert cli.main(["embedding", "info"]) == 1
    assert capsys.readouterr().err == "wordveil: vectors.txt: Permission denied.\n"


def test_a_bug_is_one_line_without_the_text_of_the_exception(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("my secret message")

    monkeypatch.setattr("wordveil.cli.embedding.load_embedding", broken)
    assert cli.main(["embedding", "info"]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "unforeseen RuntimeError" in error
    assert "secret" not in error
    monkeypatch.setenv("WORDVEIL_DEBUG", "1")
    assert cli.main(["embedding", "info"]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_ctrl_c_while_loading(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(**_: object) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "main", interrupted)
    seen: list[type[BaseException]] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: seen.append(unraisable.exc_type))
    usual = signal.getsignal(signal.SIGINT)
    try:
        assert wordveil_command.main() == 130
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN  # nothing is left that could be stopped
    finally:
        signal.signal(signal.SIGINT, usual)
    for error in (KeyboardInterrupt, ValueError):  # in a finalizer
        sys.unraisablehook(SimpleNamespace(exc_type=error))
    assert seen == [ValueError]
    assert capsys.readouterr().err == "wordveil: stopped.\n"


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (MemoryError(), 1, "not enough memory"),
        (wordveil.MissingExtraError("p", "e", "This"), 1, "pip install"),
        (KeyboardInterrupt(), 130, "stopped"),
    ],
)
def test_other_failures(
    error: BaseException, code: int, message: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:  # fmt: skip
    def broken(*_: object) -> None:
        raise error

    monkeypatch.setattr("wordveil.cli.embedding.load_embedding", broken)
    assert cli.main(["embedding", "info"]) == code
    assert message in capsys.readouterr().err
