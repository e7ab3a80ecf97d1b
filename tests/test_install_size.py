"""What an installation without extras brings along."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]

# Each was looked at: what it weighs, who keeps it, and what it sends (docs/privacy.md).
KNOWN = {
    *("wordveil", "wordveil-glove", "wordveil-english", "wordveil-kernels"),
    *("numpy", "scipy", "randomgen", "safetensors", "threadpoolctl", "platformdirs"),
    *(
        "typer",
        "rich",
        "pygments",
        "markdown-it-py",
        "mdurl",
        "shellingham",
        "annotated-doc",
        "typing-extensions",
    ),
    *("pydantic", "pydantic-core", "annotated-types", "typing-inspection"),  # typer's
}


def test_the_core_takes_at_most_300_mb_with_its_vectors() -> None:
    command = [sys.executable, "-m", "benchmarks.installing", "--json"]
    sizes = json.loads(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)

    assert set(sizes) <= KNOWN, "look at a new dependency before it is listed here"
    assert 200 < sum(sizes.values()) < 300
