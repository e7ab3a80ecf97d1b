"""The fastest search that there is here, made when it pays."""

import threading
import warnings
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wordveil.nearest.cuda import TorchSearch
from wordveil.nearest.devices import DeviceName, check_device, has_gpu
from wordveil.nearest.search import NearestSearch
from wordveil.nearest.single import SingleSearch

__all__ = ["AutomaticSearch"]

_FEW: Final = 4096
_LEAST_ROWS: Final = 1024
_PATIENCE: Final = 60.0


class AutomaticSearch(NearestSearch):
    """A float32 screen for the first few points; an integer screen or a GPU after them, where it can be had.

    All give the same answers, but they take half a second and more to prepare.

    Parameters
    ----------
    rows : array of float64
        What is searched.
    device : str
        "cpu", "cuda", or "auto": a GPU if there is one. Without a GPU the CPU searches.

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
        self._seen = 0
        self._lock, self._made = threading.Lock(), threading.Event()

    def __getstate__(self) -> dict[str, Any]:
        return {"rows": self._rows, "device": self._device}

    def __setstate__(self, state: dict[str, Any]) -> None:
        AutomaticSearch.__init__(self, state["rows"], state["device"])

    def _find(self, points: NDArray[np.float64], norms: NDArray[np.float64]) -> NDArray[np.int64]:
        return self.prepare(len(points))._find(points, norms)

    def prepare(self, count: int) -> NearestSearch:
        """Return the search for so many points more."""
        with self._lock:
            self._seen += count
            mine = not self._settled and self._seen > _FEW
            self._settled |= mine
            waits = self._settled and not mine and count > _FEW and len(self._rows) >= _LEAST_ROWS
        # Meanwhile the lock is free, so that a fork can't inherit it; only who has much to search for waits.
        if mine:
            try:
                self._chosen = _fast(self._rows, self._device) or self._chosen
            finally:
                self._made.set()
        elif waits:
            self._made.wait(_PATIENCE)
        with self._lock:
            if self._chosen is None:
                self._chosen = SingleSearch(self._rows)
            return self._chosen


def _fast(rows: NDArray[np.float64], device: DeviceName) -> NearestSearch | None:
    """Return a search on the GPU, or the integer screen; None where neither can be had."""
    if device != "cpu":
        if has_gpu():
            try:
                return TorchSearch(rows)
            except RuntimeError as error:  # the device is full, or fails
                why = str(error).splitlines()[0]
                warnings.warn(
                    f"The GPU can't be used ({why}): the CPU searches.", RuntimeWarning, stacklevel=2
                )
        elif device == "cuda":
            warnings.warn("No GPU that PyTorch can use: the CPU searches.", RuntimeWarning, stacklevel=2)
    try:
        from wordveil.nearest.integers import largest_code
        from wordveil.nearest.screened import ScreenedSearch

        return ScreenedSearch(rows) if largest_code(rows.shape[1]) else None
    except (ImportError, RuntimeError, OSError):  # a library is not there, or does not run on this machine
        return None
