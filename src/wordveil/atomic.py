"""Files that appear complete or not at all."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from wordveil.errors import ParameterError

__all__ = ["atomic_write"]


@contextmanager
def atomic_write(path: Path, *, force: bool = False) -> Iterator[BinaryIO]:
    """Yield a file that becomes `path` if the block succeeds, and is deleted if it fails.

    Without `force` an existing `path` is refused, even if it appears while the block runs.
    """
    if not force and path.exists():
        raise _exists(path)
    part = path.with_name(f".{path.name}.{secrets.token_hex(6)}.part")
    try:
        with part.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if force:
            part.replace(path)
        else:
            _publish_new(part, path)
    finally:
        part.unlink(missing_ok=True)


def _publish_new(part: Path, path: Path) -> None:
    try:
        path.hardlink_to(part)  # unlike a rename, a link never replaces a file
    except FileExistsError:
        raise _exists(path) from None
    except OSError:  # the file system has no hard links
        part.replace(path)


def _exists(path: Path) -> ParameterError:
    return ParameterError(f"{path} exists already. Hint: --force (force=True) replaces it.")
