"""Milliseconds per word of the Mahalanobis mechanism, compared with other libraries on the same input.

    make bench-peers

Each peer runs in its own environment under build/peers, with the pins of benchmarks/peer_scripts, and in its
own process. Loading is not measured, and the time is the best of the repetitions after a warm-up. Every
library may use all the cores that this process may use. The peers get one word at a time, which is all that
mldp-text takes and fastest for pypantera; wordveil is measured in the same way, and with a batch. A peer that
can't be installed or run gets a row that says why, and the exit code is 1.

The other mechanisms of the family are timed where a peer has them, at the same ε for all. docs/family.md says
where those of the peers differ from their formulas: their times are those of what they compute.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

import wordveil as wv
from benchmarks.peer_scripts.measuring import Task, timed

Ids = np.ndarray[Any, np.dtype[np.int64]]

BUILD = Path("build/peers")
SCRIPTS = Path(__file__).parent / "peer_scripts"
MODULES = {"pypantera": "run_pypantera", "mldp-text": "run_mldp_text"}
BATCH, SINGLE = "wordveil (batch)", "wordveil (one word per call)"
LIMIT_SECONDS = 1800  # for installing or running a peer: many times what either takes
# The pins are complete: resolving again could only change one, or add what no peer needs.
PIP_FLAGS = ("--quiet", "--disable-pip-version-check", "--no-deps")


class PeerError(Exception):
    """Why a peer has no numbers, in one line."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--words", type=int, default=60, help="words for each peer")
    parser.add_argument("--batch", type=int, default=20_000, help="words for wordveil at once")
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--draws", type=int, default=400, help="draws of a peer's noise to check its law")
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/peers.json"))
    args = parser.parse_args()
    BUILD.mkdir(parents=True, exist_ok=True)
    return report(wv.load_embedding(), args)


def report(emb: wv.Embedding, args: argparse.Namespace) -> int:
    task = make_task(emb, args)
    load = [os.getloadavg()[0]]
    rows = measure_wordveil(emb, task, args.batch)
    write_inputs(emb, task)
    peers = {name: measure_peer(name, emb) for name in MODULES}
    for result in peers.values():
        rows |= result.pop("rows", {})
    add_ratios(rows)
    load.append(os.getloadavg()[0])
    record = header(emb, task, args.batch) | {"load_average_before_and_after": load}
    print_table(record, rows, peers)
    args.out.write_text(json.dumps(record | {"rows": rows, "peers": peers}, indent=2) + "\n")
    return int(any("failed" in result for result in peers.values()))


def make_task(emb: wv.Embedding, args: argparse.Namespace) -> Task:
    words = [emb.words[i] for i in even_ids(emb, args.words)]
    unknown = [word for i in range(20) if emb.id_of(word := f"zq{i}unknownxv") is None]
    return Task(
        words, unknown, epsilon=10.0, epsilon_of_weights=2.0, lam=1.0, repeat=args.repeat, draws=args.draws
    )


def even_ids(emb: wv.Embedding, count: int) -> Ids:
    return np.linspace(0, len(emb) - 1, count).astype(np.int64)


def header(emb: wv.Embedding, task: Task, batch: int) -> dict[str, Any]:
    return {
        "made_by": "make bench-peers",
        "python": platform.python_version(),
        "machine": platform.machine(),
        "cores": cores(),
        "threads": os.environ.get("OMP_NUM_THREADS", "one per core"),
        "versions": {name: version(name) for name in ("wordveil", "numpy")},
        "vectors": {"words": len(emb), "dims": emb.dim, "fingerprint": emb.fingerprint},
        "words": {"peers": len(task.words), "wordveil_batch": batch},
        "epsilon": task.epsilon,
        "epsilon_of_weights": task.epsilon_of_weights,
        "lam": task.lam,
        "repeat": task.repeat,
    }


def cores() -> int:
    return len(os.sched_getaffinity(0))


def measure_wordveil(emb: wv.Embedding, task: Task, batch: int) -> dict[str, Any]:
    mech = wv.Mahalanobis(emb, epsilon=10.0, lam=1.0)
    ids = even_ids(emb, batch)
    singles = list(even_ids(emb, len(task.words)).reshape(-1, 1))
    settings = {"epsilon": task.epsilon, "lam": task.lam}
    rows = {
        BATCH: timed(lambda: mech.perturb_ids(ids), len(ids), task.repeat),
        SINGLE: timed(lambda: [mech.perturb_ids(one) for one in singles], len(singles), task.repeat),
    }
    rows = {name: row | {"settings": settings} for name, row in rows.items()}
    for name, member in family(emb, task).items():
        for title, calls in (("batch", [ids]), ("one word per call", singles)):
            act = partial(perturb_each, member, calls)
            times = timed(act, sum(map(len, calls)), task.repeat)
            rows[f"wordveil: {name} ({title})"] = times | {"settings": member.setting()}
    return rows


def perturb_each(mechanism: wv.Mechanism, calls: list[Ids]) -> None:
    for ids in calls:
        mechanism.perturb_ids(ids)


def family(emb: wv.Embedding, task: Task) -> dict[str, wv.Mechanism]:
    """Return the other mechanisms that a peer has."""
    return {
        "vickrey": wv.Vickrey(emb, task.epsilon),
        "exponential": wv.Exponential(emb, task.epsilon_of_weights),
        "tem": wv.TruncatedExponential(emb, task.epsilon_of_weights),
        "custext": wv.CusText(emb, task.epsilon_of_weights, unsafe_no_uniform_guarantee=True),
    }


