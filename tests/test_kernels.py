"""Which compiled loops run: those that a variable forces, and none that were made for other tables."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

VERSION = [sys.executable, "-m", "wordveil", "--version"]


def run(**variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        VERSION, capture_output=True, text=True, check=False, env={**os.environ, **variables}
    )


def test_an_unknown_kind_of_loops_is_an_error() -> None:
    done = run(WORDVEIL_KERNELS="avx-2")
    assert (done.returncode, done.stdout) == (1, "")
    assert (
        "The variable WORDVEIL_KERNELS must be one of avx512, avx2, portable, none."
        in done.stderr.splitlines()[0]
    )


def test_no_loops_can_be_forced() -> None:
    done = run(WORDVEIL_KERNELS="none")
    assert (done.returncode, done.stderr) == (0, "")
    assert "(search without compiled loops)" in done.stdout


@pytest.mark.parametrize("layout", ["", "LAYOUT = 0", "LAYOUT = 999"])
def test_loops_for_other_tables_are_not_used(layout: str, tmp_path: Path) -> None:
    package = tmp_path / "wordveil_kernels"
    package.mkdir()
    (package / "__init__.py").write_text("AVAILABLE, LEVEL = True, 'avx512'\n")
    (package / "_kernels.py").write_text(f"{layout}\n")
    done = run(PYTHONPATH=os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]))
    assert done.returncode == 0
    assert "(search without compiled loops)" in done.stdout
    assert "warning: The installed wordveil-kernels is of another version" in done.stderr
