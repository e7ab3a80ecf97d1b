"""Tables with text in them: files of several formats, behind one registry."""

# Each of these files registers its formats: a new format is a new file, and its name in this list.
from wordveil.tables import delimited, json_lines, parquet, plain_text  # noqa: F401  # each registers itself
from wordveil.tables.base import Chunk, Table
from wordveil.tables.files import open_table
from wordveil.tables.layout import Layout
from wordveil.tables.registry import (
    Format,
    find_format,
    format_names,
    register_format,
    registered_formats,
    unregister_format,
)

__all__ = [
    "Chunk",
    "Format",
    "Layout",
    "Table",
    "find_format",
    "format_names",
    "open_table",
    "register_format",
    "registered_formats",
    "unregister_format",
]
