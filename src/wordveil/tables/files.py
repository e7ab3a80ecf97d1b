"""Open a file as a table: find its format by its name, unpack it, and check the columns."""

import shutil
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from pathlib import PurePath
from typing import BinaryIO, cast

from wordveil.errors import ParameterError
from wordveil.policy import Policy
from wordveil.tables.base import Source, Table
from wordveil.tables.columns import checked_names
from wordveil.tables.compression import COMPRESSIONS, Compression, decompressed
from wordveil.tables.layout import Layout
from wordveil.tables.registry import format_names, format_of_extension

__all__ = ["open_table", "recognised"]


def recognised(path: PurePath, layout: Layout, other: str | None = None) -> tuple[Layout, Compression]:
    """Return the layout with its format, and the compression, from the name of a file.

    A name without a known extension is refused, unless there is an `other` format to assume.
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    compression = COMPRESSIONS.get(suffixes[-1] if suffixes else "", "")
    if compression:
        suffixes.pop()
    implied = format_of_extension(suffixes[-1] if suffixes else "")
    name = layout.format or (other if implied is None else implied.name)
    if name is None:
        raise ParameterError(
            f"{path}: the extension does not name a format. Hint: --format (Layout(format=…)) takes "
            f"{', '.join(format_names())}."
        )
    return replace(layout, format=name), compression


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
    """Return the table in an open file, with the chosen columns.

    Parameters
    ----------
    file : BinaryIO
        The file. Closing it is left to the caller.
    name : str
        What errors call it.
    layout : Layout
        With its format.
    text, keep : names of columns
        Those to perturb, and those to write as they are. All others are left out.
    compression : {"", "gz", "zst"}
        How the file is compressed.
    size : int
        Its size in bytes, if it is known, for progress.
    unbuffered : bool
        Pass rows on as they arrive.
    policy : Policy
        The policy of the run: padding makes answers long, and fills in missing texts.
    """
    table_format = layout.find_format()
    chosen, kept = checked_names(text, keep)
    if not table_format.has_columns:
        if chosen or kept:
            raise ParameterError(
                f"{name}: {table_format.title} has no columns to choose from. Hint: leave them out."
            )
    elif not chosen:
        raise ParameterError(f"{name}: which column has the texts? Hint: --text COLUMN (text=…).")
    if unbuffered:
        table_format.check_streams()
    if layout.delimiter is None:
        layout = replace(layout, delimiter=table_format.delimiter)
    source = Source(decompressed(file, compression, name), name, file, size, unbuffered, policy)
    if table_format.seekable and compression:
        source = _unpacked(source)
    try:
        return table_format.open(source, layout, chosen, kept)
    except BaseException:
        source.close()
        raise


def _unpacked(source: Source) -> Source:
    """Return a source with all of its content in a temporary file, which allows random access."""
    # Deleted from the start and readable for this user alone: nobody else can find the unpacked content.
    unpacked = cast(BinaryIO, tempfile.TemporaryFile())  # noqa: SIM115  # the table closes it
    try:
        shutil.copyfileobj(source.file, unpacked, 1 << 20)
    except BaseException:
        unpacked.close()
        raise
    unpacked.seek(0)
    return replace(source, file=unpacked, owned=True)
