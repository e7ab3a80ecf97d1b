"""Blocks of a sweep that are kept on disk, so an interrupted sweep continues where it stopped."""

import hashlib
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Final

import numpy as np

from wordveil.atomic import atomic_write
from wordveil.embedding import Embedding
from wordveil.errors import MachineError
from wordveil.evaluation.draws import Counts, Ints
from wordveil.evaluation.grid import Grid
from wordveil.folders import user_folder

__all__ = ["chosen_cache", "load_or_draw", "sweep_folder", "user_sweeps"]

_VERSION: Final = 3  # raised when the same settings give other draws, so older blocks are not read


def user_sweeps() -> Path:
    """Return the user's folder for sweeps, created if missing; raises OSError or MachineError if it can't."""
    folder = user_folder("cache", "what was drawn") / "sweeps"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def chosen_cache(cache: Path | bool, user_cache: Callable[[], Path] = user_sweeps) -> Path | None:
    """Return the folder to keep results in: this one, or the user's if it can be written, or none."""
    if isinstance(cache, Path):
        return cache
    if cache:
        with suppress(OSError, MachineError):
            return user_cache()
    return None


def sweep_folder(cache: Path, embedding: Embedding, grid: Grid, ids: Ints, kind: str) -> Path:
    """Return the folder of one sweep, named by a hash of everything that its draws depend on."""
    facts = [
        _VERSION,
        np.__version__,
        *([kind] if kind else []),
        embedding.fingerprint,
        asdict(grid),
        hashlib.sha256(ids.tobytes()).hexdigest(),
    ]
    return cache / hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]


def load_or_draw(
    path: Path | None, shape: tuple[int, ...], draws: int, draw: Callable[[], tuple[Counts, Counts]]
) -> tuple[Counts, Counts]:
    """Return the two counts of a block from its file, or draw them and write the file.

    A file that is damaged, has another shape or counts more than `draws` is drawn again.
    """
    if path is not None and path.exists():
        with suppress(ValueError, EOFError):
            counts = np.load(path, allow_pickle=False)
            if counts.dtype == np.uint16 and counts.shape == (2, *shape) and counts.max() <= draws:
                return counts[0], counts[1]
    stays, distinct = draw()
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path, force=True) as file:
            np.save(file, np.stack((stays, distinct)))
    return stays, distinct
