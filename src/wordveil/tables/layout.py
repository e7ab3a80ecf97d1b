"""How a table is laid out in its file: the format, and the options of delimited formats."""

from dataclasses import dataclass

from wordveil.errors import ParameterError
from wordveil.tables.registry import Format, find_format

__all__ = ["Layout"]


@dataclass(frozen=True, slots=True)
class Layout:
    """How a table is laid out in its file.

    Parameters
    ----------
    format : str, optional
        The name of a registered format: "csv", "tsv", "jsonl", "parquet" or "text". By default, the one that
        the file's extension implies.
    delimiter : str, optional
        What separates the fields of CSV and TSV; by default a comma and a tab.
    header : bool
        Whether the first row of CSV and TSV names the columns; if not, they are "1", "2" and so on.
    quotes : bool
        Whether quotes in CSV and TSV enclose fields, or are ordinary characters.

    Examples
    --------
    >>> Layout("tsv", header=False).format
    'tsv'
    """

    format: str | None = None
    delimiter: str | None = None
    header: bool = True
    quotes: bool = True

    def __post_init__(self) -> None:
        if self.format is not None:
            find_format(self.format)
        mark = self.delimiter
        if mark is not None and (
            not isinstance(mark, str) or len(mark) != 1 or mark in '"\r\n\0' or "\ud800" <= mark <= "\udfff"
        ):
            raise ParameterError("The delimiter must be one character, and no quote, NUL or line end.")

    def find_format(self) -> Format:
        """Return the format that the layout names; a ParameterError if it names none."""
        if self.format is None:
            raise ParameterError("The layout of a table must have a format.")
        return find_format(self.format)
