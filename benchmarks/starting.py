"""What the first second of a process is spent on, in a fresh home with empty caches: `make bench`.

    python -m benchmarks.starting

Each number is the median of several new processes, the first of them in a home folder of its own. Nothing
else should run on the machine; the load is recorded.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.clock import seconds

WORDS = """
import numpy as np, wordveil as wv
wv.Laplace(wv.load_embedding(), 10.0).perturb_ids(np.arange(5000))
"""
GUARANTEE = """
import time, wordveil as wv
mechanism = wv.Mahalanobis(wv.load_embedding(), 10.0)
start = time.perf_counter()
print(mechanism.guarantee)
print(time.perf_counter() - start)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/starting.json"))
    args = parser.parse_args()
    runs = [measure() for _ in range(args.repeat)]
    record = {
        "made_by": "python -m benchmarks.starting",
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load_average": os.getloadavg()[0],
        "versions": {name: version(name) for name in ("numpy", "scipy", "wordveil", "wordveil-kernels")},
        "repeat": args.repeat,
        "seconds": {name: round(median(run[name] for run in runs), 3) for name in runs[0]},
        "runs": runs,
    }
    for name, value in record["seconds"].items():
        print(f"  {name:52} {value:6.2f} s")
    args.out.write_text(json.dumps(record, indent=2) + "\n")


def measure() -> dict[str, float]:
    command = str(Path(sys.executable).with_name("wordveil"))
    line = [command, "perturb", "-", "-", "--format", "text", "--profile", "balanced"]
    with tempfile.TemporaryDirectory() as home:
        places = {f"XDG_{kind}_HOME": f"{home}/{kind}" for kind in ("CACHE", "STATE", "DATA", "CONFIG")}
        environment = os.environ | places | {"HOME": home}

        def run(arguments: list[str]) -> Callable[[], Any]:
            return lambda: subprocess.run(
                arguments, env=environment, input=b"see you at the airport\n", capture_output=True, check=True
            )

        printed = run([sys.executable, "-c", GUARANTEE])().stdout.split()[-1]
        return {
            "importing NumPy": seconds(run([sys.executable, "-c", "import numpy"])),
            "wordveil --version": seconds(run([command, "--version"])),
            "import to 5,000 words, 300 dimensions": seconds(run([sys.executable, "-c", WORDS])),
            "one line through the command, balanced": seconds(run(line)),
            "one line through the command, again": seconds(run(line)),
            "print(mechanism.guarantee), 300 dimensions": float(printed),
            "wordveil explain --profile balanced": seconds(
                run([command, "explain", "--profile", "balanced"])
            ),
        }


if __name__ == "__main__":
    main()
