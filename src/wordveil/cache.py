"""What was computed from public vectors once, kept in the user's cache folder for the next process.

An entry is used only if it has the right key and checksum, and only from a folder that nobody else can write
to. Whatever goes wrong, from a damaged file to a full disk, means that the numbers are computed again. All
entries together take at most 500 MB; the ones that were not used for longest are removed. Entries that most
people need come with the package of the default vectors.
"""

import functools
import hashlib
import json
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from safetensors import numpy as safetensors_numpy

from wordveil.atomic import atomic_write
from wordveil.folders import user_folder

__all__ = ["Arrays", "Vectors", "cached", "cached_about", "cached_json_about"]

Arrays: TypeAlias = dict[str, NDArray[Any]]

_MOST_BYTES: Final = 500_000_000  # by judgement: a small part of a disk
_STALE_SECONDS: Final = 24 * 3600.0  # after which a file that was not finished is no longer being written
_DTYPES: Final = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "I8": "|i1", "U8": "|u1"}


class Vectors(Protocol):
    """What entries are about: an `Embedding`."""

    @property
    def is_named(self) -> bool:
        """Whether entries about it may be kept: it is public, and can be loaded by a name."""

    @property
    def fingerprint(self) -> str:
        """What it is known by."""

    def verify(self) -> None:
        """Raise an error if it is not what its fingerprint says."""


def cached_about(
    vectors: Vectors, kind: str, key: Mapping[str, object], compute: Callable[[], Arrays]
) -> Arrays:
    """Return arrays that follow from vectors, from the cache if they may be kept and are there.

    The key must name everything else that the arrays depend on, and that must be public.
    """
    if not vectors.is_named:
        return compute()

    def compute_verified() -> Arrays:
        vectors.verify()  # or numbers of a damaged file would be kept under the name of the right one
        return compute()

    full_key = {"vectors": vectors.fingerprint, "wordveil": _version(), **key}
    return cached(kind, full_key, compute_verified)


def cached_json_about(
    vectors: Vectors, kind: str, key: Mapping[str, object], compute: Callable[[], Any]
) -> Any:
    """Return plain JSON values that follow from vectors, in the same way."""

    def as_bytes() -> Arrays:
        return {"json": np.frombuffer(json.dumps(compute()).encode(), np.uint8)}

    return json.loads(cached_about(vectors, kind, key, as_bytes)["json"].tobytes())


@functools.cache
def _version() -> str:
    """Return the version of wordveil: another one may compute other numbers."""
    return version("wordveil")


def cached(kind: str, key: Mapping[str, object], compute: Callable[[], Arrays]) -> Arrays:
    """Return the arrays of a key, from the cache if they are there; these are read-only.

    Examples
    --------
    >>> cached("doctest", {"number": 7}, lambda: {"square": np.array([49])})
    {'square': array([49])}
    """
    text = json.dumps({"kind": kind, **key}, sort_keys=True)
    name = f"{kind}-{hashlib.sha256(text.encode()).hexdigest()[:32]}.safetensors"
    for folder in _folders():
        with suppress(Exception):  # anything can be wrong with a file
            return _read(folder / name, text)
    arrays = compute()
    with suppress(Exception):  # the numbers are there, with or without the cache
        _write(name, text, arrays)
    return arrays


def _folders() -> Iterator[Path]:
    """Yield the folders that may have an entry: that of the default vectors, then the user's."""
    with suppress(ImportError):  # not installed, or an older version
        from wordveil_glove import PREPARED_PATH

        yield PREPARED_PATH
    with suppress(Exception):  # no home, or no folder yet
        yield _checked(_user_folder())


def _user_folder() -> Path:
    return user_folder("cache", "what was computed from the vectors") / "prepared"


def _checked(path: Path) -> Path:
    """Return a path that belongs to this user and that nobody else can write to, or raise PermissionError."""
    if hasattr(os, "geteuid"):
        facts = path.stat()
        if facts.st_uid != os.geteuid() or facts.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise PermissionError
    return path


def _read(path: Path, key: str) -> Arrays:
    """Return the arrays of an entry, or raise an error if it is not that of the key, or damaged."""
    if path.parent == _user_folder():
        _checked(path)
        os.utime(path)  # it was used now
    table, data = _parts(path.read_bytes())
    facts = table.pop("__metadata__")
    if facts["key"] != key or facts["sha256"] != _checksum(table, data):
        raise ValueError("not the entry of that key, or damaged")
    arrays = {}
    for name, entry in table.items():
        start, end = entry["data_offsets"]
        array = np.frombuffer(data[start:end], _DTYPES[entry["dtype"]])
        arrays[name] = array.reshape(entry["shape"])
    return arrays


def _write(name: str, key: str, arrays: Arrays) -> None:
    folder = _user_folder()
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    _checked(folder)
    packed = {label: np.ascontiguousarray(array) for label, array in arrays.items()}
    # Once to see in which order the arrays are stored, and once more with their checksum.
    facts = {"key": key, "sha256": _checksum(*_parts(safetensors_numpy.save(packed)))}
    with atomic_write(folder / name, force=True) as file:
        Path(file.name).chmod(0o600)  # whatever the umask is: an entry that others can write to is not read
        file.write(safetensors_numpy.save(packed, facts))
    _trim(folder, keep=name)


def _parts(content: bytes) -> tuple[dict[str, Any], memoryview]:
    """Return the table of a safetensors file, and its numbers."""
    start = 8 + int.from_bytes(content[:8], "little")
    table: dict[str, Any] = json.loads(content[8:start])
    return table, memoryview(content)[start:]


def _checksum(table: Mapping[str, Any], data: memoryview) -> str:
    digest = hashlib.sha256(json.dumps(table, sort_keys=True).encode())
    digest.update(data)
    return digest.hexdigest()


def _trim(folder: Path, keep: str) -> None:
    """Remove the entries that were not used for longest, and what interrupted processes left."""
    facts = []
    for path in folder.iterdir():
        with suppress(OSError):  # another process may have removed it
            facts.append((path, path.lstat()))
    files = [(path, about) for path, about in facts if stat.S_ISREG(about.st_mode)]
    files.sort(key=lambda pair: (pair[0].name == keep, pair[1].st_mtime))
    total = sum(about.st_size for _, about in files)
    for path, about in files:
        is_stale = path.suffix == ".part" and time.time() - about.st_mtime > _STALE_SECONDS
        if total > _MOST_BYTES or is_stale:
            with suppress(OSError):
                path.unlink(missing_ok=True)
                total -= about.st_size
