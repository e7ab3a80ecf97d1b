"""Files by their format: CSV, TSV, JSON Lines, Parquet, plain text; each plain, gzipped or Zstandard."""

import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import BinaryIO, Final, Literal, cast, get_args

from wordveil.errors import ParameterError
from wordveil.policy import Policy
from wordveil.tables.base import Source, Table
from wordveil.tables.columns import checked_names
from wordveil.tables.compression import Compression, decompressed
from wordveil.tables.delimited import Delimited
from wordveil.tables.json_lines import JsonLines
from wordveil.tables.parquet import Parquet
from wordveil.tables.plain_text import PlainText

__all__ = ["PARQUET_IS_NO_PIPE", "Format", "Layout", "open_table", "recognised"]

Format = Literal["csv", "tsv", "jsonl", "parquet", "text"]

PARQUET_IS_NO_PIPE: Final = "Parquet can't go through a pipe. Hint: name the files."
_EXTENSIONS: Final[dict[str, Format]] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".txt": "text",
    ".text": "text",
}
_COMPRESSIONS: Final[dict[str, Compression]] = {".gz": "gz", ".zst": "zst"}


@dataclass(frozen=True, slots=True)
class Layout:
    """How a table is laid out in its file.

    Parameters
    ----------
    format : {"csv", "tsv", "jsonl", "parquet", "text"}, optional
        By default what the file's extension says.
    delimiter : str, optional
        Between the fields of CSV and TSV; by default a comma and a tab.
    header : bool
        Whether the first row of CSV and TSV names the columns; if not, they are "1", "2" and so on.
    quotes : bool
        Whether quotes in CSV and TSV hold fields together, or are letters like any other.

    Examples
    --------
    >>> Layout("tsv", header=False).format
    'tsv'
    """

    format: Format | None = None
    delimiter: str | None = None
    header: bool = True
    quotes: bool = True

    def __post_init__(self) -> None:
        if self.format is not None and self.format not in get_args(Format):
            raise ParameterError(f"The format of a table must be one of {', '.join(get_args(Format))}.")
        mark = self.delimiter
        if mark is not None and (
            not isinstance(mark, str) or len(mark) != 1 or mark in '"\r\n\0' or "\ud800" <= mark <= "\udfff"
        ):
            raise ParameterError("The delimiter must be one character, and no quote, NUL or line end.")


def recognised(path: PurePath, layout: Layout, other: Format | None = None) -> tuple[Layout, Compression]:
    """Return the layout with its format, and the compression, that the name of a file tells.

    A name that tells nothing is refused, unless there is an `other` format to take it for.
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compression = _COMPRESSIONS.get(suffixes[-1] if suffixes else "", "")
    if compression:
        suffixes.pop()
    kind = layout.format or _EXTENSIONS.get(suffixes[-1] if suffixes else "", other)
    if kind is None:
        raise ParameterError(
            f"{path}: the name does not tell the format. Hint: --format (Layout(format=…)) does: "
            f"{', '.join(get_args(Format))}."
        )
    return replace(layout, format=kind), compression


def open_table(
    file: BinaryIO,
    name: str,
    layout: Layout,
    text: str | Iterable[str] = (),
    keep: str | Iterable[str] = (),
    *,
    compression: Compression = "",
    size: int = 0,
    unbuffered: bool = False,
    policy: Policy = Policy(),
) -> Table:
    """Return the table in an open file, with the columns that are asked for.

    Parameters
    ----------
    file : BinaryIO
        The file; it stays the caller's to close.
    name : str
        What errors call it.
    layout : Layout
        With its format.
    text, keep : names of columns
        Those to perturb, and those to write as they are. All others are left out.
    compression : {"", "gz", "zst"}
        What the file is packed with.
    size : int
        Its size in bytes, if it is known, for progress.
    unbuffered : bool
        Hand rows on as they come.
    policy : Policy
        What will happen around the words; padding makes answers long, and gives missing texts some.
    """
    chosen, kept = checked_names(text, keep)
    if layout.format == "text":
        if chosen or kept:
            raise ParameterError(f"{name}: plain text has no columns to choose from. Hint: leave them out.")
    elif not chosen:
        raise ParameterError(f"{name}: which column is to be perturbed? Hint: --text COLUMN (text=…).")
    source = Source(decompressed(file, compression, name), name, file, size, unbuffered, policy)
    match layout.format:
        case "csv" | "tsv":
            delimiter = layout.delimiter or ("," if layout.format == "csv" else "\t")
            rule = {"delimiter": delimiter, "header": layout.header, "quotes": layout.quotes}
            return Delimited(source, chosen, kept, **rule)  # type: ignore[arg-type]  # three of three types
        case "jsonl":
            return JsonLines(source, chosen, kept)
        case "parquet":
            seekable = _seekable(source, compression)
            try:
                return Parquet(seekable, chosen, kept)
            except BaseException:
                if seekable.file is not file:
                    seekable.file.close()
                raise
        case "text":
            return PlainText(source)
        case _:
            raise ParameterError("The layout of a table must have a format.")


def _seekable(source: Source, compression: Compression) -> Source:
    """Return a source that can be read in any order, as Parquet must be."""
    if source.unbuffered:
        raise ParameterError(PARQUET_IS_NO_PIPE)
    if not compression:
        return source
    # Unlinked from the beginning and for this user alone: what was unpacked can be found by nobody.
    unpacked = cast(BinaryIO, tempfile.TemporaryFile())  # noqa: SIM115  # lives as long as the table
    try:
        shutil.copyfileobj(source.file, unpacked, 1 << 20)
    except BaseException:
        unpacked.close()
        raise
    unpacked.seek(0)
    return replace(source, file=unpacked)
