"""The positions of the words in the eigenbasis, and the search among them: computed once per embedding.

Neither depends on ε, or on λ, which only stretches the noise along the axes. So all mechanisms of one
embedding share them, and they are freed with it.
"""

import threading
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wordveil.embedding import Embedding
from wordveil.embedding.arrays import locked, row_blocks
from wordveil.nearest import AutomaticSearch, NearestSearch
from wordveil.nearest.devices import DeviceName
from wordveil.shared import PerEmbedding

__all__ = ["Places", "places_of"]

_shared: Final = PerEmbedding["Places"](most=1)


class Places:
    """The rotated vectors of an embedding in float64, and a search for each device in use.

    Attributes
    ----------
    rows : array of shape (number of words + 1, dimensions)
        Read-only; the last row, row -1, is the centroid.
    """

    def __init__(self, rows: NDArray[np.float64]) -> None:
        self.rows: Final = locked(rows)
        self._searches: dict[DeviceName, NearestSearch] = {}
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[type["Places"], tuple[NDArray[np.float64]]]:
        return Places, (self.rows,)

    def search(self, device: DeviceName) -> NearestSearch:
        """Return the search for the nearest word on a device."""
        if device not in self._searches:
            with self._lock:
                if device not in self._searches:
                    self._searches[device] = AutomaticSearch(self.rows[:-1], device)
        return self._searches[device]


def places_of(embedding: Embedding, rows: NDArray[np.float64] | None = None) -> Places:
    """Return the places of an embedding, computed once for all threads and mechanisms.

    `rows` come from a pickle. They are used as they are, because an eigenbasis and a product that are
    computed again may be rounded differently.
    """
    return _shared.get(embedding, None, lambda: Places(_rotated(embedding) if rows is None else rows))


def _rotated(embedding: Embedding) -> NDArray[np.float64]:
    embedding.verify()
    vectors, axes = embedding.vectors, embedding.spectrum.axes
    rows = np.empty((len(vectors) + 1, embedding.dim))
    for block in row_blocks(len(vectors)):
        rows[block] = vectors[block].astype(np.float64) @ axes
    # A product may round equal rows differently in different blocks; equal words must stay equal.
    first_rows: dict[bytes, int] = {}
    for row, vector in enumerate(vectors + np.float32(0.0)):  # turns -0.0 into 0.0
        first = first_rows.setdefault(vector.tobytes(), row)
        if first != row:
            rows[row] = rows[first]
    rows[-1] = embedding.centroid @ axes
    return rows
