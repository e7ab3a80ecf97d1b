"""The README's shell sessions print what it shows, and its other commands run. (Its Python is a doctest.)"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPTS = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def sessions(page: Path) -> list[tuple[str, str]]:
    listed = []
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            listed.append((command, shown))
    return listed


ALL = [(page.name, *session) for page in PAGES for session in sessions(page)]


def test_there_is_something_to_check() -> None:
    assert len(ALL) >= 1


@pytest.mark.parametrize(("page", "command", "shown"), ALL, ids=[command for _, command, _ in ALL])
def test_shell_sessions(page: str, command: str, shown: str) -> None:
    script = shutil.which("wordveil", path=str(Path(sys.executable).parent))
    assert script is not None
    program, *arguments = shlex.split(command)
    assert program == "wordveil"
    done = subprocess.run([script, *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.split() == shown.split()


COMMANDS = [
    line.split("  #")[0].strip()
    for block in SCRIPTS.findall((ROOT / "README.md").read_text(encoding="utf-8"))
    for line in block.splitlines()
    if line.startswith("wordveil ")
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, train_fasttext: Callable[..., None]) -> Path:
    """A folder with the files that the README's commands speak of."""
    place = tmp_path_factory.mktemp("readme")
    (place / "messages.txt").write_text("Book a flight!\nCall Zoë.\n", encoding="utf-8")
    shutil.copy(ROOT / "examples" / "messages.csv", place)
    (place / "settings.toml").write_text('epsilon = 6\ntext = "message"\nkeep = ["label"]\ndims = 5\n')
    shutil.copy(ROOT / "tests/data/0.1.0/mahalanobis.csv.manifest.json", place / "release.manifest.json")
    (place / "my-public-words.txt").write_text("flight\nflihgt\n")
    with zipfile.ZipFile(place / "glove.6B.zip", "w") as archive:
        archive.writestr("glove.6B.100d.txt", "".join(f"w{i} {'0.5 ' * 99}{i}\n" for i in range(5)))
        archive.writestr("glove.6B.50d.txt", "")
    text = place / "text.txt"
    text.write_text("a flight to boston\n" * 100)
    train_fasttext(text, place / "crawl.bin", dim=5, bucket=100)
    return place


def tables(page: Path) -> list[list[str]]:
    """Return the rows of each table, outside blocks of code."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    return [block.splitlines() for block in re.findall(r"(?:^\|.*\n?)+", text, flags=re.MULTILINE)]


def test_all_rows_of_a_table_have_as_many_cells() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    rows = {
        page: [[len(re.findall(r"(?<!\\)\|", row)) for row in table] for table in tables(page)]
        for page in pages
    }
    assert sum(map(len, rows.values())) >= 20
    uneven = [(page.name, counts) for page, lists in rows.items() for counts in lists if len(set(counts)) > 1]
    assert uneven == []


def test_the_commands_are_found() -> None:
    assert len(COMMANDS) >= 4


@pytest.mark.parametrize("command", COMMANDS)
def test_commands_run(command: str, folder: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PATH": path},
    )
    assert done.returncode == 0, done.stderr
    assert not [
        line
        for line in done.stderr.splitlines()
        if "warning: This content is released again" not in line and not line.startswith("Someone who ")
    ]
