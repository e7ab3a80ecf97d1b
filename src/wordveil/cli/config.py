"""Settings from a TOML file: `--config FILE`. The command line takes precedence over it."""

import difflib
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from wordveil.cli.lazy import load_command
from wordveil.errors import FormatError, ParameterError, UnknownNameError
from wordveil.toml_file import read_toml

__all__ = ["Config", "is_from_file", "is_written", "options_from_file", "refused_setting"]

_NOT_SETTINGS: Final = ("source", "target", "config", "manifest", "option", "help")
_TABLE: Final = "wordveil.mechanism"  # where a context keeps the mechanism of the file and its options


def _load(context: typer.Context, path: Path | None) -> Path | None:
    """Make the settings of a file the defaults of the command.

    Settings of `perturb` that another command does not have are skipped, so one file can serve both.
    """
    if path is None:
        return None
    settings = read_toml(path)
    own = {str(option.name): option for option in context.command.params}
    accepted = {str(option.name) for option in load_command("perturb").params} | set(own)
    accepted.difference_update(_NOT_SETTINGS)
    defaults: dict[str, Any] = {}
    # It may be the wrong file, so no name or value of it is ever shown.
    for number, (key, value) in enumerate(settings.items(), 1):
        name = key.replace("-", "_")
        if name not in accepted:
            close = difflib.get_close_matches(name, accepted, n=1)
            hint = f"did you mean '{_dashed(close[0])}'?" if close else "only [mechanism] can be a table."
            raise FormatError(f"{path}: setting {number} has an unknown name. Hint: {hint}")
        if name == "mechanism":
            mechanism, options = _mechanism(value, path)
            if "lam" in settings and "lam" in options:
                raise FormatError(f"{path}: 'lam' is set twice. Hint: keep the one in [mechanism].")
            context.meta[_TABLE] = mechanism, options
            defaults[name] = mechanism
        elif name in own:
            defaults[name] = _checked(value, own[name], f"{path}: '{_dashed(name)}'")
    context.default_map = defaults
    return path


def _mechanism(setting: Any, path: Path) -> tuple[str, dict[str, Any]]:
    """Return the name and the options of `mechanism = "NAME"` or of a table `[mechanism]`."""
    from wordveil.mechanisms import mechanism_class

    table = dict(setting) if isinstance(setting, dict) else {"name": setting}
    name = table.pop("name", None)
    if not isinstance(name, str):
        raise FormatError(f"{path}: 'mechanism' must be a name, or a table with a name.")
    try:
        mechanism = mechanism_class(name)
    except UnknownNameError as error:
        raise FormatError(f"{path}: {error}") from None
    options = {option.name: option for option in mechanism.options}
    values = {}
    for number, (key, value) in enumerate(table.items(), 1):
        if key not in options:
            close = difflib.get_close_matches(key, options, n=1)
            hint = f"did you mean '{close[0]}'?" if close else f"'wordveil mechanisms {name}' lists them."
            raise FormatError(f"{path}: option {number} of [mechanism] has an unknown name. Hint: {hint}")
        try:
            values[key] = options[key].check(value, name)
        except ParameterError:  # whose text shows the value
            raise FormatError(f"{path}: '{key}' of [mechanism] must {options[key].must}.") from None
    return name, values


def options_from_file(context: typer.Context, mechanism: str) -> dict[str, Any]:
    """Return the options of [mechanism], if that table is about this mechanism."""
    name, options = context.meta.get(_TABLE, ("", {}))
    return dict(options) if name == mechanism else {}


def is_from_file(context: typer.Context, option: str) -> bool:
    """Say whether the value of an option comes from the settings file."""
    source = context.get_parameter_source(option)
    return source is not None and source.name == "DEFAULT_MAP"


def is_written(context: typer.Context, option: str) -> bool:
    """Say whether an option is on the command line."""
    source = context.get_parameter_source(option)
    return source is not None and source.name not in ("DEFAULT", "DEFAULT_MAP")


def refused_setting(error: Exception) -> str:
    """Return which setting of a file a usage error is about; empty if it is about the command line.

    Typer's own message would show the value.
    """
    context, option = getattr(error, "ctx", None), getattr(error, "param", None)
    if context is None or option is None or not is_from_file(context, option.name):
        return ""
    return f"{context.params['config']}: '{_dashed(option.name)}' has an invalid value."


def _dashed(option: str) -> str:
    return option.replace("_", "-")


def _checked(value: Any, option: Any, where: str) -> Any:
    """Return a value in the form that the command line would give it; Typer then checks it."""
    if option.multiple:
        values = [value] if isinstance(value, str) else value
        if not (isinstance(values, list) and all(isinstance(text, str) for text in values)):
            raise FormatError(f"{where} must be a string or a list of strings.")
        return values
    if option.is_flag:
        if not isinstance(value, bool):
            raise FormatError(f"{where} must be true or false.")
        return value
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise FormatError(f"{where} must be a number or a string.")
    return str(value)


Config = Annotated[
    Path | None,
    typer.Option(
        "--config",
        help="Take settings from this TOML file; those on the command line take precedence.",
        is_eager=True,
        callback=_load,
    ),
]
