"""Measurements that are kept as they come, by setting, so an interrupted run continues where it stopped."""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from wordveil.atomic import atomic_write
from wordveil.errors import MachineError
from wordveil.evaluation.utility_cache import ScoreCache
from wordveil.folders import user_folder

__all__ = ["FactCache", "open_fact_cache", "user_facts"]


def user_facts() -> Path:
    """Return the user's folder for measurements, created if missing."""
    folder = user_folder("cache", "measurements") / "frontier"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


class FactCache(ScoreCache):
    """Plain facts by key; only this user can read them, and they contain no text.

    `texts` is everything that was read from private data; empty for measurements on public words.
    """

    def __init__(self, folder: Path, texts: Iterable[str] = ()) -> None:
        super().__init__(folder, texts, 0)

    def load_facts(self, key: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the facts of a key; None if they are missing or damaged."""
        with suppress(OSError, ValueError):
            facts = json.loads(self._path(key).read_bytes())
            return facts if isinstance(facts, dict) else None
        return None

    def save_facts(self, key: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        """Keep the facts of a key; if the disk is full, do without."""
        with suppress(OSError), atomic_write(self._path(key), force=True) as file:
            Path(file.name).chmod(0o600)
            file.write(json.dumps(facts).encode())


def open_fact_cache(cache: Path | bool, texts: Iterable[str] = ()) -> FactCache | None:
    """Return the measurements of a folder, or of the user's; None if there is none that can be written."""
    if cache is False:
        return None
    with suppress(OSError, MachineError):
        return FactCache(cache if isinstance(cache, Path) else user_facts(), texts)
    return None
