"""What a run leaves in a fresh home, and whom it talks to: nothing of anybody else, and nobody."""

import os
import shutil
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest

SCRIPT = shutil.which("wordveil", path=str(Path(sys.executable).parent)) or "wordveil is not installed"
TEXT = "please call me at the red house in boston now or later\n" * 1500  # enough for the fast search
LIBRARY = """
import numpy as np, wordveil as wv
mechanism = wv.Laplace(wv.load_embedding().project(10), 5.0)
mechanism.perturb_ids(np.arange(20_000))
"""


def fresh(home: Path) -> dict[str, str]:
    """An environment in which every folder of the user is the home, and nothing else is set."""
    kept = {name: os.environ[name] for name in ("PATH", "COVERAGE_PROCESS_START") if name in os.environ}
    return kept | {"HOME": str(home)}


def sockets(pid: int) -> set[str]:
    links = set()
    for entry in Path("/proc").glob(f"{pid}/fd/*"):
        try:
            links.add(str(entry.readlink()))
        except OSError:
            continue
    return {link for link in links if link.startswith("socket:")}


def run(command: list[str], home: Path, text: str = "") -> tuple[int, set[str]]:
    """Run a command; return its exit code and the sockets that it had open at any time that we looked."""
    seen: set[str] = set()
    with subprocess.Popen(
        command, env=fresh(home), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, cwd=home, text=True
    ) as process:
        assert process.stdin is not None
        with suppress(BrokenPipeError):  # not every command reads it
            process.stdin.write(text)
            process.stdin.close()
        while process.poll() is None:
            seen |= sockets(process.pid)
            time.sleep(0.005)
        return process.returncode, seen


def left(home: Path) -> set[str]:
    """What is there, but for what the tests put there, and what follows from public vectors."""
    files = {str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()}
    cached = {name for name in files if name.startswith(".cache/wordveil/prepared/")}
    for name in cached:
        assert not any(word.encode() in (home / name).read_bytes() for word in TEXT.split() if len(word) > 3)
    return {name for name in files - cached if not name.startswith(".coverage")}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["perturb", "-", "-", "--epsilon", "6", "--dims", "10"], set()),
        (
            ["perturb", "in.txt", "out.txt", "--epsilon", "6", "--dims", "10"],
            {
                "out.txt",
                "out.txt.manifest.json",
                "out.txt.private.json",
                ".local/state/wordveil/ledger.sqlite",
            },
        ),
        (["explain", "--epsilon", "6", "--dims", "10", "--word", "tea", "--draws", "20000"], set()),
        (["embedding", "info", "--verify"], set()),
    ],
)
def test_the_command_leaves_nothing_of_anyone_else(
    arguments: list[str], expected: set[str], tmp_path: Path
) -> None:
    (tmp_path / "in.txt").write_text(TEXT)
    code, seen = run([SCRIPT, *arguments], tmp_path, TEXT)
    assert code == 0
    assert left(tmp_path) == expected | {"in.txt"}
    assert seen == set()


def test_neither_does_the_library(tmp_path: Path) -> None:
    code, seen = run([sys.executable, "-c", LIBRARY], tmp_path)
    assert (code, left(tmp_path), seen) == (0, set(), set())


@pytest.mark.skipif(shutil.which("strace") is None, reason="strace sees every socket, where it is installed")
def test_no_socket_is_ever_asked_for(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    command = ["strace", "-f", "-e", "trace=socket,connect,sendto", "-o", str(trace), SCRIPT]
    code, _ = run([*command, "perturb", "-", "-", "--epsilon", "6", "--dims", "10"], tmp_path, TEXT)
    assert code == 0
    assert [line for line in trace.read_text().splitlines() if "AF_INET" in line or "AF_UNIX" in line] == []
