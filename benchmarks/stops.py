"""Stop the real command at random moments: the exit code, the output and standard error must be right.

    make verify-stops                               # 50 stops per signal, files and pipes; 5 with Spark
    make verify-stops MOMENTS=3 SPARK_MOMENTS=1

Runs over files are stopped by Ctrl-C (SIGINT), SIGTERM, kill -9 (SIGKILL), and by a full disk (a small tmpfs
if root may mount one, else a limit on the size of files), then resumed. Committed rows must be in the output
byte for byte: perturbed again, they would differ. Pipes are stopped by the same signals: their output must be
complete lines in order. After each stop no process may be left, and standard error may contain only the
command's own lines.
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
EARLIEST = 0.25  # seconds: before that the interpreter itself is starting, beyond a program's control
PATIENCE = 30.0  # seconds within which processes of Spark must notice that their parent is gone


class Stop(NamedTuple):
    """The outcome of a command that was stopped."""

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
    args = parser.parse_args()
    moments = random.Random(args.seed)
    results: dict[str, list[dict[str, Any]]] = {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "in.csv").write_text("n,m\n" + "".join(f"{i},{TEXT}\n" for i in range(ROWS)))
        if args.moments:
            results |= stop_files(folder, moments, args.moments, [])
            results |= stop_pipes(folder, moments, args.moments)
        if args.spark_moments:
            if find_spec("pyspark") is None:
                sys.exit(
                    "PySpark is not installed here. Hint: make verify-stops uses an environment that has it."
                )
            spark = ["--engine", "spark", "--master", "local[2]"]
            results |= stop_files(folder, moments, args.spark_moments, spark)
    if args.out is not None:
        facts = {"rows": ROWS, "python": platform.python_version(), "version": version("wordveil")}
        args.out.write_text(
            json.dumps({"made_by": "make verify-stops"} | facts | {"results": results}, indent=1)
        )
    sys.exit(0 if all(row["good"] for rows in results.values() for row in rows) else 1)


def stop_files(folder: Path, moments: random.Random, count: int, options: list[str]) -> dict[str, Any]:
    """Stop runs over files in every way; return one row of facts per run."""
    start = time.monotonic()
    check(run(folder, folder / "complete.csv", *options).returncode == 0, "an undisturbed run failed")
    seconds, size = time.monotonic() - start, (folder / "complete.csv").stat().st_size
    for path in folder.glob("complete.csv*"):
        path.unlink()
    ways: dict[str, Callable[[Path], Stop]] = {
        name: lambda target, name=name: by_signal(  # type: ignore[misc]  # the default binds the loop's name
            command(folder, target, *options), folder, SIGNALS[name], moments.uniform(EARLIEST, seconds)
        )
        for name in SIGNALS
    }
    if not options:
        ways["full disk"] = lambda target: by_full_disk(folder, target, moments.randrange(size // 50, size))
    kind = "spark" if options else "file"
    results = {}
    for name, way in ways.items():
        runs = count if name in SIGNALS else -(-count // 5)  # a full disk is slow to set up
        rows = [stop_file(folder, name, way, options) for _ in range(runs)]
        results[f"{kind}, {name}"] = summary(f"{kind}, {name}", rows)
    return results


def stop_file(folder: Path, name: str, way: Callable[[Path], Stop], options: list[str]) -> dict[str, Any]:
    """Stop one run, resume it, and check the result."""
    with tempfile.TemporaryDirectory(dir=folder) as temporary:
        target = Path(temporary) / "out.csv"
        stop = way(target)
        faults = faults_of(stop, EXIT_CODES.get(name, 1))
        if target.exists() and not complete(target.read_bytes()):
            faults.append("the output is incomplete")
        if stop.code == 0 and not target.exists():
            faults.append("exit code 0 without an output")
        rows, part = committed(target)
        resumed = run(folder, target, "--resume", *options)
        if resumed.returncode != 0:
            faults.append(f"resume: {resumed.stderr}")
        elif not complete(target.read_bytes()):
            faults.append("rows are missing, repeated or out of order")
        elif not target.read_bytes().startswith(part):
            faults.append("committed rows were perturbed again")
        if target.with_name(".out.csv.wordveil").exists():
            faults.append("a work folder is left")
        if outcomes(folder, target)[-1:] != ["released"]:
            faults.append("the ledger does not have the release")
        return {"good": not faults, "exit_code": stop.code, "committed_rows": rows, "faults": faults}


def stop_pipes(folder: Path, moments: random.Random, count: int) -> dict[str, Any]:
    """Stop pipes in every way; return one row of facts per run."""
    pipe = [SCRIPT, "perturb", "-", "-", "--format", "csv", *COLUMNS]
    start = time.monotonic()
    check(complete(by_signal(pipe, folder, None, 0.0, pipe=True).output), "an undisturbed pipe failed")
    seconds = time.monotonic() - start
    results = {}
    for name, number in SIGNALS.items():
        rows = []
        for _ in range(count):
            stop = by_signal(pipe, folder, number, moments.uniform(EARLIEST, seconds), pipe=True)
            faults = faults_of(stop, EXIT_CODES[name])
            lines = stop.output[: stop.output.rfind(b"\n") + 1]
            if name == "SIGINT" and lines != stop.output:
                faults.append("the last line is incomplete")
            if not in_order(lines):
                faults.append("rows are out of order")
            if stop.code == 0 and not complete(
                stop.output
            ):  # too late to stop it is right only if all was done
                faults.append("exit code 0 without all rows")
            rows.append({"good": not faults, "exit_code": stop.code, "faults": faults})
        results[f"pipe, {name}"] = summary(f"pipe, {name}", rows)
    return results


def faults_of(stop: Stop, code: int) -> list[str]:
    faults = []
    if stop.code not in (0, code):
        faults.append(f"exit code {stop.code}")
    foreign = [
        line
        for line in stop.errors.splitlines()
        if not line.startswith(("wordveil: ", "note: ", "Someone who "))
    ]
    if foreign:
        faults.append(f"standard error: {foreign[:3]}")
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


def command(folder: Path, target: Path, *options: str) -> list[str]:
    return [SCRIPT, "perturb", str(folder / "in.csv"), str(target), *COLUMNS, "--again", *options]


def environment(folder: Path) -> dict[str, str]:
    return os.environ | {"XDG_STATE_HOME": str(folder / "state")}


def run(folder: Path, target: Path, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(folder, target, *options),
        capture_output=True,
        text=True,
        env=environment(folder),
        check=False,
    )


def outcomes(folder: Path, target: Path) -> list[str]:
    """Return the outcomes of the runs to a target, read from the ledger without the code that wrote it."""
    with closing(sqlite3.connect(folder / "state" / "wordveil" / "ledger.sqlite")) as database:
        query = "SELECT outcome FROM entry WHERE target = ? ORDER BY number"
        return [outcome for (outcome,) in database.execute(query, (str(target.resolve()),))]


def in_order(lines: bytes) -> bool:
    rows = lines.decode().splitlines()[1:]
    return [int(row.split(",")[0]) for row in rows] == list(range(len(rows))) and all(
        len(row.split()) == 12 for row in rows
    )


def complete(data: bytes) -> bool:
    return data.count(b"\n") == ROWS + 1 and in_order(data)


def committed(target: Path) -> tuple[int, bytes]:
    """Return how many rows the journal has as committed, and their bytes."""
    work = target.with_name(f".{target.name}.wordveil")
    rows = size = 0
    if (work / "journal").exists():
        for line in (work / "journal").read_bytes().split(b"\n")[:-1]:
            kind, facts, _ = json.loads(line)
            rows, size = (facts["rows"], facts["size"]) if kind == "commit" else (rows, size)
    return rows, (work / "part").read_bytes()[:size] if (work / "part").exists() else b""


def restore_ctrl_c() -> None:
    """Accept SIGINT again, which a shell makes its background jobs ignore."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def by_signal(
    arguments: list[str], folder: Path, number: signal.Signals | None, seconds: float, *, pipe: bool = False
) -> Stop:
    """Run a command in its own session, send it a signal, and list the processes that remain."""
    with (
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as errors,
        subprocess.Popen(["cat", str(folder / "in.csv")], stdout=subprocess.PIPE) as writer,
        subprocess.Popen(
            arguments, env=environment(folder), preexec_fn=restore_ctrl_c, start_new_session=True,  # noqa: PLW1509  # no threads here
            stdin=writer.stdout if pipe else subprocess.DEVNULL, stdout=output, stderr=errors,
        ) as process,
    ):  # fmt: skip
        assert writer.stdout is not None
        writer.stdout.close()
        if number is not None:
            time.sleep(seconds)
            # People press Ctrl-C more than once.
            presses = random.choice((1, 1, 3, 8)) if number == signal.SIGINT else 1
            for _ in range(presses):
                process.send_signal(number)
                time.sleep(random.random() * 0.05)
        code = process.wait()
        orphans = processes_left(process.pid)
        output.seek(0)
        errors.seek(0)
        return Stop(code, errors.read().decode("utf-8", "replace"), output.read(), orphans)


