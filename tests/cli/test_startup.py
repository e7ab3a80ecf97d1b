"""How fast the command answers, and what it must not import for that."""

import ast
import inspect
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import wordveil
from wordveil.cli.lazy import COMMANDS, load_command

RUN = "import sys, wordveil_command; sys.argv[0] = 'wordveil'; sys.exit(wordveil_command.main())"
HEAVY = {"numpy", "scipy", "pyarrow", "matplotlib", "randomgen", "safetensors"}
ROUNDS = 9
ATTEMPTS = 3


def seconds(*arguments: str) -> float:
    """Return the processor time of a Python process: unlike the time on a clock, it hardly grows on a busy machine."""
    process = subprocess.Popen([sys.executable, *arguments], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_utime + usage.ru_stime


def medians(options: dict[str, list[str]]) -> dict[str, float]:
    """Return the median of each, measured in turn, so whatever else the machine does affects all of them."""
    rounds = [{name: seconds(*arguments) for name, arguments in options.items()} for _ in range(ROUNDS)]
    return {name: statistics.median(times[name] for times in rounds) for name in options}


def test_version_and_help_appear_at_once() -> None:
    options = {
        "numpy": ["-c", "import numpy"],
        "version": ["-c", RUN, "--version"],
        "help": ["-c", RUN, "--help"],
    }
    for _ in range(ATTEMPTS):
        median = medians(options)
        extra = {name: median[name] - median["numpy"] for name in ("version", "help")}
        if extra["version"] < 0.25 and extra["help"] < 0.4:
            return
    pytest.fail(f"seconds more than numpy takes: {extra}")


@pytest.mark.parametrize("arguments", ["'--version'", "'--help'"])
def test_nothing_heavy_is_imported(arguments: str) -> None:
    script = f"import sys; sys.argv = ['wordveil', {arguments}]; import wordveil_command; wordveil_command.main(); "
    script += "print(sorted({name.partition('.')[0] for name in sys.modules}), file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert set(ast.literal_eval(done.stderr)) & HEAVY == set()


def test_import_wordveil_imports_nothing_heavy() -> None:
    script = "import sys, wordveil; print(sorted(sys.modules), wordveil.__version__)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "'numpy'" not in done.stdout
    assert wordveil.__version__ in done.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_the_help_in_the_list_is_that_of_the_command(name: str) -> None:
    help_text = inspect.cleandoc(load_command(name).help)
    assert " ".join(help_text.split("\n\n")[0].split()) == COMMANDS[name].help


def test_every_public_name_is_where_the_type_checker_sees_it() -> None:
    tree = ast.parse(Path(wordveil.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.name: node.module
        for node in block.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen.pop("spark") == "wordveil.engines"
    assert seen.pop("evaluation") == "wordveil"
    modules = {name for name in seen if seen[name] == "wordveil.integrations"}
    assert modules == {*wordveil._INTEGRATIONS}
    assert modules.isdisjoint(wordveil.__all__)
    assert modules <= {*dir(wordveil)}
    seen = {name: module for name, module in seen.items() if name not in modules}
    assert seen == wordveil._MODULE_OF
    assert sorted([*seen, "evaluation", "spark"]) == sorted(wordveil.__all__)
    for name in seen:
        assert getattr(wordveil, name) is getattr(sys.modules[wordveil._MODULE_OF[name]], name)


def test_names_behave_as_if_they_had_been_imported() -> None:
    assert set(wordveil.__all__) <= set(dir(wordveil))
    assert wordveil.errors.WordveilError is wordveil.WordveilError
    namespace: dict[str, Any] = {}
    exec("from wordveil import Policy, metric", namespace)
    assert namespace["Policy"] is wordveil.Policy
    for name in ("Polcy", "_hidden", "__path_of_nothing__"):
        assert not hasattr(wordveil, name)
