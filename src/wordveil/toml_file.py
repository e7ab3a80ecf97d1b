"""Reads TOML files of settings; errors never show what is in the file, which may be the wrong one."""

import re
import tomllib
from pathlib import Path
from typing import Any

from wordveil.errors import FormatError

__all__ = ["read_toml"]


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise FormatError(f"{path}: is not valid UTF-8.") from None
    except tomllib.TOMLDecodeError as error:
        position = re.search(r"at (line \d+, column \d+|end of document)", str(error))
        where = f" ({position[0]})" if position else ""
        raise FormatError(f"{path}: is not valid TOML{where}.") from None
    except (ValueError, RecursionError):  # a number with too many digits, or nested too deeply
        raise FormatError(f"{path}: is not valid TOML.") from None
