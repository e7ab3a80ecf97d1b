"""`wordveil perturb` with pipes, and Ctrl-C while it waits for them."""

import gzip
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from wordveil.cli.main import main

from .commands import CSV, HEADLINE, SCRIPT, WEAK


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
        WEAK, "note: left out, since not named with --keep: id, message", HEADLINE
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
        assert process.wait(timeout=120) == 0


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
        assert process.wait(timeout=120) == 130
        assert process.stderr.read() == b"wordveil: stopped.\n"


def test_the_reader_of_the_output_may_go_away(folder: Path, vectors: str) -> None:
    (folder / "in.txt").write_text("tea at noon please\n" * 50_000)
    done = subprocess.run(
        f"{SCRIPT} perturb in.txt - --embedding {vectors} --epsilon 1 | head -1",
        shell=True, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.stdout.count("\n") == 1
    assert done.stderr == ""


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
        _, errors = process.communicate(timeout=120)
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
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert errors.splitlines()[-1] == b"wordveil: stopped."
