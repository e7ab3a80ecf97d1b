"""The nearest of some of the rows: those that may be answered."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from wordveil.nearest.search import NearestSearch

__all__ = ["AllowedSearch"]


class AllowedSearch:
    """A search among the allowed rows alone, whose answers are their numbers among all rows.

    It is as exact as the search that it wraps. The numbers are ascending, so among equals the lowest wins.

    Parameters
    ----------
    search : NearestSearch
        The search over the allowed rows.
    ids : array of int64
        The number of each of them among all rows, ascending.

    Examples
    --------
    >>> from wordveil.nearest.brute import BruteSearch
    >>> rows = np.array([[0.0], [1.0], [2.0]])
    >>> AllowedSearch(BruteSearch(rows[[0, 2]]), np.array([0, 2])).nearest(np.array([[1.1], [0.9]]))
    array([2, 0])
    """

    def __init__(self, search: NearestSearch, ids: NDArray[np.int64]) -> None:
        self._search, self._ids = search, ids

    def prepare(self, count: int) -> "AllowedSearch":
        """Return the search to use for `count` points."""
        return AllowedSearch(self._search.prepare(count), self._ids)

    def nearest(self, points: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the number of the allowed row nearest to each point."""
        return np.asarray(self._ids[self._search.nearest(points)])

    def nearest_of(
        self, count: int, make_points: Callable[[slice], NDArray[np.float64]]
    ) -> NDArray[np.int64]:
        """Return the same for `count` points, which are made one block at a time."""
        return np.asarray(self._ids[self._search.nearest_of(count, make_points)])
