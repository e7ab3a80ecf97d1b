"""The planted mistakes fit the code as it is, and `make verify-traps` tells which of them are noticed."""

import ast
import sys
from pathlib import Path

import pytest
from benchmarks.planted import MISTAKES, Mistake
from benchmarks.traps import COPIED, plant

ROOT = Path(__file__).parent.parent


def test_every_mistake_has_a_name_of_its_own() -> None:
    assert len({mistake.trap for mistake in MISTAKES}) == len(MISTAKES) > 100


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.trap)
def test_a_mistake_fits_its_file_and_names_tests_that_exist(mistake: Mistake) -> None:
    changed = mistake.applied((ROOT / mistake.file).read_text(encoding="utf-8"))
    if mistake.file.endswith(".py"):
        ast.parse(changed)
    for test in mistake.tests:
        file, _, name = test.partition("::")
        assert f"def {name.partition('[')[0]}(" in (ROOT / file).read_text(encoding="utf-8")


def test_a_mistake_that_no_longer_fits_is_an_error() -> None:
    mistake = Mistake("trap", "file.py", {"a = 1": "a = 2"}, ("tests/test_it.py::test_it",))
    assert mistake.applied("a = 1\n") == "a = 2\n"
    for source in ("", "a = 1; a = 1"):
        with pytest.raises(ValueError, match="not once"):
            mistake.applied(source)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree with a protection and two tests, of which one looks at it; and an environment."""
    tree = tmp_path / "tree"
    for name in COPIED:
        path = tree / name
        (path if not path.suffix else tree).mkdir(parents=True, exist_ok=True)
        if path.suffix:
            path.touch()
    (tree / "src" / "wordveil").mkdir()
    (tree / "src" / "wordveil" / "__init__.py").write_text("IS_PRIVATE = True\n")
    test = "from wordveil import IS_PRIVATE\ndef test_it():\n    assert IS_PRIVATE\ndef test_other():\n    pass\n"
    (tree / "tests" / "test_it.py").write_text(test)
    python = tmp_path / "environment" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o700)
    return tree


def planted(new: str) -> Mistake:
    tests = ("tests/test_it.py::test_it", "tests/test_it.py::test_other")
    return Mistake("trap", "src/wordveil/__init__.py", {"= True": new}, tests, "environment")


def test_what_is_noticed_and_what_survives(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    noticed = plant(planted("= False"), tree, tree.parent)
    assert noticed.reasons == {"tests/test_it.py::test_it": "assert False"}
    assert noticed.survived == ["tests/test_it.py::test_other"]
    assert capsys.readouterr().out.startswith("SURVIVED trap")
    assert plant(planted("= 1"), tree, tree.parent).survived == [*planted("").tests]


def test_an_error_in_the_mistake_itself_kills_nothing(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tree / "tests" / "test_it.py").write_text(
        "from wordveil import IS_PRIVATE\n"
        "def test_it():\n    assert IS_PRIVATE + 1\n"
        "def test_other():\n    assert IS_PRIVATE\n"
    )
    mistake = planted('= ""')
    verdict = plant(mistake, tree, tree.parent)
    assert (list(verdict.reasons), verdict.survived) == ([mistake.tests[1]], [mistake.tests[0]])
    assert "NOT NOTICED by tests/test_it.py::test_it: TypeError" in capsys.readouterr().out
    assert not plant(mistake._replace(reason="TypeError|AssertionError"), tree, tree.parent).survived


@pytest.mark.parametrize("broken", ["= (", "; raise ImportError"])
def test_a_file_that_can_not_be_imported_is_an_error_and_kills_nothing(broken: str, tree: Path) -> None:
    with pytest.raises(SystemExit, match="not what is imported"):
        plant(planted(broken), tree, tree.parent)


def test_a_test_that_does_not_exist_is_an_error(tree: Path) -> None:
    mistake = planted("= False")._replace(tests=("tests/test_it.py::test_none",))
    with pytest.raises(SystemExit, match="pytest could not run"):
        plant(mistake, tree, tree.parent)
