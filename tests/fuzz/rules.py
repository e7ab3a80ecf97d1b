"""The rules for each example: success, or a one-line error of ours that reveals nothing of the input."""

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import pytest

import wordveil as wv
from wordveil.cli.main import main

__all__ = ["SECRET", "Rules", "check_silent"]

SECRET: Final = "Zanzibarvoyage"
_TRACES: Final = re.compile("zanzibar|voyage", re.IGNORECASE)  # a mutation may have cut it in two
_HARMLESS: Final = ("wordveil: warning: ", "note: ", "Someone who ")

_Result = TypeVar("_Result")


def check_silent(text: str) -> None:
    """Check that a text has no trace of the secret in it."""
    assert not _TRACES.search(text), text


def check_line(text: str) -> None:
    """Check that a message is one line, without the secret."""
    check_silent(text)
    assert len(text.splitlines()) == 1, text


class Rules:
    """Runs calls and commands, and checks all of their messages."""

    def __init__(
        self, capture: pytest.CaptureFixture[str], check_sealed: Callable[[BaseException, str], None]
    ) -> None:
        self._capture, self._check_sealed = capture, check_sealed

    def call(self, function: Callable[[], _Result]) -> _Result | wv.WordveilError:
        """Return what a function returns, or the error of ours that it raises; any other is a failure."""
        result: _Result | wv.WordveilError
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                result = function()
            except wv.WordveilError as error:
                result = error
                check_line(str(error))
                check_silent(repr(error))
                for part in ("anzibar", "oyage"):
                    self._check_sealed(error, part)
        for warning in caught:
            assert issubclass(warning.category, wv.PrivacyWarning), warning
            check_line(str(warning.message))
        for stream in self._capture.readouterr():
            check_silent(stream)
        return result

    def command(self, *arguments: str | Path) -> int:
        """Run the command line and return its exit code."""
        code = main([str(argument) for argument in arguments])
        errors = self._capture.readouterr().err
        check_silent(errors)
        assert code in (0, 1, 2)
        assert "Traceback" not in errors
        assert "unforeseen" not in errors
        failures = [line for line in errors.splitlines() if not line.startswith(_HARMLESS)]
        assert len(failures) == bool(code), errors
        return code
