"""What searches with compiled loops share: where their answers go, and what is left to others."""

from abc import abstractmethod
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wordveil.nearest.search import NearestSearch
from wordveil.nearest.single import SingleSearch
from wordveil.nearest.threads import Scratch

__all__ = ["CompiledSearch", "Pairs"]

_PAIRS_PER_POINT: Final = 8  # room for candidates; a point that finds none is left to another search

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
Pairs = tuple[NDArray[np.int32], NDArray[np.int32]]
"""The points and the rows of some pairs."""


class CompiledSearch(NearestSearch):
    """A search whose loops answer most points. Among several rows the canonical distance decides."""

    threaded = True
    block = 512

    def __init__(self, rows: Floats) -> None:
        super().__init__(rows)
        self._scale = self._row_scale()
        self._scratch = Scratch()

    @cached_property
    def _others(self) -> NearestSearch:
        """The search for the few points that the loops leave; most requests never need it."""
        return SingleSearch(self._rows)

    def __getstate__(self) -> dict[str, Any]:
        return {"rows": self._rows}

    def __setstate__(self, state: dict[str, Any]) -> None:
        type(self).__init__(self, state["rows"])

    @abstractmethod
    def _search_compiled(
        self, points: Floats, norms: Floats, answers: Ints, pairs: Pairs, wanted: int = 1
    ) -> tuple[int, NDArray[np.bool_]]:
        """Write answers; return the number of pairs, and which points are to be left to another search.

        The answer is -1 for a point whose candidates are in the pairs of a point and a row, and -2 for one
        that has too many. If the two nearest rows are `wanted`, both are among the candidates.
        """

    def _find(self, points: Floats, norms: Floats) -> Ints:
        points = np.require(points, requirements=["C", "A"])  # only addresses are passed on
        answers, pairs = np.empty(len(points), np.int64), self._room(len(points))
        count, is_odd = self._search_compiled(points, norms, answers, pairs)
        is_left = is_odd | (answers == -2)
        if not count and not is_left.any():
            return answers
        which, rows = (array[:count].astype(np.int64) for array in pairs)
        answered = np.flatnonzero(answers >= 0)
        which, rows = np.concatenate((which, answered)), np.concatenate((rows, answers[answered]))
        return self._settle(points, norms, which, rows, is_left)

    def _room(self, count: int) -> Pairs:
        """Return arrays of this thread for pairs of a point and a row."""
        room = _PAIRS_PER_POINT * count + 256
        which, candidates = (self._scratch.array(name, room, np.int32) for name in ("which", "candidates"))
        return which, candidates

    def _settle(
        self, points: Floats, norms: Floats, which: Ints, rows: Ints, is_left: NDArray[np.bool_]
    ) -> Ints:
        """Return the answers from pairs of a point and a row; points that are left go to another search."""
        answers = np.empty(len(points), np.int64)
        ids, left = np.flatnonzero(~is_left), np.flatnonzero(is_left)
        if len(ids):
            keep = ~is_left[which]
            which, rows = which[keep], rows[keep]
            order = np.lexsort((rows, which))
            answers[ids] = self._decide(points[ids], np.searchsorted(ids, which[order]), rows[order])
        if len(left):
            answers[left] = self._others._find(points[left], norms[left])
        return answers
