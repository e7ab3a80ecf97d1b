"""Paths that users pass in, names of files for messages, and the user's own folders."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

from platformdirs import user_cache_path, user_data_path, user_state_path

from wordveil.errors import MachineError, ParameterError, parameter_error

__all__ = ["checked_path", "printable_name", "user_folder"]

_PATHS: Final[dict[str, Callable[..., Path]]] = {
    "cache": user_cache_path,
    "data": user_data_path,
    "state": user_state_path,
}


def user_folder(kind: Literal["cache", "data", "state"], purpose: str) -> Path:
    """Return the user's folder of that kind, which may not exist yet; `purpose` is for the error message.

    A user without a home folder, as in many containers, gets a MachineError that names the variable to set.
    """
    try:
        path = _PATHS[kind]("wordveil", appauthor=False)
    except (RuntimeError, KeyError, OSError):  # no home folder could be found in any way
        path = Path("~")
    if not path.is_absolute():  # a ~ that could not be expanded
        name = f"XDG_{kind.upper()}_HOME"
        hint = f"set {name} to a folder" if os.name == "posix" else "set a home folder"
        raise MachineError(f"There is no home folder to keep {purpose} in. Hint: {hint}.")
    return path


def checked_path(path: str | os.PathLike[str], name: str, owner: str) -> Path:
    """Return `path` as a Path, or raise ParameterError if it can't be one.

    Examples
    --------
    >>> checked_path("in.csv", "source", "perturb_file").name
    'in.csv'
    """
    if not isinstance(path, str | os.PathLike):
        raise parameter_error(name, owner, "be a path, as str or Path", path)
    text = os.fspath(path)
    if not isinstance(text, str):
        raise parameter_error(name, owner, "be a path, as str or Path", text)
    if "\0" in text:
        raise ParameterError(f"The '{name}' parameter of {owner} must not hold a NUL character.")
    return Path(text)


def printable_name(name: str) -> str:
    r"""Return the name of a file for messages: on one line, with unprintable characters replaced.

    Examples
    --------
    >>> printable_name("two\nlines.txt")
    'two?lines.txt'
    """
    return "".join(character if character.isprintable() else "?" for character in name)
