"""The public map from blocked words to allowed ones, for mechanisms that know nothing of block lists."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from wordveil.block_list import BlockList
from wordveil.embedding import Embedding
from wordveil.embedding.arrays import locked, row_blocks
from wordveil.nearest.search import canonical_distances
from wordveil.nearest.single import SingleSearch
from wordveil.shared import PerEmbedding

__all__ = ["cleaned", "cleaned_shares"]

Ints = NDArray[np.int64]

_maps: Final = PerEmbedding[Ints](most=2)


def cleaned(answers: Ints, embedding: Embedding, blocked: BlockList) -> Ints:
    """Return answers in which each blocked word is replaced by the nearest allowed one.

    Nearest by Euclidean distance in the embedding; of equals, the word with the lowest id.

    Examples
    --------
    >>> emb = Embedding(["tea", "ale", "gin"], [[0.0], [1.0], [3.0]], public=True)
    >>> cleaned(np.array([0, 1, 2, 1]), emb, BlockList(["ale"], public=True))
    array([0, 0, 2, 0])
    """
    if not blocked.mask(embedding)[answers].any():
        return answers
    words = _maps.get(embedding, blocked.fingerprint, lambda: _map(embedding, blocked.mask(embedding)))
    return np.asarray(words[answers])


def cleaned_shares(
    shares: NDArray[np.float64], embedding: Embedding, blocked: BlockList
) -> NDArray[np.float64]:
    """Return shares of all words, along the last axis, in which that of a blocked word is the allowed one's.

    Examples
    --------
    >>> emb = Embedding(["tea", "ale", "gin"], [[0.0], [1.0], [3.0]], public=True)
    >>> cleaned_shares(np.array([[0.5, 0.25, 0.25]]), emb, BlockList(["ale"], public=True))
    array([[0.75, 0.  , 0.25]])
    """
    ids = np.flatnonzero(blocked.mask(embedding))
    moved = shares.copy()
    for word, target in zip(ids.tolist(), cleaned(ids, embedding, blocked).tolist(), strict=True):
        moved[..., target] += shares[..., word]
    moved[..., ids] = 0.0
    return moved


def _map(embedding: Embedding, is_blocked: NDArray[np.bool_]) -> Ints:
    """Return the id of each allowed word, and for each blocked word that of the nearest allowed one."""
    embedding.verify()
    vectors, blocked_ids = embedding.vectors, np.flatnonzero(is_blocked)
    points = vectors[blocked_ids].astype(np.float64)
    best, least = np.zeros(len(points), np.int64), np.full(len(points), np.inf)
    for block in row_blocks(len(vectors)):
        ids = np.arange(len(vectors))[block][~is_blocked[block]]
        if not len(ids):
            continue
        rows = vectors[ids].astype(np.float64)
        nearest = SingleSearch(rows).nearest(points)
        distances = canonical_distances(points.copy(), rows[nearest])
        is_nearer = distances < least  # an equal one in a later block has a higher id
        best[is_nearer], least[is_nearer] = ids[nearest[is_nearer]], distances[is_nearer]
    words = np.arange(len(vectors))
    words[blocked_ids] = best
    return locked(words)
