"""The fastest search available on this machine, built once it is worth the preparation."""

import threading
import warnings
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wordveil.kernels import has_codes, kernels
from wordveil.nearest.cells import CellSearch
from wordveil.nearest.coded_cells import CodedCellSearch
from wordveil.nearest.cuda import TorchSearch
from wordveil.nearest.devices import DeviceName, check_device, has_gpu
from wordveil.nearest.screened import MOST_DIMS, ScreenedSearch
from wordveil.nearest.search import NearestSearch
from wordveil.nearest.single import SingleSearch

__all__ = ["AutomaticSearch"]

# Points to search for before the fast search is built, if that takes long. With the default vectors on two
# cores it saves 100 µs per point at 300 dimensions (docs/speed.md), and takes 0.4 s to prepare: it pays from
# 4,000 on.
_FEW_POINTS: Final = 4096
# Up to this many coordinates in all, building takes 0.1 s or less, and is done at once.
_FEW_NUMBERS: Final = 1 << 20
# Over fewer rows the fast search is not faster. In one thread, at 300 dimensions, it takes 12.5 µs per point
# over 500 rows (float32: 8.8), 15.6 over 1,000 (float32: 16.1) and 18.8 over 2,000 (float32: 28.1).
_LEAST_ROWS: Final = 1024
# Up to these dimensions boxes rule out most words, and then with integers for the words of a box. In one
# thread, with the default vectors and S of about 0.3, µs per point with boxes, both, and integers alone: 0.7,
# 0.8, - at 8 dimensions; 1.2, 0.9, - at 10; -, 1.4, - at 15; -, 2.8, 2.9 at 20; -, 4.2, 3.4 at 25 (AVX2: 1.0,
# 1.1, - at 8; 1.9, 1.7, - at 10; 6.5, 3.4, - at 15; 14, 7.2, 9.1 at 20). For one point alone, at 15
# dimensions, boxes and both take 19 µs and integers 92.
_CELL_DIMS: Final = 8
_CODED_CELL_DIMS: Final = 20
# Boxes without integers, against a float32 product.
_CELL_DIMS_WITHOUT_CODES: Final = 18
# Seconds that a large request waits for another thread to build the fast search. It takes a few seconds even
# for 340,000 words; a build that takes longer is stuck, and the float32 search gives the same answers.
_LONGEST_WAIT: Final = 60.0


class AutomaticSearch(NearestSearch):
    """A float32 screen for the first few points, then compiled loops or a GPU if available.

    All give the same answers, but the fast searches can take half a second to prepare.

    Parameters
    ----------
    rows : array of float64
        The rows to search.
    device : str
        "cpu", "cuda", or "auto", which uses a GPU if there is one. Without a GPU the CPU is used.

    Examples
    --------
    >>> search = AutomaticSearch(np.array([[0.0, 0.0], [1.0, 1.0]]))
    >>> search.nearest(np.array([[0.9, 0.8], [0.5, 0.5]]))
    array([1, 0])
    """

    def __init__(self, rows: NDArray[np.float64], device: DeviceName = "cpu") -> None:
        super().__init__(rows)
        self._device = check_device(device, type(self).__name__)
        self._chosen: NearestSearch | None = None
        self._settled = len(rows) < _LEAST_ROWS
        self._few_points = 0 if rows.size <= _FEW_NUMBERS else _FEW_POINTS
        self._points_seen = 0
        self._lock, self._built = threading.Lock(), threading.Event()

    def __getstate__(self) -> dict[str, Any]:
        return {"rows": self._rows, "device": self._device}

    def __setstate__(self, state: dict[str, Any]) -> None:
        AutomaticSearch.__init__(self, state["rows"], state["device"])

    def _find(self, points: NDArray[np.float64], norms: NDArray[np.float64]) -> NDArray[np.int64]:
        return self.prepare(len(points))._find(points, norms)

    def prepare(self, count: int) -> NearestSearch:
        """Return the search to use for `count` more points."""
        with self._lock:
            self._points_seen += count
            is_builder = not self._settled and self._points_seen > self._few_points
            self._settled |= is_builder
            is_large = count > self._few_points and len(self._rows) >= _LEAST_ROWS
            waits = self._settled and not is_builder and is_large
        # The lock is free during the build, so a fork can't inherit it in a locked state. Large requests wait
        # for the fast search; small ones use the float32 search in the meantime.
        if is_builder:
            try:
                self._chosen = _fast_search(self._rows, self._device) or self._chosen
            finally:
                self._built.set()
        elif waits:
            self._built.wait(_LONGEST_WAIT)
        with self._lock:
            if self._chosen is None:
                self._chosen = SingleSearch(self._rows)
            return self._chosen


def _fast_search(rows: NDArray[np.float64], device: DeviceName) -> NearestSearch | None:
    """Return a search on the GPU or one with compiled loops, or None if neither is available."""
    if device != "cpu":
        if has_gpu():
            try:
                return TorchSearch(rows)
            except RuntimeError as error:  # the device is full or has failed
                reason = str(error).splitlines()[0]
                warnings.warn(
                    f"The GPU can't be used ({reason}): the CPU searches.", RuntimeWarning, stacklevel=2
                )
        elif device == "cuda":
            warnings.warn("No GPU that PyTorch can use: the CPU searches.", RuntimeWarning, stacklevel=2)
    if kernels is None:
        return None
    dims, codes = rows.shape[1], has_codes()
    if dims <= (_CELL_DIMS if codes else _CELL_DIMS_WITHOUT_CODES):
        return CellSearch(rows)
    if codes and dims <= _CODED_CELL_DIMS:
        return CodedCellSearch(rows)
    return ScreenedSearch(rows) if codes and dims <= MOST_DIMS else None
