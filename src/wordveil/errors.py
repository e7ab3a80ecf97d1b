"""What wordveil refuses, in one line each: what is wrong, where, and what to do."""

import math
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, Self, SupportsFloat, SupportsIndex, TypeVar

__all__ = [
    "FormatError",
    "IntegrityError",
    "MachineError",
    "MissingExtraError",
    "ParameterError",
    "PrivacyWarning",
    "UnknownNameError",
    "WordveilError",
    "check_real",
    "check_whole",
    "parameter_error",
    "sealed",
]

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class WordveilError(Exception):
    """Anything that wordveil refuses to do. Its text is one line and holds no private text."""


class ParameterError(WordveilError, ValueError):
    """A parameter is outside of what the function promises to handle.

    Attributes
    ----------
    parameter : str
        The name of the parameter, empty if the error is about several or about something else.
    complaint : str
        What it must be and what it is, for those who call the parameter by another name.
    """

    parameter: str = ""
    complaint: str = ""


class FormatError(WordveilError, ValueError):
    """A file is not what it says it is, or is damaged."""


class IntegrityError(FormatError):
    """Stored content is not what its fingerprint says."""


class UnknownNameError(WordveilError, KeyError):
    """A look-up found nothing."""

    # KeyError shows the repr of its argument, which would put the sentence in quotes.
    __str__ = Exception.__str__


class MachineError(WordveilError):
    """The machine lacks something: a folder that can be written to, a program, an extra."""


class MissingExtraError(MachineError, ImportError):
    """An optional dependency is not installed."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        self._given = (package, extra, purpose)
        super().__init__(
            f"{purpose} needs {package}, which is not installed. Hint: pip install 'wordveil[{extra}]'."
        )

    def __reduce__(self) -> tuple[type[Self], tuple[str, str, str]]:
        return type(self), self._given


class PrivacyWarning(UserWarning):
    """What was asked for weakens or voids the guarantee; the text says how."""


def parameter_error(name: str, owner: str, must: str, got: object) -> ParameterError:
    """Return the one sentence for every bad parameter.

    Numbers are shown; anything else only by its type, since it may be private text.

    Examples
    --------
    >>> print(parameter_error("lam", "Mahalanobis", "be in [0, 1]", 1.5))
    The 'lam' parameter of Mahalanobis must be in [0, 1]. Got 1.5 instead.
    """
    shown = repr(got) if isinstance(got, bool | int | float) else f"a {type(got).__name__}"
    complaint = f"must {must}. Got {shown} instead."
    error = ParameterError(f"The '{name}' parameter of {owner} {complaint}")
    error.parameter, error.complaint = name, complaint
    return error


def sealed(function: Callable[_Arguments, _Result]) -> Callable[_Arguments, _Result]:
    """Return a function whose errors of ours carry nothing of its input.

    `raise … from None` only hides the exception that was being handled; it still hangs on the new one as
    `__context__`, and a UnicodeDecodeError or a JSONDecodeError holds the text that it failed on. So do the
    variables in the frames of a traceback, which crash reporters collect.
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


def check_real(
    value: SupportsFloat | SupportsIndex, name: str, owner: str, must: str, low: float, high: float
) -> float:
    """Return `value` as a float if it is finite and in [low, high], else raise ParameterError."""
    number = math.nan
    is_bool = type(value).__name__ in ("bool", "bool_")  # NumPy has a bool of its own
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
