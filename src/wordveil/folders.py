"""Paths that a person gave, and the user's folders, which machines without a home lack."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Final, Literal

from platformdirs import user_cache_path, user_data_path, user_state_path

from wordveil.errors import MachineError, ParameterError, parameter_error

__all__ = ["checked_path", "user_folder"]

_PATHS: Final[dict[str, Callable[..., Path]]] = {
    "cache": user_cache_path,
    "data": user_data_path,
    "state": user_state_path,
}


def user_folder(kind: Literal["cache", "data", "state"], purpose: str) -> Path:
    """Return the user's folder of that kind, which need not exist, for `purpose`.

    A user without a home, as in many containers, gets a MachineError that names the variable to set.
    """
    try:
        path = _PATHS[kind]("wordveil", appauthor=False)
    except (RuntimeError, KeyError, OSError):  # there is no home to be found, by no way
        path = Path("~")
    if not path.is_absolute():  # what is left of a ~ that stands for nothing
        name = f"XDG_{kind.upper()}_HOME"
        hint = f"set {name} to a folder" if os.name == "posix" else "set a home folder"
        raise MachineError(f"There is no home folder to keep {purpose} in. Hint: {hint}.")
    return path


def checked_path(path: str | os.PathLike[str], name: str, owner: str) -> Path:
    """Return what somebody called a path as one, or raise ParameterError.

    Examples
    --------
    >>> checked_path("in.csv", "source", "perturb_file").name
    'in.csv'
    """
    if not isinstance(path, str | os.PathLike):
        raise parameter_error(name, owner, "be a path, as str or Path", path)
    plain = os.fspath(path)
    if not isinstance(plain, str):
        raise parameter_error(name, owner, "be a path, as str or Path", plain)
    if "\0" in plain:
        raise ParameterError(f"The '{name}' parameter of {owner} must not hold a NUL character.")
    return Path(plain)
