"""Scores that are kept, so an interrupted experiment continues: counts only, and no text.

The texts are private, so a plain digest of them would let anyone who reads a file name test a guess. The
names of the files are digests under a key that only this user can read, and so are the files.
"""

import hashlib
import json
import secrets
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wordveil.atomic import atomic_write
from wordveil.folders import user_folder
from wordveil.runs.private_files import is_own_folder, private_file

__all__ = ["ScoreCache", "user_scores"]

_VERSION: Final = 1  # raised when the same settings give other scores, so older files are not read
_KEY_BYTES: Final = 32

Matrices = dict[str, NDArray[np.int64]]
"""The confusion matrix on each kind of test text."""


def user_scores() -> Path:
    """Return the user's folder for scores, created if missing."""
    folder = user_folder("cache", "scores") / "utility"
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


class ScoreCache:
    """Confusion matrices by setting and repetition, for one collection of labelled texts.

    Parameters
    ----------
    folder : Path
        Where they are kept; only this user may be able to read it.
    texts : iterable of str
        Everything that was read: texts and labels.
    size : int
        The number of labels.
    """

    def __init__(self, folder: Path, texts: Iterable[str], size: int) -> None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        folder.chmod(0o700)
        if not is_own_folder(folder):
            raise PermissionError
        self._folder, self._size = folder, size
        self._key = _key_of(folder / "key")
        digest = self._digest()
        digest.update(f"{version('wordveil')} {np.__version__} ".encode())
        for text in texts:
            data = text.encode("utf-8", "surrogatepass")
            digest.update(len(data).to_bytes(8, "little"))
            digest.update(data)
        self._texts = digest.digest()

    def _digest(self) -> Any:
        return hashlib.blake2b(key=self._key, digest_size=_KEY_BYTES)

    def _path(self, facts: Mapping[str, Any]) -> Path:
        digest = self._digest()
        digest.update(self._texts + json.dumps([_VERSION, facts], sort_keys=True).encode())
        return self._folder / f"{digest.hexdigest()[:40]}.json"

    def load(self, facts: Mapping[str, Any], kinds: Iterable[str]) -> Matrices | None:
        """Return the matrices of these kinds; None if one is missing or damaged."""
        with suppress(OSError, ValueError, KeyError, TypeError, IndexError):
            stored = json.loads(self._path(facts).read_bytes())
            return {kind: self._matrix(stored[kind]) for kind in kinds}
        return None

    def _matrix(self, cells: list[list[int]]) -> NDArray[np.int64]:
        rows, columns, counts = np.array(cells, dtype=np.int64).T
        matrix = np.zeros((self._size, self._size), dtype=np.int64)
        matrix[rows, columns] = counts
        return matrix

    def save(self, facts: Mapping[str, Any], matrices: Matrices) -> None:
        """Keep the matrices of a repetition; if the disk is full, do without."""
        stored = {}
        for kind, matrix in matrices.items():
            rows, columns = np.nonzero(matrix)
            stored[kind] = np.stack((rows, columns, matrix[rows, columns]), axis=1).tolist()
        path = self._path(facts)
        with suppress(OSError), atomic_write(path, force=True) as file:
            Path(file.name).chmod(0o600)
            file.write(json.dumps(stored).encode())


def _key_of(path: Path) -> bytes:
    """Return the key of a folder, created if missing; of two processes that create it, one wins."""
    if not path.exists():
        with suppress(FileExistsError), private_file(path) as file:
            file.write(secrets.token_bytes(_KEY_BYTES))
    key = path.read_bytes()
    if len(key) != _KEY_BYTES or path.stat().st_mode & 0o077:
        raise PermissionError
    return key
