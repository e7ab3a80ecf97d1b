"""Machines that lack what a desk has: a home, a name for the user, a place to write, a standard error."""

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import wordveil

SCRIPT = shutil.which("wordveil", path=str(Path(sys.executable).parent)) or "wordveil is not installed"
SETTING = ["--epsilon", "6", "--dims", "5"]
NOBODY = ["unshare", "--user", "--map-user=54321", "--map-group=54321"]
READ_ONLY = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"'


def can_unshare() -> bool:
    try:
        return subprocess.run([*NOBODY, "true"], capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


NAMESPACES = pytest.mark.skipif(not can_unshare(), reason="needs a system that lets users have namespaces")


def run(
    *arguments: str, folder: Path, home: Path | None = None, before: list[str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run the command with nothing in its environment but a path, and perhaps a home; `before` stands first."""
    environment = {"PATH": os.environ["PATH"]} | ({} if home is None else {"HOME": str(home)})
    command = [*(before or []), SCRIPT, *arguments]
    return subprocess.run(
        command,
        env=environment,
        cwd=folder,
        input="tea at noon\n",
        text=True,
        capture_output=True,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    (place / "in.txt").write_text("tea at noon\n" * 2000)
    return place


def check_everything_works(folder: Path, **options: object) -> None:
    # It explains small vectors, which takes less than a second; perturb reads the default ones.
    explain = ["explain", "--mechanism", "laplace", "--epsilon", "6", "--embedding", "v.txt"]
    for arguments in (["perturb", "-", "-", *SETTING], explain, ["embedding", "list"]):
        done = run(*arguments, folder=folder, **options)  # type: ignore[arg-type]  # they pass through
        assert (done.returncode, done.stdout != "") == (0, True), done.stderr
        assert "Traceback" not in done.stderr
    done = run("perturb", "in.txt", "free.txt", *SETTING, "--no-ledger", folder=folder, **options)  # type: ignore[arg-type]  # they pass through
    assert done.returncode == 0, done.stderr
    done = run("perturb", "in.txt", "out.txt", *SETTING, folder=folder, **options)  # type: ignore[arg-type]  # they pass through
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    assert "ledger" in done.stderr
    assert "XDG_STATE_HOME" in done.stderr
    done = run("embedding", "import", "v.txt", "--name", "x", "--public", folder=folder, **options)  # type: ignore[arg-type]  # they pass through
    assert (done.returncode, done.stderr.count("\n")) == (1, 1), done.stderr
    names = {path.name for path in folder.iterdir()}
    expected = {"in.txt", "v.txt", "free.txt", "free.txt.manifest.json", "free.txt.private.json"}
    assert {name for name in names if not name.startswith(".coverage")} == expected  # no folder called ~


@NAMESPACES
def test_a_user_without_a_name_and_a_home(folder: Path) -> None:
    (folder / "v.txt").write_text("cat 1 2\ndog 2 1\n")
    check_everything_works(folder, before=NOBODY)


@NAMESPACES
@pytest.mark.slow
def test_a_home_that_can_not_be_entered(folder: Path, tmp_path: Path) -> None:
    (folder / "v.txt").write_text("cat 1 2\ndog 2 1\n")
    home = tmp_path / "home"
    home.mkdir(mode=0)
    check_everything_works(folder, before=NOBODY, home=home)


def test_a_home_that_is_not_there(folder: Path) -> None:
    (folder / "v.txt").write_text("cat 1 2\ndog 2 1\n")
    check_everything_works(folder, home=Path("/dev/null/home"))


@NAMESPACES
def test_a_package_that_can_not_be_written(folder: Path) -> None:
    """Nothing can be kept beside the code, nor in a home."""
    package = str(Path(wordveil.__file__).parent)
    mounted = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", READ_ONLY, "sh", package]
    done = run("perturb", "in.txt", "out.txt", *SETTING, "--no-ledger", folder=folder, before=mounted)
    assert done.returncode == 0, done.stderr
    assert len((folder / "out.txt").read_text().split()) == 6000


@pytest.mark.parametrize("closed", ["2>&-", "2>/dev/full"])
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["perturb", "-", "-", *SETTING], 0),
        (["perturb", "in.txt", "out.txt", *SETTING], 0),
        (["perturb", "-", "-", *SETTING, "--unsafe-keep"], 0),
        (["perturb", "in.txt", "out.txt", "--epsilon", "0"], 2),
        (["perturb", "absent.txt", "out.txt", *SETTING], 2),
        (["perturb", "in.txt", "/dev/null/out.txt", *SETTING], 2),
        (["embedding"], 2),
    ],
)
def test_a_standard_error_that_takes_nothing_changes_no_exit_code(
    arguments: list[str], code: int, closed: str, folder: Path
) -> None:
    command = f'"$@" {closed}'
    done = subprocess.run(
        ["sh", "-c", command, "sh", SCRIPT, *arguments], cwd=folder, input=b"tea\n", stdout=subprocess.PIPE
    )
    assert done.returncode == code
    if code == 0 and "out.txt" in arguments:
        assert len((folder / "out.txt").read_text().split()) == 6000  # and nothing else got into it


def test_ctrl_c_with_a_closed_standard_error(folder: Path) -> None:
    command = ["sh", "-c", 'exec "$@" 2>&-', "sh", SCRIPT, "perturb", "-", "-", *SETTING]
    with subprocess.Popen(
        command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:  # fmt: skip
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(b"tea\n")
        process.stdin.flush()
        process.stdout.readline()  # now it waits for more
        process.send_signal(signal.SIGINT)
        assert process.wait(120) == 130
