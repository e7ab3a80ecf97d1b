"""The positions of the words in the eigenbasis, and the search among them: computed once per embedding.

Neither depends on ε, or on λ, which only stretches the noise along the axes. So all mechanisms of one
embedding share them, and they are freed with it.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from wordveil.embedding import Embedding
from wordveil.embedding.arrays import locked, row_blocks
from wordveil.nearest import AutomaticSearch, NearestSearch
from wordveil.nearest.devices import DeviceName
from wordveil.shared import PerEmbedding

__all__ = ["places_of", "search_of"]

_places: Final = PerEmbedding[NDArray[np.float64]](most=1)
_searches: Final = PerEmbedding[NearestSearch](most=3)  # one for each name of a device


def places_of(embedding: Embedding, pickled: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Return the rotated vectors of an embedding in float64, read-only; the last row is the centroid.

    They are computed once for all threads and mechanisms. Those from a pickle are used as they are: an
    eigenbasis and a product that are computed again may be rounded differently.
    """
    return _places.get(embedding, None, lambda: locked(_rotated(embedding) if pickled is None else pickled))


def search_of(embedding: Embedding, device: DeviceName) -> NearestSearch:
    """Return the search for the nearest word of an embedding on a device."""
    return _searches.get(embedding, device, lambda: AutomaticSearch(places_of(embedding)[:-1], device))


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
