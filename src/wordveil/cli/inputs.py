"""Opens what a command reads: a file by its name, or standard input."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, cast

from wordveil.errors import MachineError
from wordveil.runs.paths import open_binary
from wordveil.tables import Layout
from wordveil.tables.compression import Compression
from wordveil.tables.files import recognised

__all__ = ["opened"]


@contextmanager
def opened(
    source: str, layout: Layout, *, other: str | None = None
) -> Iterator[tuple[BinaryIO, str, Layout, Compression]]:
    """Yield the open file, its name for errors, its layout and its compression; `-` is standard input.

    A pipe is plain text unless the layout says otherwise. `other` is the format of a file whose name does
    not say it.
    """
    if source == "-":
        if sys.stdin is None:
            raise MachineError("Standard input is closed.")
        os.set_blocking(sys.stdin.fileno(), True)  # otherwise "nothing yet" would look like the end
        # Unbuffered: a thread that is stopped while it reads would keep the lock of the buffer.
        pipe = os.fdopen(sys.stdin.fileno(), "rb", buffering=0, closefd=False)
        yield cast(BinaryIO, pipe), "standard input", replace(layout, format=layout.format or "text"), ""
        return
    full_layout, compression = recognised(Path(source), layout, other)
    with open_binary(Path(source)) as file:
        yield file, source, full_layout, compression
