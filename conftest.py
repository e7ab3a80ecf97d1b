"""Tests of the integrations run where their libraries are installed: make test-integrations."""

from importlib.util import find_spec
from pathlib import Path

_TESTS = Path(__file__).parent / "tests" / "integrations"
_LITELLM = {*_TESTS.glob("test_litellm*.py")}  # in an environment of its own

collect_ignore = [] if find_spec("litellm") else [*map(str, _LITELLM)]
if not find_spec("presidio_analyzer"):
    collect_ignore += [str(path) for path in _TESTS.glob("test_*.py") if path not in _LITELLM]
    collect_ignore.append("src/wordveil/integrations")
