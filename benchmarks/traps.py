"""Take out every protection of the integrations, one at a time: the tests named for it must then fail.

    make verify-traps
    python -m benchmarks.traps --only spaCy Dask     # those whose name contains one of these

The mistakes are listed in benchmarks/planted. Each is planted in a copy of the tree. The tests named for it
must pass without it, and each of them must fail with it, because of what it looks at: otherwise it has
survived, and a test is too weak.
"""

import argparse
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import NamedTuple, TypeVar

from benchmarks.planted import MISTAKES, Mistake

ROOT = Path(__file__).parent.parent
COPIED = ("src", "tests", "examples", "docs", "conftest.py", "pyproject.toml", "README.md")
SECONDS = 600  # for the tests of one mistake
Result = TypeVar("Result")


class TestRun(NamedTuple):
    """What pytest has reported: the names of the tests that ran, and why some of them failed."""

    names: set[str]
    failures: dict[str, str]
    output: str


class Verdict(NamedTuple):
    """Whether the tests named for a mistake notice it."""

    mistake: Mistake
    reasons: dict[str, str]
    """Why each test that noticed it has failed."""
    survived: list[str]
    """Tests that did not notice it."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument(
        "--only", nargs="+", default=[""], help="plant only mistakes whose name contains one of these"
    )
    parser.add_argument("--jobs", type=int, default=2, help="mistakes at a time (default: 2)")
    args = parser.parse_args()
    mistakes = [mistake for mistake in MISTAKES if any(text in mistake.trap for text in args.only)]
    if not mistakes:
        parser.error("No mistake has such a name.")
    start = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="traps") as name:
        original = Path(name, "original")
        copy_tree(ROOT, original)
        for mistake in mistakes:
            mistake.applied((original / mistake.file).read_text(encoding="utf-8"))
        selections = {(mistake.environment, mistake.tests): mistake for mistake in mistakes}
        in_turn(partial(check_unchanged, original=original), [*selections.values()], args.jobs)
        print(f"Without a mistake, all tests pass ({time.monotonic() - start:.0f} s).", flush=True)
        verdicts = in_turn(partial(plant, original=original), mistakes, args.jobs)
    survivors = sum(bool(verdict.survived) for verdict in verdicts)
    print(f"{len(verdicts) - survivors} killed, {survivors} survived, in {time.monotonic() - start:.0f} s.")
    sys.exit(1 if survivors else 0)


def in_turn(function: Callable[[Mistake], Result], mistakes: list[Mistake], jobs: int) -> list[Result]:
    """Call a function for each mistake, for some of them at the same time."""
    with ThreadPoolExecutor(jobs) as pool:
        results = [*pool.map(function, [mistake for mistake in mistakes if not mistake.is_alone])]
    return results + [function(mistake) for mistake in mistakes if mistake.is_alone]


def check_unchanged(mistake: Mistake, original: Path, environments: Path = ROOT) -> None:
    """Stop unless the tests of a mistake run and pass without it, also if they run alone."""
    python = environments / mistake.environment / "bin" / "python"
    check_imports(original, python)
    run = run_tests(original, python, mistake.tests)
    missing = [test for test in mistake.tests if not any(matches(test, name) for name in run.names)]
    if run.failures or missing:
        sys.exit(f"{run.output}\nThese tests must pass without a mistake: {[*run.failures, *missing]}")


def plant(mistake: Mistake, original: Path, environments: Path = ROOT) -> Verdict:
    """Run the tests of a mistake in a copy that has it, and print which of them have noticed it."""
    start = time.monotonic()
    python = environments / mistake.environment / "bin" / "python"
    with tempfile.TemporaryDirectory(prefix="planted", dir=original.parent) as name:
        copy = Path(name, "tree")
        copy_tree(original, copy)
        path = copy / mistake.file
        path.write_text(mistake.applied(path.read_text(encoding="utf-8")), encoding="utf-8")
        for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
            compiled.unlink()  # it may be of a file of the same size and age
        check_imports(copy, python, mistake.file)
        run = run_tests(copy, python, mistake.tests)
    failed = {test: reason for test in mistake.tests if (reason := reason_of(test, run.failures))}
    # A planted text that is wrong Python would fail every test too, whatever it looks at.
    reasons = {test: reason for test, reason in failed.items() if re.match(mistake.reason, reason)}
    survived = [test for test in mistake.tests if test not in reasons]
    seconds = time.monotonic() - start
    lines = [f"{'SURVIVED' if survived else 'killed  '} {mistake.trap} ({seconds:.0f} s)"]
    lines += [f"    {test.partition('::')[2]}: {reason[:100]}" for test, reason in reasons.items()]
    lines += [f"    NOT NOTICED by {test}: {failed.get(test, 'it passes')[:200]}" for test in survived]
    print("\n".join(lines), flush=True)
    return Verdict(mistake, reasons, survived)


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
    """Return the variables with which Python imports the copy, and pytest no plugins, which take seconds."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    path = f"{copy / 'src'}{os.pathsep}{copy}"
    return {**os.environ, **threads, "PYTHONPATH": path, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}


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


def run_tests(copy: Path, python: Path, tests: tuple[str, ...]) -> TestRun:
    """Run tests in a copy; stop if pytest itself fails, so that a typing error kills nothing."""
    with tempfile.TemporaryDirectory(prefix="report") as name:
        report = Path(name, "report.xml")
        command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", *tests]
        code, output = run_in_group([str(part) for part in command], copy)
        if code is None:
            return TestRun(set(), {}, f"{output}\n{tests} took more than {SECONDS} s.")
        if code not in (0, 1):
            sys.exit(f"{output}\npytest could not run {tests}.")
        cases = [*ET.parse(report).iter("testcase")]
    names, failures = set(), {}
    for case in cases:
        name = f"{case.get('classname')}::{case.get('name')}"
        for outcome in case:
            if outcome.tag in ("failure", "error"):
                failures[name] = reason_in(outcome.get("message", ""))
        if case.find("skipped") is None:
            names.add(name)
    return TestRun(names, failures, output)


def run_in_group(command: list[str], copy: Path) -> tuple[int | None, str]:
    """Run a command; return its exit code and output, or no code if it took too long and was stopped."""
    with subprocess.Popen(
        command,
        cwd=copy,
        env=environment_of(copy),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    ) as process:
        try:
            output, _ = process.communicate(timeout=SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None, process.communicate()[0]
    return process.returncode, output


def reason_in(message: str) -> str:
    """Return the line that says what has failed, also if it is the error of another process."""
    lines = [line.strip() for line in message.splitlines()]
    errors = [line for line in lines if re.match(r"[\w.]*(Error|Failed|Warning)\b", line)]
    return (errors or lines or ["failed"])[-1 if errors else 0]


def matches(test: str, name: str) -> bool:
    """Return whether the name that is reported is that of a test, or of one of its parameters."""
    file, _, function = test.partition("::")
    wanted = f"{file.removesuffix('.py').replace('/', '.')}::{function}"
    return name == wanted or name.startswith(f"{wanted}[")


def reason_of(test: str, failures: dict[str, str]) -> str:
    """Return why a test failed, or an empty text if it did not."""
    return next((reason for name, reason in failures.items() if matches(test, name)), "")


if __name__ == "__main__":
    main()
