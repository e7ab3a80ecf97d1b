"""Options that several commands share, as dataclasses."""

import inspect
from collections.abc import Callable
from copy import copy
from dataclasses import is_dataclass
from functools import wraps
from typing import Annotated, Any, TypeVar, cast, get_args, get_origin

__all__ = ["with_option_sets"]

_Result = TypeVar("_Result")


def with_option_sets(command: Callable[..., _Result]) -> Callable[..., _Result]:
    """Replace each parameter whose type is a dataclass by the fields of that class, in its place.

    Typer sees every field as an option of the command; the command gets an instance with their values. A bool
    is a flag without the form --no-….

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Point:
    ...     x: int = 0
    ...     y: int = 0
    >>> @with_option_sets
    ... def show(name: str, point: Point, *, size: int = 1) -> str:
    ...     return f"{name} at {point.x}, {point.y}, size {size}"
    >>> list(inspect.signature(show).parameters)
    ['name', 'x', 'y', 'size']
    >>> show(name="a", x=1, y=2, size=3)
    'a at 1, 2, size 3'
    """
    option_sets: dict[str, Callable[..., Any]] = {}
    options: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command, eval_str=True).parameters.items():
        if is_dataclass(parameter.annotation):
            option_sets[name] = cast(type, parameter.annotation)
            options += map(_as_flag, inspect.signature(option_sets[name]).parameters.values())
        else:
            options.append(parameter)

    @wraps(command)
    def collecting(**values: Any) -> _Result:
        collected = {
            name: option_set(
                **{option: values.pop(option) for option in inspect.signature(option_set).parameters}
            )
            for name, option_set in option_sets.items()
        }
        return command(**values, **collected)

    # Typer reads both of these.
    keywords = [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in options]
    collecting.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]  # functions may have it
    collecting.__annotations__ = {option.name: option.annotation for option in options}
    return collecting


def _as_flag(option: inspect.Parameter) -> inspect.Parameter:
    """Name the option of a bool: otherwise Typer would add its form --no-…."""
    if get_origin(option.annotation) is not Annotated:
        return option
    kind, info = get_args(option.annotation)
    if kind is not bool or info.default is not ...:  # it has a name, which Typer keeps there
        return option
    named = copy(info)
    named.param_decls = (f"--{option.name.replace('_', '-')}",)
    return option.replace(annotation=Annotated[bool, named])
