"""What several tests of `wordveil perturb` share."""

import os
import pty
import shutil
import subprocess
import sys
from pathlib import Path

from wordveil.cli.main import main

SCRIPT = shutil.which("wordveil", path=str(Path(sys.executable).parent)) or "wordveil is not installed"
CSV = "id,message,label\n4711,Book a flight to Zanzibar,ham\n4712,tea at noon,spam\n"

# At this ε the small vocabulary stays as it is, and the command says what that is worth.
HEADLINE = (
    "Someone who knows how often words are used (rank-based: guessed from the order of the vectors), and sees "
    "the noisy vectors, names the word in 100.0% of cases (98.9% to 100.0%); 13.9% by guessing alone. Context "
    "can raise this."
)
WEAK = (
    "wordveil: warning: This setting protects little: the best guess is right in at least 98.9% of cases. "
    "Hint: --profile balanced, or a smaller --epsilon; 'wordveil explain' shows what a setting does."
)


def perturb(vectors: str, *arguments: str) -> int:
    return main(["perturb", *arguments, "--embedding", vectors, "--epsilon", "1e9"])


def perturb_command(source: str, text: str, vectors: str) -> list[str]:
    """Return the command that perturbs a column of a table to out.csv, for a process of its own."""
    options = ["--text", text, "--embedding", vectors, "--epsilon", "1"]
    return [SCRIPT, "perturb", source, "out.csv", *options]


def shown_on_a_terminal(command: list[str]) -> bytes:
    """Run a command whose standard error is a terminal, and return what it shows there."""
    our_end, child_end = pty.openpty()
    terminal = os.environ | {"TERM": "xterm", "COLUMNS": "100"}
    with subprocess.Popen(command, stderr=child_end, stdout=subprocess.DEVNULL, env=terminal) as process:
        os.close(child_end)
        shown = b""
        while True:
            try:
                part = os.read(our_end, 4096)
            except OSError:
                break
            if not part:
                break
            shown += part
    os.close(our_end)
    assert process.returncode == 0
    return shown


def without_coverage() -> dict[str, str]:
    """Return an environment in which nothing else is written that a limit could hit."""
    return {name: value for name, value in os.environ.items() if "COV" not in name}


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())
