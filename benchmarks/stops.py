"""The real command, stopped at random moments: right exit code, nothing lost, nobody left, no noise.

    make verify-stops                               # 50 by each signal, files and pipes; 5 each with Spark
    make verify-stops MOMENTS=3 SPARK_MOMENTS=1

Files are stopped by Ctrl-C (SIGINT), SIGTERM, kill -9 (SIGKILL), and by a disk that is full (a small tmpfs
where root may mount one, else a limit on the size of files), then resumed. What was committed must stand in
the output byte for byte: done again, it would differ. Pipes are stopped by the same signals: what came out
must be whole lines in their order. After each stop no process may be left, and standard error may hold only
lines of the command's own.
"""

import argparse
import json
import os
import platform
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

ROWS, TEXT = 5000, "please call me at the red house in boston now or later"
SCRIPT = str(Path(sys.executable).parent / "wordveil")
SIGNALS = {"SIGINT": signal.SIGINT, "SIGTERM": signal.SIGTERM, "SIGKILL": signal.SIGKILL}
EXIT_CODES = {"SIGINT": 130, "SIGTERM": -signal.SIGTERM, "SIGKILL": -signal.SIGKILL}
EARLIEST = 0.25  # seconds: before that the interpreter itself is starting, which no program can help
PATIENCE = 30.0  # seconds until what Spark started must have noticed that it is alone


class Stop(NamedTuple):
    """What came of a command that was stopped."""

    code: int
    errors: str
    output: bytes
    orphans: list[str]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--moments", type=int, default=50)
    parser.add_argument("--spark-moments", type=int, default=0, help="needs PySpark and Java")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--out", type=Path, default=None, help="record the results in this file")
    chosen = parser.parse_args()
    draws = random.Random(chosen.seed)
    results: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "in.csv").write_text("n,m\n" + "".join(f"{i},{TEXT}\n" for i in range(ROWS)))
        if chosen.moments:
            results |= stopped_files(folder, draws, chosen.moments, [])
            results |= stopped_pipes(folder, draws, chosen.moments)
        if chosen.spark_moments:
            if find_spec("pyspark") is None:
                sys.exit(
                    "PySpark is not installed here. Hint: make verify-stops uses an environment that has it."
                )
            spark = ["--engine", "spark", "--master", "local[2]"]
            results |= stopped_files(folder, draws, chosen.spark_moments, spark)
    if chosen.out is not None:
        facts = {"rows": ROWS, "python": platform.python_version(), "version": version("wordveil")}
        chosen.out.write_text(
            json.dumps({"made_by": "make verify-stops"} | facts | {"results": results}, indent=1)
        )
    sys.exit(0 if all(row["good"] for rows in results.values() for row in rows) else 1)


