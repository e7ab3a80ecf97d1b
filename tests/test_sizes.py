"""A file is about one thing and a function fits on a screen."""

import ast
from pathlib import Path

ROOT = Path(__file__).parent.parent
FILES = [
    path
    for folder in ("src", "tests", "benchmarks", "examples", "packages")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if "build" not in path.parts
]
MOST_LINES = 350
MOST_LINES_OF_A_FUNCTION = 60


def body_lines(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Return the lines of a function after its signature and its docstring."""
    first = node.body[1] if ast.get_docstring(node) is not None and len(node.body) > 1 else node.body[0]
    assert node.end_lineno is not None
    return node.end_lineno - first.lineno + 1


def test_there_are_files() -> None:
    assert len(FILES) > 200


def test_no_file_is_long() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in FILES}
    assert not {str(path): count for path, count in lengths.items() if count > MOST_LINES}


def test_no_function_is_long() -> None:
    long = [
        f"{path}: {node.name}"
        for path in FILES
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and body_lines(node) > MOST_LINES_OF_A_FUNCTION
    ]
    assert not long