def processes_left(session: int) -> list[str]:
    """Return the processes of a session that are still running after some time."""
    deadline = time.monotonic() + PATIENCE
    while True:
        listing = subprocess.run(
            ["ps", "-eo", "sid,stat,args"], capture_output=True, text=True, check=True
        ).stdout
        rows = [line.split(None, 2) for line in listing.splitlines()[1:]]
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
        process = subprocess.run(
            command(folder, target), env=environment(folder), capture_output=True, text=True, check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, limit),
        )  # fmt: skip
        return Stop(process.returncode, process.stderr, b"", [])
    process = run(folder, target)
    # The disk gets more room and keeps its files, as if somebody had deleted others.
    subprocess.run(["mount", "-o", "remount,size=100m", str(target.parent)], check=True)
    kept = {
        path.relative_to(target.parent): path.read_bytes()
        for path in target.parent.rglob("*")
        if path.is_file()
    }
    subprocess.run(["umount", str(target.parent)], check=True)
    for name, data in kept.items():
        (target.parent / name).parent.mkdir(mode=0o700, exist_ok=True)  # the same mode as before
        (target.parent / name).write_bytes(data)
    return Stop(process.returncode, process.stderr, b"", [])


def check(good: bool, message: str) -> None:
    if not good:
        sys.exit(message)


if __name__ == "__main__":
    main()
