"""The options of a mechanism: name, type, range and help."""

import math
from dataclasses import dataclass
from typing import Any, Final

from wordveil.errors import ParameterError, check_real, parameter_error

__all__ = ["REQUIRED", "Option", "fraction_option"]


class _Required:
    def __repr__(self) -> str:
        return "required"


REQUIRED: Final = _Required()

_BOOLEANS: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a mechanism.

    Parameters
    ----------
    name : str
        The keyword argument of the class, and NAME in `--option NAME=VALUE`.
    type : type
        float, int, bool or str.
    help : str
        What it does, in one sentence.
    default : optional
        Without a default, the option is required.
    low, high : number, optional
        The range, including both ends.
    choices : tuple of str
        The allowed values of a str.
    needed : bool
        Whether the mechanism can't be made unless this unsafe option is True.

    Examples
    --------
    >>> lam = Option("lam", float, "how far the noise follows the vectors", default=1.0, low=0.0, high=1.0)
    >>> lam.parse("0.5", "Mahalanobis"), lam.range
    (0.5, '0 to 1')
    """

    name: str
    type: type[float] | type[int] | type[bool] | type[str]
    help: str
    default: Any = REQUIRED
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    needed: bool = False

    def __post_init__(self) -> None:
        is_number = self.type in (float, int)
        bounds = [bound for bound in (self.low, self.high) if bound is not None]
        if not isinstance(self.name, str) or not self.name.isidentifier():
            raise self._invalid("have the name of a keyword argument")
        if self.type not in (float, int, bool, str):
            raise self._invalid("have the type float, int, bool or str")
        if bounds and (not is_number or not all(type(bound) in (float, int) for bound in bounds)):
            raise self._invalid("have numbers as its range, and be a number")
        if not all(map(math.isfinite, bounds)) or bounds != sorted(bounds):
            raise self._invalid("have a finite range, from low to high")
        if not isinstance(self.choices, tuple) or (self.choices and self.type is not str):
            raise self._invalid("have a tuple of choices only if its type is str")
        if self.default is not REQUIRED and self.default is not None:
            self.check(self.default, "Option")

    def _invalid(self, must: str) -> ParameterError:
        return ParameterError(f"The option '{self.name}' of a mechanism must {must}.")

    @property
    def range(self) -> str:
        """The allowed values in readable form; empty if every value of the type is allowed."""
        if self.choices:
            return ", ".join(self.choices)
        if self.type is bool:
            return "true, false"
        if self.low is not None and self.high is not None:
            return f"{self.low:g} to {self.high:g}"
        if self.low is not None:
            return f"{self.low:g} or more"
        return f"{self.high:g} or less" if self.high is not None else ""

    def parse(self, text: str, owner: str) -> Any:
        """Return the value of an option from the command line."""
        try:
            value = _BOOLEANS[text.lower()] if self.type is bool else self.type(text)
        except (KeyError, ValueError):
            raise self._error(text, owner) from None
        return self.check(value, owner)

    def check(self, value: object, owner: str) -> Any:
        """Return the value if it has the right type and is in the range."""
        if self.type is bool or self.type is str:
            if type(value) is not self.type or (self.choices and value not in self.choices):
                raise self._error(value, owner)
            return value
        low = -math.inf if self.low is None else self.low
        high = math.inf if self.high is None else self.high
        if self.type is float:
            return check_real(value, self.name, owner, self.must, low, high)  # type: ignore[arg-type]  # it checks
        if type(value) is not int or not low <= value <= high:
            raise self._error(value, owner)
        return value

    @property
    def must(self) -> str:
        """The part of an error message after "must"."""
        if self.type is bool:
            return "be true or false"
        if self.choices:
            return f"be one of {', '.join(self.choices)}"
        kind = {float: "number", int: "whole number", str: "text"}[self.type]
        if self.low is not None and self.high is not None and self.type is float:
            return f"be in [{self.low:g}, {self.high:g}]"
        return f"be a {kind}{f' ({self.range})' if self.range else ''}"

    def _error(self, value: object, owner: str) -> ParameterError:
        if self.choices and isinstance(value, str):  # its type, which the message would end with, is right
            error = ParameterError(f"The '{self.name}' parameter of {owner} must {self.must}.")
            error.parameter, error.complaint = self.name, f"must {self.must}."
            return error
        return parameter_error(self.name, owner, self.must, value)


def fraction_option(name: str, help: str, default: float) -> Option:
    """Return an option with a value in [0, 1]."""
    return Option(name, float, help, default=default, low=0.0, high=1.0)
