"""What searches with compiled loops share: where their answers go, and what is left to others."""

from abc import abstractmethod
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wordveil.nearest.search import NearestSearch
from wordveil.nearest.single import SingleSearch
from wordveil.nearest.threads import Scratch

__all__ = ["CompiledSearch"]

_PAIRS_PER_POINT: Final = 8  # room for candidates; a point that finds none is left to another search

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


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
        self,
        points: Floats,
        norms: Floats,
        answers: Ints,
        pairs: tuple[NDArray[np.int32], NDArray[np.int32]],
        gap: float = 0.0,
    ) -> tuple[int, NDArray[np.bool_]]:
        """Write answers; return the number of pairs, and which points are to be left to another search.

        The answer is -1 for a point whose candidates are in the pairs of a point and a row, and -2 for one
        that has too many. With a `gap`, all rows are candidates whose `excess` over the nearest is at most
        that; a point with one candidate may be answered.
        """

    @staticmethod
    @abstractmethod
    def excess(nearest: Floats, others: Floats) -> Floats:
        """Return how much further away others are than the nearest row, in the unit of `gap`."""

    def _find(self, points: Floats, norms: Floats) -> Ints:
        points = np.require(points, requirements=["C", "A"])  # only addresses are passed on
        answers = np.empty(len(points), np.int64)
        room = _PAIRS_PER_POINT * len(points) + 256
        which, candidates = (self._scratch.array(name, room, np.int32) for name in ("which", "candidates"))
        count, is_odd = self._search_compiled(points, norms, answers, (which, candidates))
        if count:
            several = np.flatnonzero(answers == -1)
            order = np.lexsort((candidates[:count], which[:count]))
            positions = np.searchsorted(several, which[:count][order])
            rows = candidates[:count][order].astype(np.int64)
            answers[several] = self._decide(points[several], positions, rows)
        left = np.flatnonzero(is_odd | (answers < 0))
        if len(left):
            answers[left] = self._others._find(points[left], norms[left])
        return answers
