"""A class name means one thing in the whole project."""

import ast
from collections import defaultdict

from .test_sizes import FILES, ROOT

SOURCES = [path for path in FILES if path.is_relative_to(ROOT / "src")]


def test_no_class_name_is_defined_twice() -> None:
    places = defaultdict(list)
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")
    assert len(places) > 200
    assert not {name: where for name, where in places.items() if len(where) > 1}


def test_an_alias_has_no_second_meaning() -> None:
    """Files may repeat `Floats = NDArray[np.float64]`, but not use the name for anything else."""
    meanings = defaultdict(set)
    for path in SOURCES:
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            match node:
                case ast.ClassDef(name=name):
                    meanings[name].add("a class")
                case ast.Assign(targets=[ast.Name(id=name)]) if name[0].isupper() and not name.isupper():
                    meanings[name].add(ast.unparse(node.value))
    assert not {name: values for name, values in meanings.items() if len(values) > 1}
