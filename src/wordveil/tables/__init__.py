"""Tables with text in them: files of several formats, and frames in memory."""

from wordveil.tables.base import Chunk, Table
from wordveil.tables.files import Format, Layout, open_table
from wordveil.tables.frames import perturb_frame

__all__ = ["Chunk", "Format", "Layout", "Table", "open_table", "perturb_frame"]
