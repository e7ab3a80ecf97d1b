"""The table formats that wordveil can read and write, and what each of them can do.

A format is one file in this folder that calls `register_format`; `tables/__init__.py` imports it. Everything
else asks the registry: no other code compares the name of a format.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from wordveil.errors import ParameterError
from wordveil.tables.base import Source, Table
from wordveil.tables.compression import COMPRESSIONS

if TYPE_CHECKING:
    from wordveil.tables.layout import Layout

__all__ = [
    "Format",
    "find_format",
    "format_names",
    "format_of_extension",
    "register_format",
    "registered_formats",
    "unregister_format",
]


@dataclass(frozen=True, slots=True)
class Format:
    """One table format: its names, how to open it, and what it can do.

    Parameters
    ----------
    name : str
        What `Layout(format=…)` and `--format` call it.
    title : str
        What error messages call it.
    extensions : tuple of str
        The file extensions that imply it: lower case, each with its dot.
    open : callable
        `open(source, layout, text, keep)` returns the `Table` with those columns perturbed and kept. It must
        raise a FormatError for an empty file and for a column that is not there.
    seekable : bool
        Whether it needs random access to its file. A compressed file is then unpacked to a temporary one.
    streams : bool
        Whether it can go through a pipe: rows are read as they arrive, and written without knowing the rest.
    has_columns : bool
        Whether it has columns to choose from. If not, `text` and `keep` are empty lists.
    delimiter : str, optional
        What separates its fields unless the layout says otherwise; None if it has no delimiter.
    """

    name: str
    title: str
    extensions: tuple[str, ...]
    open: Callable[[Source, "Layout", list[str], list[str]], Table]
    seekable: bool = False
    streams: bool = True
    has_columns: bool = True
    delimiter: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name.isidentifier() or not callable(self.open):
            raise ParameterError(
                "A format must have a name of letters, digits and _, and a function to open it."
            )
        for extension in self.extensions:
            if not extension.startswith(".") or "." in extension[1:] or extension != extension.lower():
                raise ParameterError(
                    f"The extensions of the format '{self.name}' must be lower case, with one dot in front."
                )
        if self.seekable and self.streams:
            raise ParameterError(f"The format '{self.name}' can't be both seekable and streams.")

    def check_streams(self) -> None:
        """Refuse a pipe, unless this format can go through one."""
        if not self.streams:
            raise ParameterError(f"{self.title} can't go through a pipe. Hint: name the files.")


_FORMATS: Final[dict[str, Format]] = {}


def register_format(format: Format) -> Format:
    """Add a format and return it; its name and its extensions must not be taken.

    Examples
    --------
    >>> from wordveil.tables import Format, Layout, register_format, unregister_format
    >>> from wordveil.tables.delimited import open_delimited
    >>> ssv = Format("ssv", "SSV", (".ssv",), open_delimited, delimiter=";")
    >>> register_format(ssv).streams, Layout("ssv").format
    (True, 'ssv')
    >>> unregister_format("ssv")
    """
    if format.name in _FORMATS:
        raise ParameterError(f"The format '{format.name}' is already registered.")
    taken = {*COMPRESSIONS}.union(*(other.extensions for other in _FORMATS.values()))
    for extension in format.extensions:
        if extension in taken:
            raise ParameterError(f"The extension '{extension}' is already registered.")
    _FORMATS[format.name] = format
    return format


def unregister_format(name: str) -> None:
    """Remove a format."""
    find_format(name)
    del _FORMATS[name]


def registered_formats() -> tuple[Format, ...]:
    """Return all formats, in the order in which they were registered."""
    return tuple(_FORMATS.values())


def format_names() -> tuple[str, ...]:
    """Return the names of all formats, in the order in which they were registered."""
    return tuple(_FORMATS)


def find_format(name: str) -> Format:
    """Return the format of that name; a ParameterError if there is none."""
    if not isinstance(name, str) or name not in _FORMATS:
        raise ParameterError(f"The format of a table must be one of {', '.join(_FORMATS)}.")
    return _FORMATS[name]


def format_of_extension(extension: str) -> Format | None:
    """Return the format that a file extension implies, such as '.csv'; None if it implies none."""
    return next((known for known in _FORMATS.values() if extension in known.extensions), None)
