"""Settings from a TOML file: `--config FILE`. The command line takes precedence over it."""

import difflib
import re
import tomllib
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from wordveil.errors import FormatError

__all__ = ["Config", "refused_setting"]

_NOT_SETTINGS: Final = ("source", "target", "config")


def _load(context: typer.Context, path: Path | None) -> Path | None:
    """Make the settings of a file the defaults of the command."""
    if path is None:
        return None
    settings = _read(path)
    known = {str(each.name): each for each in context.command.params if each.name not in _NOT_SETTINGS}
    defaults: dict[str, Any] = {}
    # Whatever file it is, its names and values are not shown: it may be the wrong one.
    for number, (name, value) in enumerate(settings.items(), 1):
        option = name.replace("-", "_")
        if option not in known:
            close = difflib.get_close_matches(option, known, n=1)
            meant = f"did you mean '{_dashed(close[0])}'?" if close else "they stand at the top level."
            raise FormatError(f"{path}: there is no such setting as its setting {number}. Hint: {meant}")
        defaults[option] = _checked(value, known[option], f"{path}: '{_dashed(option)}'")
    context.default_map = defaults
    return path


def refused_setting(error: Exception) -> str:
    """Return which setting of a file a usage error is about; empty if it is about the command line.

    Typer's own text shows the value.
    """
    context, option = getattr(error, "ctx", None), getattr(error, "param", None)
    if context is None or option is None:
        return ""
    origin = context.get_parameter_source(option.name)
    if origin is None or origin.name != "DEFAULT_MAP":
        return ""
    return f"{context.params['config']}: '{_dashed(option.name)}' has a value that it can't have."


def _read(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise FormatError(f"{path}: is not valid UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"at (line \d+, column \d+|end of document)", str(error))
        where = f" ({place[0]})" if place else ""
        raise FormatError(f"{path}: is not valid TOML{where}.") from None
    except (ValueError, RecursionError):  # a number of too many digits, or nested too deeply
        raise FormatError(f"{path}: is not valid TOML.") from None


def _dashed(option: str) -> str:
    return option.replace("_", "-")


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
