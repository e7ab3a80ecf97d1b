"""Take out every protection of the integrations, one at a time: the tests named for it must then fail.

    make verify-traps
    python -m benchmarks.traps --only spaCy     # those whose name contains a text

The mistakes are listed in benchmarks/planted. Each is planted in a copy of the tree. The tests named for it
must pass without it, and each of them must fail with it: otherwise it has survived, and a test is too weak.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple

from benchmarks.planted import MISTAKES, Mistake

ROOT = Path(__file__).parent.parent
COPIED = ("src", "tests", "examples", "docs", "conftest.py", "pyproject.toml", "README.md")
SECONDS = 600  # for the tests of one mistake
PYTEST = ("-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:cacheprovider")


class TestRun(NamedTuple):
    """What pytest has reported: the names of the tests that ran, and why some of them failed."""

    code: int
    names: set[str]
    failures: dict[str, str]
    skipped: set[str]
    output: str


class Verdict(NamedTuple):
    """Whether the tests named for a mistake notice it."""

    mistake: Mistake
    reasons: dict[str, str]
    """Why each test that noticed it has failed."""
    survived: list[str]
    """Tests that did not notice it."""
    seconds: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default="", help="plant only mistakes whose name contains this")
    parser.add_argument("--jobs", type=int, default=2, help="mistakes at a time (default: 2)")
    args = parser.parse_args()
    mistakes = [mistake for mistake in MISTAKES if args.only.lower() in mistake.trap.lower()]
    if not mistakes:
        parser.error("No mistake has such a name.")
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="traps") as name:
        original = Path(name, "original")
        copy_tree(ROOT, original)
        for environment in sorted({mistake.environment for mistake in mistakes}):
            check_unchanged(
                original, environment, [mistake for mistake in mistakes if mistake.environment == environment]
            )
        print(f"All tests pass without mistakes ({time.monotonic() - start:.0f} s).", flush=True)
        verdicts = [*planted_one_by_one(mistakes, original, args.jobs)]
    survivors = sum(bool(verdict.survived) for verdict in verdicts)
    print(f"{len(verdicts) - survivors} killed, {survivors} survived, in {time.monotonic() - start:.0f} s.")
    sys.exit(1 if survivors else 0)


def planted_one_by_one(mistakes: list[Mistake], original: Path, jobs: int) -> list[Verdict]:
    """Plant each mistake in a copy of its own, some at the same time, and print each verdict."""
    together = [mistake for mistake in mistakes if not mistake.is_alone]
    alone = [mistake for mistake in mistakes if mistake.is_alone]
    planted = partial(plant, original=original)
    with ThreadPoolExecutor(jobs) as pool:
        verdicts = [show(verdict) for verdict in pool.map(planted, together)]
    return verdicts + [show(planted(mistake)) for mistake in alone]


def plant(mistake: Mistake, original: Path, environments: Path = ROOT) -> Verdict:
    """Run the tests of a mistake in a copy that has it."""
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="planted", dir=original.parent) as name:
        copy = Path(name, "tree")
        copy_tree(original, copy)
        path = copy / mistake.file
        path.write_text(mistake.applied(path.read_text(encoding="utf-8")), encoding="utf-8")
        for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
            compiled.unlink()  # of a file of the same size and age
        python = environments / mistake.environment / "bin" / "python"
        check_imports(copy, python, mistake.file)
        run = run_tests(copy, python, mistake.tests)
    reasons = {test: reason for test in mistake.tests if (reason := reason_of(test, run.failures))}
    survived = [test for test in mistake.tests if test not in reasons]
    return Verdict(mistake, reasons, survived, time.monotonic() - start)


def check_unchanged(original: Path, environment: str, mistakes: list[Mistake]) -> None:
    """Stop unless each mistake can be planted, and all tests run and pass without it."""
    python = ROOT / environment / "bin" / "python"
    for mistake in mistakes:
        mistake.applied((original / mistake.file).read_text(encoding="utf-8"))
    check_imports(original, python)
    tests = sorted({test for mistake in mistakes for test in mistake.tests})
    run = run_tests(original, python, tests)
    missing = [test for test in tests if not any(matches(test, name) for name in run.names - run.skipped)]
    if run.code != 0 or missing:
        sys.exit(f"{run.output}\nThese tests must pass without mistakes. Not run: {missing}")


def copy_tree(source: Path, target: Path) -> None:
    """Copy what the tests need; a copy of a copy has compiled files, so that it starts quickly."""
    ignored = shutil.ignore_patterns("__pycache__") if source == ROOT else None
    target.mkdir()
    for name in COPIED:
        if (source / name).is_dir():
            shutil.copytree(source / name, target / name, ignore=ignored)
        else:
            shutil.copy2(source / name, target / name)


def environment_of(copy: Path) -> dict[str, str]:
    """Return the variables with which Python imports the copy, and not what is installed."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {**os.environ, **threads, "PYTHONPATH": f"{copy / 'src'}{os.pathsep}{copy}"}


