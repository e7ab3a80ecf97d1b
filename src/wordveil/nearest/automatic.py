"""The fastest search that there is here, made when it pays."""

import importlib.util
import threading
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wordveil.nearest.search import NearestSearch
from wordveil.nearest.single import SingleSearch

__all__ = ["AutomaticSearch"]

_FEW: Final = 4096
_LEAST_ROWS: Final = 1024


class AutomaticSearch(NearestSearch):
    """A float32 screen for the first few points, and an integer screen after them, where it can be had.

    Both give the same answers. The integer screen takes half a second to prepare, and needs the extra `fast`.

    Examples
    --------
    >>> search = AutomaticSearch(np.array([[0.0, 0.0], [1.0, 1.0]]))
    >>> search.nearest(np.array([[0.9, 0.8], [0.5, 0.5]]))
    array([1, 0])
    """

    def __init__(self, rows: NDArray[np.float64]) -> None:
        super().__init__(rows)
        self._chosen: NearestSearch | None = None
        self._final = len(rows) < _LEAST_ROWS or not _installed()
        self._seen = 0
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {"rows": self._rows}

    def __setstate__(self, state: dict[str, Any]) -> None:
        AutomaticSearch.__init__(self, state["rows"])

    def _find(self, points: NDArray[np.float64], norms: NDArray[np.float64]) -> NDArray[np.int64]:
        return self.prepare(len(points))._find(points, norms)

    def prepare(self, count: int) -> NearestSearch:
        """Return the search for so many points more."""
        with self._lock:
            self._seen += count
            if not self._final and self._seen > _FEW:
                self._chosen, self._final = _integer_screen(self._rows), True
            if self._chosen is None:
                self._chosen = SingleSearch(self._rows)
            return self._chosen


def _installed() -> bool:
    return all(importlib.util.find_spec(name) is not None for name in ("numba", "onnxruntime"))


def _integer_screen(rows: NDArray[np.float64]) -> NearestSearch | None:
    """Return the integer screen, or None where the products are not exact or the libraries do not load."""
    try:
        from wordveil.nearest.integers import largest_code
        from wordveil.nearest.screened import ScreenedSearch
    except ImportError:
        return None
    return ScreenedSearch(rows) if largest_code(rows.shape[1]) else None
