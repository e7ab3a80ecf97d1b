"""The draws of a block of words with any mechanism, by `perturb_ids`; and how draws are counted."""

import hashlib
import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wordveil.evaluation.grid import Grid
from wordveil.evaluation.settings import Family
from wordveil.intervals import Share
from wordveil.nearest.threads import one_thread
from wordveil.randomness import insecure_key

__all__ = ["BlockDraws", "Counts", "Floats", "Ints", "MechanismDraws", "class_digest", "count_answers"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Counts = NDArray[np.uint16]


class BlockDraws(ABC):
    """Draws the words of a block at every setting of a grid."""

    kind: str = ""
    """What the counts depend on besides the vectors, the grid and the words."""

    # Words that share directions. Larger blocks spread the cost of a matrix product over more words, but
    # leave fewer independent block means: 263 for the 33,752 words of the default vocabulary.
    largest_block: Final = 128

    def __init__(self, grid: Grid) -> None:
        self._grid = grid

    @staticmethod
    def threads(workers: int) -> int:
        """Return how many threads draw blocks."""
        return workers

    @abstractmethod
    def _answers(self, ids: Ints, number: int, draws: int) -> Iterator[tuple[int, int, Ints]]:
        """Yield the answers to that many draws of the words of a block, (words, draws), at each setting."""

    def block(self, ids: Ints, number: int) -> tuple[Counts, Counts]:
        """Return how often each word of a block stayed, and how many answers it had, at every setting."""
        grid = self._grid
        shape = len(grid.lams), len(grid.epsilons), len(ids)
        stays, distinct = np.empty(shape, np.uint16), np.empty(shape, np.uint16)
        for lam, epsilon, answers in self._answers(ids, number, grid.draws):
            stays[lam, epsilon] = np.count_nonzero(answers == ids[:, None], axis=1)
            distinct[lam, epsilon] = count_answers(answers, grid.eta)
        return stays, distinct

    def disagreement(self, ids: Ints, draws: int = 25) -> Share:  # noqa: ARG002  # for draws with shortcuts
        """Return the share of draws for which the mechanism itself has a different answer."""
        return Share(0.0, 0.0, 0.0)


def count_answers(answers: Ints, eta: float = 0.0) -> Ints:
    """Return how many different answers each row has, each at least the share `eta` of the row.

    Examples
    --------
    >>> rows = np.array([[3, 1, 3, 3], [2, 2, 2, 2]])
    >>> count_answers(rows).tolist(), count_answers(rows, eta=0.5).tolist()
    ([2, 1], [1, 1])
    """
    words, draws = answers.shape
    ordered = np.sort(answers, axis=1)
    is_start = np.ones(ordered.shape, dtype=bool)
    is_start[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    starts = np.flatnonzero(is_start)
    counts = np.diff(starts, append=ordered.size)
    return np.bincount(starts[counts / draws >= eta] // draws, minlength=words)


class MechanismDraws(BlockDraws):
    """Draws by `perturb_ids`. Every draw has noise of its own."""

    def __init__(self, family: Family, grid: Grid) -> None:
        super().__init__(grid)
        self._members = [[setting.mechanism for setting in row] for row in family.members]
        mechanisms = [mechanism for row in self._members for mechanism in row]
        digests = {class_digest(type(mechanism)) for mechanism in mechanisms}
        self.can_be_kept: Final = "" not in digests
        self.kind = json.dumps(
            [version("wordveil"), [mechanism.setting() for mechanism in mechanisms], sorted(digests)]
        )
        self._key = insecure_key(grid.seed)  # the words are public

    def _answers(self, ids: Ints, number: int, draws: int) -> Iterator[tuple[int, int, Ints]]:
        repeated = np.repeat(ids, draws).reshape(len(ids), draws)
        for lam, row in enumerate(self._members):
            for epsilon, mechanism in enumerate(row):
                stream = self._key.stream("sweep", json.dumps(mechanism.setting()), number)
                with one_thread():
                    yield lam, epsilon, mechanism.perturb_ids(repeated, stream=stream)


def class_digest(kind: type) -> str:
    """Return a digest of the files that define a class: numbers of an older version must not be used.

    Empty if a file can't be read, as in a notebook. A change in other files that these import isn't noticed.
    """
    digest = hashlib.sha256()
    for owner in kind.__mro__[:-1]:
        if owner.__module__.split(".")[0] in ("wordveil", "abc"):
            digest.update(f"{owner.__module__}.{owner.__qualname__}".encode())
            continue
        try:
            file = inspect.getsourcefile(owner)
            digest.update(b"" if file is None else Path(file).read_bytes())
        except (OSError, TypeError):
            return ""
        if file is None:
            return ""
    return digest.hexdigest()
