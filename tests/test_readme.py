"""The README's shell sessions print what it shows. (Its Python runs as a doctest.)"""

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def sessions(page: Path) -> list[tuple[str, str]]:
    found = []
    for block in BLOCK.findall(page.read_text(encoding="utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = part.partition("\n")
            found.append((command, shown))
    return found


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
