"""The files of a report, each written completely or not at all."""

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from wordveil.atomic import atomic_write
from wordveil.errors import ParameterError
from wordveil.report.plots import figure_class

__all__ = ["check_folder", "json_lines", "write_bytes"]


def check_folder(folder: Path | None) -> None:
    """Raise an error before the work begins if its results could not be written afterwards.

    A folder that does not exist is created to see that, and removed again: work that is stopped leaves none.
    """
    if folder is None:
        return
    if folder.exists() and not folder.is_dir():
        raise ParameterError(f"{folder}: is not a folder. Hint: name another.")
    figure_class()
    # The folder itself is made when there is something to write: work that fails or is stopped leaves none.
    existing = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    if not existing.is_dir():
        raise ParameterError(f"{existing}: is not a folder. Hint: name another.")
    with tempfile.TemporaryFile(dir=existing):
        pass


def write_bytes(path: Path, data: bytes, *, private: bool = False) -> Path:
    """Write a file completely or not at all; only its owner can read a private one."""
    with atomic_write(path, force=True) as file:
        if private:
            Path(file.name).chmod(0o600)
        file.write(data)
    return path


def json_lines(data: Mapping[str, Any]) -> str:
    """Return JSON with a line for each row: small, and a changed number is one changed line.

    Examples
    --------
    >>> print(json_lines({"name": "glove", "rows": [{"ε": 1, "mean": 0.5}, {"ε": 5, "mean": 0.7}]}), end="")
    {
     "name": "glove",
     "rows": [
      {"ε": 1, "mean": 0.5},
      {"ε": 5, "mean": 0.7}
     ]
    }
    """
    entries = [
        f"{json.dumps(name, ensure_ascii=False)}: {_json_value(value)}" for name, value in data.items()
    ]
    return "{\n " + ",\n ".join(entries) + "\n}\n"


def _json_value(value: Any) -> str:
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return "[\n  " + ",\n  ".join(json.dumps(item, ensure_ascii=False) for item in value) + "\n ]"
    return json.dumps(value, ensure_ascii=False)
