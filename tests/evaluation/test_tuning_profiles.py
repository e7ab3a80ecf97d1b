"""The command that recomputes the profiles, with few draws."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from wordveil.profiles import PROFILES

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.slow
def test_a_profile_is_found_again(tmp_path: Path) -> None:
    """200 draws know S to 0.07, so ε is found to a factor of two; the exit code 3 says that it is smaller."""
    profile = PROFILES["balanced"]
    options = ["--profile", profile.name, "--answer", profile.answer, "--draws", "200"]
    command = [
        sys.executable,
        "-m",
        "benchmarks.tune_profiles",
        *options,
        "--out",
        str(tmp_path / "out.json"),
    ]
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    process = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert process.returncode in (0, 3), process.stderr
    (row,) = json.loads((tmp_path / "out.json").read_text())["rows"]
    assert (process.returncode == 3) == (row["tuned"] < profile.epsilon)
    assert row["attack_high"] <= profile.most_guessed
    assert profile.epsilon / 2.0 < row["tuned"] < 2.0 * profile.epsilon
    assert 0.9 * row["tuned"] < row["rounded"] <= row["tuned"]
    assert process.stdout.startswith(profile.name)