def stopped_files(folder: Path, draws: random.Random, moments: int, more: list[str]) -> dict[str, Any]:
    """Stop runs over files in every way; return a row of facts for each."""
    begun = time.monotonic()
    check(run(folder, folder / "whole.csv", *more).returncode == 0, "an undisturbed run failed")
    seconds, size = time.monotonic() - begun, (folder / "whole.csv").stat().st_size
    for path in folder.glob("whole.csv*"):
        path.unlink()
    ways: dict[str, Callable[[Path], Stop]] = {
        name: lambda target, name=name: by_signal(  # type: ignore[misc]  # the default binds the loop's name
            command(folder, target, *more), folder, SIGNALS[name], draws.uniform(EARLIEST, seconds)
        )
        for name in SIGNALS
    }
    if not more:
        ways["full disk"] = lambda target: by_full_disk(folder, target, draws.randrange(size // 50, size))
    kind = "spark" if more else "file"
    results = {}
    for name, way in ways.items():
        count = moments if name in SIGNALS else -(-moments // 5)
        rows = [file_attempt(folder, name, way, more) for _ in range(count)]
        results[f"{kind}, {name}"] = summary(f"{kind}, {name}", rows)
    return results


def file_attempt(folder: Path, name: str, way: Callable[[Path], Stop], more: list[str]) -> dict[str, Any]:
    """Stop one run, resume it, and look at what came of it."""
    with tempfile.TemporaryDirectory(dir=folder) as place:
        target = Path(place) / "out.csv"
        stop = way(target)
        faults = faults_of(stop, EXIT_CODES.get(name, 1))
        if target.exists() and not complete(target.read_bytes()):
            faults.append("a file by half")
        if stop.code == 0 and not target.exists():
            faults.append("exit code 0 without an output")
        rows, part = committed(target)
        done = run(folder, target, "--resume", *more)
        if done.returncode != 0:
            faults.append(f"resume: {done.stderr}")
        elif not complete(target.read_bytes()):
            faults.append("rows are missing, double or out of order")
        elif not target.read_bytes().startswith(part):
            faults.append("what was committed was done again")
        if target.with_name(".out.csv.wordveil").exists():
            faults.append("a work folder is left")
        if outcomes(folder, target)[-1:] != ["released"]:
            faults.append("the ledger does not know of the release")
        return {"good": not faults, "exit_code": stop.code, "committed_rows": rows, "faults": faults}


def stopped_pipes(folder: Path, draws: random.Random, moments: int) -> dict[str, Any]:
    """Stop pipes in every way; return a row of facts for each."""
    pipe = [SCRIPT, "perturb", "-", "-", "--format", "csv", *COLUMNS]
    begun = time.monotonic()
    check(complete(by_signal(pipe, folder, None, 0.0, pipe=True).output), "an undisturbed pipe failed")
    seconds = time.monotonic() - begun
    results = {}
    for name, number in SIGNALS.items():
        rows = []
        for _ in range(moments):
            stop = by_signal(pipe, folder, number, draws.uniform(EARLIEST, seconds), pipe=True)
            faults = faults_of(stop, EXIT_CODES[name])
            whole = stop.output[: stop.output.rfind(b"\n") + 1]
            if name == "SIGINT" and whole != stop.output:
                faults.append("half a line came out")
            if not in_order(whole):
                faults.append("rows are out of order")
            if stop.code == 0 and not complete(stop.output):  # heard too late is right only if all was done
                faults.append("exit code 0 without all rows")
            rows.append({"good": not faults, "exit_code": stop.code, "faults": faults})
        results[f"pipe, {name}"] = summary(f"pipe, {name}", rows)
    return results


def faults_of(stop: Stop, code: int) -> list[str]:
    faults = []
    if stop.code not in (0, code):
        faults.append(f"exit code {stop.code}")
    strange = [
        line
        for line in stop.errors.splitlines()
        if not line.startswith(("wordveil: ", "note: ", "strength: "))
    ]
    if strange:
        faults.append(f"standard error: {strange[:3]}")
    if stop.orphans:
        faults.append(f"left behind: {stop.orphans}")
    return faults


def summary(name: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    stopped = [row for row in rows if row["exit_code"] != 0]
    good = sum(row["good"] for row in rows)
    print(
        f"{name:15} {good} of {len(rows)} as they should be; {len(stopped)} were stopped before the end",
        flush=True,
    )
    for row in rows:
        if not row["good"]:
            print(f"    {row}", flush=True)
    return rows


COLUMNS = ["--text", "m", "--keep", "n", "--epsilon", "6", "--dims", "25"]


def command(folder: Path, target: Path, *more: str) -> list[str]:
    return [SCRIPT, "perturb", str(folder / "in.csv"), str(target), *COLUMNS, "--again", *more]


def environment(folder: Path) -> dict[str, str]:
    return os.environ | {"XDG_STATE_HOME": str(folder / "state")}


def run(folder: Path, target: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(folder, target, *more), capture_output=True, text=True, env=environment(folder), check=False
    )


def outcomes(folder: Path, target: Path) -> list[str]:
    """Return what the ledger says of the runs to a target, read without the code that wrote it."""
    with closing(sqlite3.connect(folder / "state" / "wordveil" / "ledger.sqlite")) as base:
        query = "SELECT outcome FROM entry WHERE target = ? ORDER BY number"
        return [outcome for (outcome,) in base.execute(query, (str(target.resolve()),))]


def in_order(lines: bytes) -> bool:
    rows = lines.decode().splitlines()[1:]
    return [int(row.split(",")[0]) for row in rows] == list(range(len(rows))) and all(
        len(row.split()) == 12 for row in rows
    )


def complete(data: bytes) -> bool:
    return data.count(b"\n") == ROWS + 1 and in_order(data)


def committed(target: Path) -> tuple[int, bytes]:
    """Return how many rows the journal says are safe, and their bytes."""
    work = target.with_name(f".{target.name}.wordveil")
    rows = size = 0
    if (work / "journal").exists():
        for line in (work / "journal").read_bytes().split(b"\n")[:-1]:
            kind, facts, _ = json.loads(line)
            rows, size = (facts["rows"], facts["size"]) if kind == "commit" else (rows, size)
    return rows, (work / "part").read_bytes()[:size] if (work / "part").exists() else b""


def hear_ctrl_c() -> None:
    """Undo what a shell does to its background jobs: ignore SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def by_signal(
    arguments: list[str], folder: Path, number: signal.Signals | None, seconds: float, *, pipe: bool = False
) -> Stop:
    """Run a command in a session of its own, send it a signal, and see who of that session outlives it."""
    with (
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(["cat", str(folder / "in.csv")], stdout=subprocess.PIPE) as writer,
        subprocess.Popen(
            arguments, env=environment(folder), preexec_fn=hear_ctrl_c, start_new_session=True,  # noqa: PLW1509  # no threads here
            stdin=writer.stdout if pipe else subprocess.DEVNULL, stdout=output, stderr=errors,
        ) as process,
    ):  # fmt: skip
        assert writer.stdout is not None
        writer.stdout.close()
        if number is not None:
            time.sleep(seconds)
            for _ in range(
                random.choice((1, 1, 3, 8)) if number == signal.SIGINT else 1
            ):  # people press it again
                process.send_signal(number)
                time.sleep(random.random() * 0.05)
        code = process.wait()
        orphans = left_of(process.pid)
        output.seek(0)
        errors.seek(0)
        return Stop(code, errors.read().decode("utf-8", "replace"), output.read(), orphans)


def left_of(session: int) -> list[str]:
    """Return the processes of a session that are still there after some patience."""
    deadline = time.monotonic() + PATIENCE
    while True:
        listed = subprocess.run(
            ["ps", "-eo", "sid,stat,args"], capture_output=True, text=True, check=True
        ).stdout
        rows = [line.split(None, 2) for line in listed.splitlines()[1:]]
        left = [args[:80] for sid, state, args in rows if int(sid) == session and not state.startswith("Z")]
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.2)


def by_full_disk(folder: Path, target: Path, size: int) -> Stop:
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(target.parent)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode != 0:
        limit = (size, size)
        done = subprocess.run(
            command(folder, target), env=environment(folder), capture_output=True, text=True, check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
        )  # fmt: skip
        return Stop(done.returncode, done.stderr, b"", [])
    done = run(folder, target)
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
    return Stop(done.returncode, done.stderr, b"", [])


def check(good: bool, what: str) -> None:
    if not good:
        sys.exit(what)


if __name__ == "__main__":
    main()
