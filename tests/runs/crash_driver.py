"""Kills a run at each of its system calls in turn, resumes it, and prints the results as JSON.

    python crash_driver.py FOLDER FORMAT

Each run is a separate process, which kills itself (SIGKILL) at the n-th call that touches the disk. So every
point at which something half-written could be seen is tried, not only those that chance would hit.
"""

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import wordveil as wv
from wordveil.engines import base as engines_base
from wordveil.runs import run as run_module
from wordveil.tables import base, parquet

ROWS = 60
CALLS = ("fsync", "replace", "rename", "link", "unlink", "mkdir", "rmdir", "truncate", "open")
WORDS = ["tea", "at", "noon", "please", "call", "me", "now", "on", "the", "red", "house"]
PERTURBER = wv.Perturber(
    wv.Laplace(wv.Embedding(WORDS, np.random.default_rng(1).normal(size=(11, 3)), public=True), 0.1)
)


def in_child(act: Callable[[], None]) -> int:
    """Run a function in a child process; return 0, or the signal or exit code that ended it."""
    child = os.fork()
    if child == 0:
        try:
            act()
        except BaseException:
            import traceback

            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return abs(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def killing_at(number: int) -> None:
    """Kill this process at that call from now on; the points before and after a call have numbers of their own."""
    count = 0

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            nonlocal count
            count += 1
            if count == number:
                os.kill(os.getpid(), signal.SIGKILL)
            result = real(*args, **options)
            count += 1
            if count == number:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return call

    for name in CALLS:
        setattr(os, name, counted(getattr(os, name)))


def main() -> None:
    folder, suffix = Path(sys.argv[1]), sys.argv[2]
    run_module._COMMIT_SECONDS = 0.0  # type: ignore[misc]  # it is Final; changed in this process only
    for module in (base, parquet):
        vars(module)["CHUNK_ROWS"] = 10
    source = folder / f"in.{suffix}"
    write(source, suffix)
    PERTURBER.exposure()  # once here, not in each of hundreds of processes
    results = []
    for number in range(1, 10_000):
        for path in folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path != source:
                path.unlink()
        results.append(killed_and_resumed(number, folder, suffix))
        if results[-1]["ended"] == 0:
            break
    print(json.dumps(results))


def killed_and_resumed(number: int, folder: Path, suffix: str) -> dict[str, Any]:
    """Kill a run at that call, resume it, and return what can be seen of both."""
    source, target = folder / f"in.{suffix}", folder / f"out.{suffix}"
    ledger = wv.Ledger(folder / "ledger.sqlite")
    options: dict[str, Any] = {
        "perturber": PERTURBER, "text": "m", "keep": "n", "workers": 1, "ledger": ledger,
    }  # fmt: skip

    def first() -> None:
        killing_at(number)
        wv.perturb_file(source, target, **options)

    def second() -> None:
        counts = count_rows()
        # A run that published everything and was killed then has nothing to resume.
        run = wv.perturb_file(source, target, resume=True, force=not left(folder, suffix), **options)
        (folder / "done.json").write_text(json.dumps([counts[0], run.resumed_rows]))

    ended = in_child(first)
    committed = committed_bytes(folder, suffix)
    early = target.exists() and not complete(target, suffix)
    complete_before = target.exists() and not left(folder, suffix)
    again = 0 if ended == 0 or complete_before else in_child(second)
    done = folder / "done.json"
    redone, resumed = json.loads(done.read_text()) if done.exists() else (0, ROWS)
    manifest = json.loads((folder / f"out.{suffix}.manifest.json").read_text())
    return {
        "number": number,
        "ended": ended,
        "again": again,
        "early": early,
        "complete": complete(target, suffix),
        "prefix": suffix == "parquet" or target.read_bytes().startswith(committed),
        "redone": redone + resumed == ROWS,
        "committed": len(committed),
        "entries": [entry.outcome for entry in ledger.entries()],
        "left": left(folder, suffix),
        "manifest": manifest["output"]["rows"],
    }


def left(folder: Path, suffix: str) -> bool:
    return (folder / f".out.{suffix}.wordveil" / "journal").exists()


def committed_bytes(folder: Path, suffix: str) -> bytes:
    """Return the bytes that the journal of a killed run says are safe."""
    work = folder / f".out.{suffix}.wordveil"
    size = 0
    if (work / "journal").exists():
        for line in (work / "journal").read_bytes().split(b"\n")[:-1]:
            kind, facts, _ = json.loads(line)
            size = facts["size"] if kind == "commit" else size
    return (work / "part").read_bytes()[:size] if (work / "part").exists() else b""


def count_rows() -> list[int]:
    """Count the rows that are perturbed from now on."""
    counts = [0]
    real = engines_base.perturbed_texts

    def counted(*args: Any) -> Any:
        counts[0] += len(args[-1]["m"])
        return real(*args)

    from wordveil.engines import local

    vars(local)["perturbed_texts"] = counted
    return counts


def write(path: Path, suffix: str) -> None:
    rows = [{"n": str(i), "m": "tea at noon please call me"} for i in range(ROWS)]
    if suffix == "parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.Table.from_pylist(rows), path, row_group_size=25)
    else:
        path.write_text("n,m\n" + "".join(f"{row['n']},{row['m']}\n" for row in rows))


def complete(path: Path, suffix: str) -> bool:
    """Return whether every row is there once, in order, with all of its words."""
    if not path.exists():
        return False
    if suffix == "parquet":
        import pyarrow.parquet as pq

        rows = [(row["n"], row["m"]) for row in pq.read_table(path).to_pylist()]
    else:
        rows = [(line.split(",")[0], line.split(",")[1]) for line in path.read_text().splitlines()[1:]]
    return [int(n) for n, _ in rows] == list(range(ROWS)) and all(len(m.split()) == 6 for _, m in rows)


if __name__ == "__main__":
    main()
