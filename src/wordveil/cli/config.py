"""Settings from a TOML file: `--config veil.toml`. What is also on the command line is taken from there."""

import difflib
import tomllib
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from wordveil.errors import FormatError

__all__ = ["Config"]

_NOT_SETTINGS: Final = ("source", "target", "config")


def _load(context: typer.Context, path: Path | None) -> Path | None:
    """Make the settings of a file the defaults of the command."""
    if path is None:
        return None
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise FormatError(f"{path}: is not valid UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        raise FormatError(f"{path}: is not valid TOML: {error}.") from None
    known = {str(each.name): each for each in context.command.params if each.name not in _NOT_SETTINGS}
    defaults: dict[str, Any] = {}
    for name, value in given.items():
        option = name.replace("-", "_")
        if option not in known:
            close = difflib.get_close_matches(option, known, n=1)
            meant = (
                f"did you mean '{close[0].replace('_', '-')}'?" if close else "they stand at the top level."
            )
            raise FormatError(f"{path}: there is no setting '{name}'. Hint: {meant}")
        defaults[option] = _checked(value, known[option], f"{path}: '{name}'")
    context.default_map = defaults
    return path


def _checked(value: Any, option: Any, where: str) -> Any:
    """Return a value as the command line would give it, so that what it must be is checked there."""
    if option.multiple:
        values = [value] if isinstance(value, str) else value
        if not (isinstance(values, list) and all(isinstance(each, str) for each in values)):
            raise FormatError(f"{where} must be a text or a list of texts.")
        return values
    if option.is_flag:
        if not isinstance(value, bool):
            raise FormatError(f"{where} must be true or false.")
        return value
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise FormatError(f"{where} must be a number or a text.")
    return str(value)


Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        help="Take settings from this TOML file; those on the command line come first.",
        is_eager=True,
        callback=_load,
    ),
]