def check_imports(copy: Path, python: Path, file: str = "src/wordveil/__init__.py") -> None:
    """Stop unless the copy is what is imported, and the changed file can still be: its tests must run."""
    parts = Path(file).with_suffix("").parts
    module = ".".join(parts[1:]).removesuffix(".__init__") if parts[0] == "src" else "wordveil"
    code = f"import importlib, wordveil; importlib.import_module({module!r}); print(wordveil.__file__)"
    done = subprocess.run(
        [python, "-c", code],
        cwd=copy,
        env=environment_of(copy),
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0 or Path(done.stdout.strip()) != copy / "src" / "wordveil" / "__init__.py":
        sys.exit(f"{file}: the copy with the mistake is not what is imported.\n{done.stdout}{done.stderr}")


def run_tests(copy: Path, python: Path, tests: tuple[str, ...] | list[str]) -> TestRun:
    """Run tests in a copy; stop if pytest itself fails, so that a typing error kills nothing."""
    report = copy / "report.xml"
    done = subprocess.run(
        [python, *PYTEST, f"--junitxml={report}", *tests],
        cwd=copy,
        env=environment_of(copy),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
        text=True,
        timeout=SECONDS,
    )
    if done.returncode not in (0, 1):
        sys.exit(f"{done.stdout}\npytest could not run {tests}.")
    names, failures, skipped = set(), {}, set()
    for case in ET.parse(report).iter("testcase"):
        name = f"{case.get('classname')}::{case.get('name')}"
        names.add(name)
        for outcome in case:
            if outcome.tag in ("failure", "error"):
                failures[name] = last_line(outcome.get("message", ""))
            elif outcome.tag == "skipped":
                skipped.add(name)
    return TestRun(done.returncode, names, failures, skipped, done.stdout)


def last_line(message: str) -> str:
    """Return the line that says what has failed, also if it is the error of another process."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    is_traceback = any(line.startswith("Traceback") for line in lines)
    return (lines[-1] if is_traceback else lines[0]) if lines else "failed"


def matches(test: str, name: str) -> bool:
    """Return whether the name that is reported is that of a test, or of one of its parameters."""
    file, _, function = test.partition("::")
    wanted = f"{file.removesuffix('.py').replace('/', '.')}::{function}"
    return name == wanted or name.startswith(f"{wanted}[")


def reason_of(test: str, failures: dict[str, str]) -> str:
    """Return why a test failed, or an empty text if it did not."""
    return next((reason for name, reason in failures.items() if matches(test, name)), "")


def show(verdict: Verdict) -> Verdict:
    """Print a verdict as soon as it is known."""
    print(
        f"{'SURVIVED' if verdict.survived else 'killed  '} {verdict.mistake.trap} ({verdict.seconds:.0f} s)"
    )
    for test, reason in verdict.reasons.items():
        print(f"             {test.partition('::')[2]}: {reason[:100]}")
    for test in verdict.survived:
        print(f"    NOT BY   {test}", flush=True)
    return verdict


if __name__ == "__main__":
    main()
