"""The real command, stopped at random moments, then resumed: is every row there once and in order?

    make verify-resume

By kill -9, by Ctrl-C, and by a disk that is full (a small tmpfs where root may mount one, else a limit on the
size of files). What was committed must stand in the output byte for byte: done again, it would differ.
"""

import argparse
import json
import os
import platform
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

ROWS, TEXT = 8000, "please call me at the red house in boston now or later"
SCRIPT = str(Path(sys.executable).parent / "wordveil")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moments", type=int, default=20)
    parser.add_argument("--only", help="one of: kill -9, Ctrl-C, full disk; nothing is recorded then")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/interruptions.json"))
    chosen = parser.parse_args()
    draws = random.Random(chosen.seed)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "in.csv").write_text("n,m\n" + "".join(f"{i},{TEXT}\n" for i in range(ROWS)))
        begun = time.monotonic()
        assert run(folder, folder / "whole.csv").returncode == 0
        whole = time.monotonic() - begun
        size = (folder / "whole.csv").stat().st_size
        ways: dict[str, Callable[[Path], list[int]]] = {
            "kill -9": lambda target: by_signal(folder, target, signal.SIGKILL, draws.uniform(0, whole)),
            "Ctrl-C": lambda target: by_signal(folder, target, signal.SIGINT, draws.uniform(0.5, whole)),
            "full disk": lambda target: by_full_disk(folder, target, draws.randrange(size // 50, size)),
        }
        results = {}
        for name, way in ways.items():
            if chosen.only not in (None, name):
                continue
            rows = [attempt(folder, way) for _ in range(chosen.moments)]
            good = sum(row["good"] for row in rows)
            resumed = [row["committed_rows"] for row in rows if row["committed_rows"]]
            print(f"{name:10} {good} of {len(rows)} complete, in order, no committed row done again; "
                  f"{len(resumed)} went on from a commit")  # fmt: skip
            results[name] = rows
    record = {
        "made_by": "make verify-resume",
        "rows": ROWS,
        "python": platform.python_version(),
        "version": version("wordveil"),
        "results": results,
    }
    if chosen.only is None:
        chosen.out.write_text(json.dumps(record, indent=2) + "\n")
    sys.exit(0 if all(row["good"] for rows in results.values() for row in rows) else 1)


def command(folder: Path, target: Path, *more: str) -> list[str]:
    options = ["--text", "m", "--keep", "n", "--epsilon", "6", "--dims", "25", "--again", *more]
    return [SCRIPT, "perturb", str(folder / "in.csv"), str(target), *options]


def environment(folder: Path) -> dict[str, str]:
    return os.environ | {"XDG_STATE_HOME": str(folder / "state")}


def run(folder: Path, target: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(folder, target, *more), capture_output=True, text=True, env=environment(folder), check=False
    )


def attempt(folder: Path, way: Callable[[Path], list[int]]) -> dict[str, int]:
    """Stop one run, resume it, and look at what came of it."""
    with disk(folder) as place:
        target = place / "out.csv"
        codes = way(target)
        early = target.exists() and not complete(target)  # it may be there in time, but not by half
        rows, part = committed(target)
        done = run(folder, target, "--resume") if not target.exists() else None
        good = (
            not early
            and (done is None or done.returncode == 0)
            and complete(target)
            and target.read_bytes().startswith(part)
            and (not rows or (done is not None and f"({rows:,} of them before)" in done.stdout))
            and not target.with_name(".out.csv.wordveil").exists()
        )
        return {"good": int(good), "exit_code": codes[0], "committed_rows": rows}


def complete(target: Path) -> bool:
    lines = target.read_text().splitlines()
    return [int(line.split(",")[0]) for line in lines[1:]] == list(range(ROWS)) and all(
        len(line.split()) == 12 for line in lines[1:]
    )


def committed(target: Path) -> tuple[int, bytes]:
    work = target.with_name(f".{target.name}.wordveil")
    rows = size = 0
    if (work / "journal").exists():
        for line in (work / "journal").read_bytes().split(b"\n")[:-1]:
            kind, facts = json.loads(line)
            rows, size = (facts["rows"], facts["size"]) if kind == "commit" else (rows, size)
    return rows, (work / "part").read_bytes()[:size] if (work / "part").exists() else b""


@contextmanager
def disk(folder: Path) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=folder) as place:
        yield Path(place)


def hear_ctrl_c() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def by_signal(folder: Path, target: Path, number: signal.Signals, seconds: float) -> list[int]:
    with subprocess.Popen(
        command(folder, target), env=environment(folder), preexec_fn=hear_ctrl_c,  # noqa: PLW1509  # no threads here

        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        time.sleep(seconds)
        process.send_signal(number)
        return [process.wait()]


def by_full_disk(folder: Path, target: Path, size: int) -> list[int]:
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(target.parent)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode != 0:
        limit = (size, size)
        return [
            subprocess.run(
                command(folder, target), env=environment(folder), capture_output=True, check=False,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
            ).returncode
        ]  # fmt: skip
    code = run(folder, target).returncode
    # The disk gets room, and keeps what was on it, as when somebody tidies up.
    subprocess.run(["mount", "-o", "remount,size=100m", str(target.parent)], check=True)
    kept = {
        path.relative_to(target.parent): path.read_bytes()
        for path in target.parent.rglob("*")
        if path.is_file()
    }
    subprocess.run(["umount", str(target.parent)], check=True)
    for name, data in kept.items():
        (target.parent / name).parent.mkdir(mode=0o700, exist_ok=True)  # as it was
        (target.parent / name).write_bytes(data)
    return [code]


if __name__ == "__main__":
    main()
