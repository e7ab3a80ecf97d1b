"""Is this tree slower than another commit? Alternating runs of both, and the interval of the median ratio.

    python -m benchmarks.against REV [--pairs 15] [--python PYTHON] [--out benchmarks/results/against.json]

`--python` is an interpreter with what the other commit needs, if this environment lacks some of it.

Each run is a process of its own, with the code of one of the two trees, that repeats a task and prints its
least time. Both runs of a pair follow each other, in random order. The ratio of a pair is this tree's time
over the other's, so above 1 is slower. The interval of the median runs
from one of the sorted ratios to another.
"""

import argparse
import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from scipy.stats import binom

TASKS = {
    "perturb_ids, 300 dims": """
mechanism = wv.Mahalanobis(emb, 10.0, 1.0)
act = lambda: mechanism.perturb_ids(ids[:20_000])
""",
    "perturb_ids, 25 dims": """
mechanism = wv.Mahalanobis(emb.project(25), 6.0, 1.0)
act = lambda: mechanism.perturb_ids(ids)
""",
    "perturb_ids, one word": """
mechanism = wv.Mahalanobis(emb.project(25), 6.0, 1.0)
mechanism.perturb_ids(ids)
act = lambda: [mechanism.perturb_ids(ids[:1]) for _ in range(500)]
""",
    "perturb_file, CSV": """
folder = Path(tempfile.mkdtemp())
rows = [" ".join(emb.words[i] for i in row) for row in ids.reshape(-1, 10)]
(folder / "in.csv").write_text("label,message\\n" + "".join(f"ham,{row}\\n" for row in rows))
perturber = wv.Perturber(wv.Mahalanobis(emb.project(25), 6.0, 1.0))
act = lambda: wv.perturb_file(
    folder / "in.csv", folder / "out.csv", perturber=perturber, text="message", keep="label", force=True
)
""",
    "sweep": """
from wordveil.evaluation.sweep import Grid, sweep
grid = Grid(epsilons=(5.0, 10.0, 20.0), lams=(0.0, 1.0), draws=100)
act = lambda: sweep(emb, grid, ids[:64], workers=2)
""",
}
SCRIPT = """
import sys, tempfile, time
from pathlib import Path
import numpy as np
import wordveil as wv
emb = wv.load_embedding()
ids = np.random.default_rng(0).choice(len(emb), 30_000, replace=False)
{task}
assert Path(wv.__file__).is_relative_to(sys.argv[1]), wv.__file__
act()
times = []
for _ in range(4):
    start = time.perf_counter()
    act()
    times.append(time.perf_counter() - start)
print(min(times))
"""


def measure(tree: Path, task: str, python: str) -> float:
    path = os.pathsep.join(str(tree / part) for part in ("src", "packages/wordveil-glove/src"))
    command = [python, "-c", SCRIPT.format(task=task), str(tree)]
    done = subprocess.run(
        command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def interval(ratios: list[float]) -> tuple[float, float, float]:
    """Return an interval of the median from the order of the ratios, and how sure it is."""
    count = len(ratios)
    rank = max(1, int(binom.ppf(0.025, count, 0.5)))
    coverage = 1.0 - 2.0 * float(binom.cdf(rank - 1, count, 0.5))
    ordered = sorted(ratios)
    return ordered[rank - 1], ordered[count - rank], coverage


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("revision")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--out", type=Path)
    args = parser.parse_args()
    here = Path(__file__).resolve().parents[1]
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        other = Path(folder) / "other"
        subprocess.run(["git", "clone", "--quiet", str(here), str(other)], check=True)
        subprocess.run(["git", "-C", str(other), "checkout", "--quiet", args.revision], check=True)
        pythons = {here: sys.executable, other: args.python}
        for name, task in TASKS.items():
            ratios = []
            for _ in range(args.pairs):
                order = random.sample([here, other], 2)
                times = {tree: measure(tree, task, pythons[tree]) for tree in order}
                ratios.append(times[here] / times[other])
            low, high, coverage = interval(ratios)
            median = statistics.median(ratios)
            results[name] = {"median": median, "low": low, "high": high, "coverage": coverage}
            print(f"{name:24} {median:.3f} ({low:.3f} to {high:.3f}, {coverage:.1%})", flush=True)
    if args.out is not None:
        facts = {
            "made_by": f"python -m benchmarks.against {args.revision}",
            "meaning": "time of this tree over that of the other, median of pairs",
            "pairs": args.pairs,
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "ratios": results,
        }
        args.out.write_text(json.dumps(facts, indent=2) + "\n")


if __name__ == "__main__":
    main()
