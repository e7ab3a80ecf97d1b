"""The positions of the words in the eigenbasis, and the search among them: computed once per embedding.

Neither depends on ε, or on λ, which only stretches the noise along the axes. So all mechanisms of one
embedding share them, and they are freed with it.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from wordveil.block_list import BlockList
from wordveil.embedding import Embedding
from wordveil.embedding.arrays import locked, row_blocks
from wordveil.nearest import AutomaticSearch, NearestSearch
from wordveil.nearest.allowed import AllowedSearch
from wordveil.nearest.devices import DeviceName
from wordveil.shared import PerEmbedding

__all__ = ["allowed_search_of", "first_equals", "places_of", "search_of"]

_places: Final = PerEmbedding[NDArray[np.float64]](most=1)
_searches: Final = PerEmbedding[NearestSearch](most=3)  # one for each name of a device
_allowed: Final = PerEmbedding[AllowedSearch](most=1)  # it has a copy of the allowed rows


def places_of(embedding: Embedding, pickled: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Return the rotated vectors of an embedding in float64, read-only; the last row is the centroid.

    They are computed once for all threads and mechanisms. Those from a pickle are used as they are: an
    eigenbasis and a product that are computed again may be rounded differently.
    """
    return _places.get(embedding, None, lambda: locked(_rotated(embedding) if pickled is None else pickled))


def search_of(embedding: Embedding, device: DeviceName) -> NearestSearch:
    """Return the search for the nearest word of an embedding on a device."""
    return _searches.get(embedding, device, lambda: AutomaticSearch(places_of(embedding)[:-1], device))


def allowed_search_of(
    embedding: Embedding, device: DeviceName, blocked: BlockList
) -> AllowedSearch | NearestSearch:
    """Return the search for the nearest word that is not on a list."""
    is_blocked = blocked.mask(embedding)
    if not is_blocked.any():
        return search_of(embedding, device)

    def build() -> AllowedSearch:
        ids = np.flatnonzero(~is_blocked)
        return AllowedSearch(AutomaticSearch(places_of(embedding)[ids], device), ids)

    return _allowed.get(embedding, (device, blocked.fingerprint), build)


def _rotated(embedding: Embedding) -> NDArray[np.float64]:
    embedding.verify()
    vectors, axes = embedding.vectors, embedding.spectrum.axes
    rows = np.empty((len(vectors) + 1, embedding.dim))
    for block in row_blocks(len(vectors)):
        rows[block] = vectors[block].astype(np.float64) @ axes
    # A product may round equal rows differently in different blocks; equal words must stay equal.
    first = first_equals(embedding)
    later = np.flatnonzero(first != np.arange(len(first)))
    rows[later] = rows[first[later]]
    rows[-1] = embedding.centroid @ axes
    return rows


def first_equals(embedding: Embedding) -> NDArray[np.int64]:
    """Return for each word the first word with the same vector, which is the one that is answered.

    Examples
    --------
    >>> emb = Embedding(["a", "b", "c"], [[0.0], [1.0], [-0.0]], public=True)
    >>> first_equals(emb).tolist()
    [0, 1, 0]
    """
    vectors = embedding.vectors
    first = np.arange(len(vectors))
    seen: dict[bytes, int] = {}
    for row in _maybe_equal(vectors):
        key = (vectors[row] + np.float32(0.0)).tobytes()  # turns -0.0 into 0.0
        first[row] = seen.setdefault(key, row)
    return first


def _maybe_equal(vectors: NDArray[np.float32]) -> list[int]:
    """Return the rows, in order, whose sum of hashed coordinates another row has too.

    Equal rows have equal sums, whole numbers modulo 2⁶⁴; few others do.
    """
    factors = np.random.default_rng(vectors.shape[1]).integers(0, 1 << 63, vectors.shape[1], dtype=np.uint64)
    sums = np.empty(len(vectors), np.uint64)
    for block in row_blocks(len(vectors)):
        bits = np.ascontiguousarray(vectors[block] + np.float32(0.0)).view(np.uint32)
        sums[block] = (bits * (2 * factors + 1)).sum(axis=1, dtype=np.uint64)
    _, inverse, counts = np.unique(sums, return_inverse=True, return_counts=True)
    return [int(row) for row in np.flatnonzero(counts[inverse] > 1)]
