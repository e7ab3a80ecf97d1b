"""Without its library, an integration says which extra to install; importing wordveil imports none."""

import subprocess
import sys

import pytest

import wordveil as wv

LIBRARIES = {
    "datasets": "datasets",
    "duckdb": "duckdb",
    "polars": "polars",
    "presidio": "presidio_anonymizer",
    "sklearn": "sklearn",
    "spacy": "spacy",
}


def test_all_integrations_are_listed() -> None:
    assert {*LIBRARIES} == {*wv._INTEGRATIONS}


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_missing_library_is_named_with_its_extra(name: str) -> None:
    package = LIBRARIES[name]
    script = f"""
import sys
import wordveil as wv
assert {package!r} not in sys.modules
sys.modules[{package!r}] = None
try:
    wv.{name}
except wv.MissingExtraError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.startswith(done.stdout.split("needs")[0] + f"needs {package}, which is not installed.")
    assert done.stdout.endswith(f"Hint: pip install 'wordveil[{name}]'.\n")
    assert done.stderr == ""


def test_everything_can_be_imported_without_the_libraries() -> None:
    blocked = "".join(f"sys.modules[{package!r}] = None; " for package in LIBRARIES.values())
    script = f"import sys; {blocked}from wordveil import *; import wordveil; dir(wordveil)"
    subprocess.run([sys.executable, "-c", script], check=True)