def write_inputs(emb: wv.Embedding, task: Task) -> None:
    """Write the task and the vectors, which mldp-text reads with a header and pypantera without one."""
    (BUILD / "task.json").write_text(json.dumps(asdict(task)), encoding="utf-8")
    with (
        (BUILD / "mldp-text-vectors.txt").open("w", encoding="utf-8") as word2vec,
        (BUILD / "pypantera-vectors.txt").open("w", encoding="utf-8") as glove,
    ):
        word2vec.write(f"{len(emb)} {emb.dim}\n")
        for word, row in zip(emb.words, emb.vectors.tolist(), strict=True):
            # Nine digits give every float32 back exactly.
            line = f"{word} {' '.join(f'{value:.9g}' for value in row)}\n"
            word2vec.write(line)
            glove.write(line)


def measure_peer(name: str, emb: wv.Embedding) -> dict[str, Any]:
    try:
        result = run_peer(name, environment_of(name))
        if (result["words"], result["dims"]) != (len(emb), emb.dim):
            raise PeerError(f"it loaded {result['words']} words of {result['dims']} dims")
    except PeerError as error:
        return {"failed": str(error)}
    return result


def environment_of(name: str) -> Path:
    """Return the peer's Python; create its environment unless it exists with the same pins."""
    pins, folder = SCRIPTS / f"{name}.txt", BUILD / name
    ready, python = folder / "ready", folder / "bin" / "python"
    if ready.exists() and ready.read_text() == pins.read_text():
        return python
    shutil.rmtree(folder, ignore_errors=True)
    run([sys.executable, "-m", "venv", str(folder)])
    run([str(python), "-m", "pip", "install", *PIP_FLAGS, "--requirement", str(pins)])
    ready.write_text(pins.read_text())
    return python


def run_peer(name: str, python: Path) -> dict[str, Any]:
    module = f"benchmarks.peer_scripts.{MODULES[name]}"
    vectors = BUILD / f"{name}-vectors.txt"
    printed = run([str(python), "-X", "utf8", "-m", module, str(BUILD / "task.json"), str(vectors)])
    try:
        result: dict[str, Any] = json.loads(printed.splitlines()[-1])
    except (IndexError, ValueError) as error:
        raise PeerError("its last line is not a result") from error
    return result


def run(command: list[str]) -> str:
    try:
        process = subprocess.run(
            command, check=False, capture_output=True, text=True, env=peer_env(), timeout=LIMIT_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PeerError(str(error)) from error
    if process.returncode:
        lines = [line.strip() for line in process.stderr.splitlines() if line.strip()]
        raise PeerError(lines[-1] if lines else f"exit code {process.returncode}")
    return process.stdout


def peer_env() -> dict[str, str]:
    """Return our environment, and with it the same threads, without Python's own settings."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    # mldp-text downloads WordNet when it is imported, for a mechanism that isn't measured here. This puts it
    # under build instead of the home folder.
    nltk = BUILD / "nltk_data"
    nltk.mkdir(exist_ok=True)
    return kept | {"NLTK_DATA": str(nltk.resolve())}


def add_ratios(rows: dict[str, Any]) -> None:
    batch, single = rows[BATCH]["ms_per_word"], rows[SINGLE]["ms_per_word"]
    for row in rows.values():
        if "failed" in row:
            continue
        row |= {"times_batch": row["ms_per_word"] / batch, "times_single": row["ms_per_word"] / single}


def print_table(record: dict[str, Any], rows: dict[str, Any], peers: dict[str, Any]) -> None:
    vectors, words = record["vectors"], record["words"]
    print(
        f"Mahalanobis, ε {record['epsilon']:g}, λ {record['lam']:g}; "
        f"{vectors['words']:,} × {vectors['dims']} vectors; "
        f"{words['peers']} words for a peer, {words['wordveil_batch']:,} in wordveil's batch; "
        f"{record['cores']} cores, best of {record['repeat']}"
    )
    print(f"  {'':34} {'ms per word':>12} {'worst pass':>11} {'× batch':>10} {'× one per call':>16}")
    for name, row in rows.items():
        if "failed" in row:
            print(f"  {name:34} failed: {row['failed']}")
            continue
        times = f"{row['ms_per_word']:12.4f} {max(row['passes']):11.4f}"
        print(f"  {name:34} {times} {row['times_batch']:10.1f} {row['times_single']:16.1f}")
    for name, result in peers.items():
        print_peer(name, result)


def print_peer(name: str, result: dict[str, Any]) -> None:
    if "failed" in result:
        print(f"  {name:26} no numbers: {result['failed']}")
        return
    facts, law = result["facts"], result["facts"]["noise_law"]
    print(
        f"  {name} {result['versions'][name]}: {facts['unknown_words_verbatim']} unknown words pass verbatim"
    )
    print(
        "    its noise over the paper's law (1 is right), in the Mahalanobis norm: "
        f"E‖z‖² {law['second_moment']:.3f} ± {law['second_moment_standard_error']:.3f}, "
        f"Var‖z‖ {law['variance']:.2f} ± {law['variance_standard_error']:.2f}"
    )
    if "faiss_answer_is_not_the_nearest" in facts:
        print(f"    FAISS misses the nearest word {facts['faiss_answer_is_not_the_nearest']} times")


if __name__ == "__main__":
    sys.exit(main())
