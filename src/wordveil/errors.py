"""The errors of wordveil. Each message is one line: what is wrong, where, and what to do."""

import math
import re
import sys
from collections.abc import Callable
from functools import wraps
from typing import Final, ParamSpec, Self, SupportsFloat, SupportsIndex, TypeVar

__all__ = [
    "FormatError",
    "IntegrityError",
    "MachineError",
    "MissingExtraError",
    "ParameterError",
    "PrivacyWarning",
    "UnknownNameError",
    "WordveilError",
    "caller_level",
    "check_real",
    "check_whole",
    "named_type",
    "parameter_error",
    "sealed",
]

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")

# Names that begin with the sound of a vowel: also letters that are read one by one, as in ndarray and SVC.
_TAKES_AN: Final = re.compile(r"[AEIaei]|[Oo](?!ne)|nd|[FHLMNRSX](?=[A-Z])")


class WordveilError(Exception):
    """Base class of all errors. The message is one line and contains no private text."""


class ParameterError(WordveilError, ValueError):
    """A parameter has a value that the function does not accept.

    Attributes
    ----------
    parameter : str
        The name of the parameter; empty if the error is not about a single parameter.
    complaint : str
        What the value must be and what it is, for callers that know the parameter by another name.
    """

    parameter: str = ""
    complaint: str = ""


class FormatError(WordveilError, ValueError):
    """A file is damaged, or not in the format that it should be in."""


class IntegrityError(FormatError):
    """Stored content does not match its fingerprint."""


class UnknownNameError(WordveilError, KeyError):
    """A name or a word is not known."""

    # KeyError shows the repr of its argument, which would put the message in quotes.
    __str__ = Exception.__str__


class MachineError(WordveilError):
    """The machine lacks something, such as a writeable folder, a program or an extra."""


class MissingExtraError(MachineError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        self._arguments = (package, extra, purpose)
        super().__init__(
            f"{purpose} needs {package}, which is not installed. Hint: pip install 'wordveil[{extra}]'."
        )

    def __reduce__(self) -> tuple[type[Self], tuple[str, str, str]]:
        return type(self), self._arguments


class PrivacyWarning(UserWarning):
    """A choice weakens or voids the guarantee; the message says how."""


def named_type(value: object) -> str:
    """Return the name of the type of a value with its article, and nothing of the value itself.

    Examples
    --------
    >>> [named_type(value) for value in (7, "my secret", None, OSError())]
    ['an int', 'a str', 'a NoneType', 'an OSError']
    """
    name = type(value).__name__
    return f"{'an' if _TAKES_AN.match(name) else 'a'} {name}"


def parameter_error(name: str, owner: str, must: str, got: object) -> ParameterError:
    """Return the error for a bad parameter, in the same sentence everywhere.

    Numbers are shown. Of anything else only the type is shown, since it may be private text.

    Examples
    --------
    >>> print(parameter_error("lam", "Mahalanobis", "be in [0, 1]", 1.5))
    The 'lam' parameter of Mahalanobis must be in [0, 1]. Got 1.5 instead.
    """
    shown = repr(got) if isinstance(got, bool | int | float) else named_type(got)
    complaint = f"must {must}. Got {shown} instead."
    error = ParameterError(f"The '{name}' parameter of {owner} {complaint}")
    error.parameter, error.complaint = name, complaint
    return error


def sealed(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Wrap a function so that a WordveilError raised in it carries nothing of its input.

    `raise … from None` only hides the exception that was being handled: it is still the `__context__` of the
    new one, and a UnicodeDecodeError or a JSONDecodeError holds the text that it failed on. The same is true
    of the variables in the frames of a traceback, which crash reporters collect.
    """

    @wraps(function)
    def wrapper(*args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        try:
            return function(*args, **kwargs)
        except WordveilError as error:
            failure = error
        del args, kwargs
        failure.__context__ = failure.__cause__ = None
        raise failure.with_traceback(None)

    return wrapper


def caller_level() -> int:
    """Return the `stacklevel` of a warning that should point at the line which called wordveil."""
    level, frame = 1, sys._getframe(1)  # as the warnings module itself does
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        level, frame = level + 1, frame.f_back
    return level


def _is_ours(module: str) -> bool:
    return module == "wordveil" or module.startswith("wordveil.")


def check_real(
    value: SupportsFloat | SupportsIndex, name: str, owner: str, must: str, low: float, high: float
) -> float:
    """Return `value` as a float if it is finite and in [low, high], else raise ParameterError."""
    number = math.nan
    is_bool = type(value).__name__ in ("bool", "bool_")  # NumPy has its own bool
    if not (is_bool or isinstance(value, str | bytes)):
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
    if not (math.isfinite(number) and low <= number <= high):
        raise parameter_error(name, owner, must, value)
    return number


def check_whole(value: SupportsIndex, name: str, owner: str, low: int, high: int | None = None) -> int:
    """Return `value` as an int if it is a whole number in [low, high], else raise ParameterError."""
    if high is not None:
        must = f"be a whole number from {low} to {high}"
    else:
        must = f"be a whole number of at least {low}"
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise parameter_error(name, owner, must, value)
    number = int(value)
    if number < low or (high is not None and number > high):
        raise parameter_error(name, owner, must, number)
    return number
