"""The distances from words to their nearest words, in any metric, over a fixed public sample."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from wordveil.cache import Arrays, cached_about
from wordveil.embedding import Embedding
from wordveil.embedding.arrays import locked
from wordveil.metric import Metric
from wordveil.shared import PerEmbedding

__all__ = ["neighbour_distances", "sample_ids"]

_SAMPLE: Final = 1000  # more would be more exact, and delay every first guarantee in proportion
_BLOCK_ROWS: Final = 1024  # by 1,000 sampled words, and a few such tables at a time: tens of MB
_distances: Final = PerEmbedding[NDArray[np.float64]](most=16)  # 24 KB each


def sample_ids(count: int, size: int = _SAMPLE) -> NDArray[np.int64]:
    """Return the ids of a public sample: spread evenly over the vocabulary, and the same every time."""
    return np.unique(np.linspace(0, count - 1, min(size, count)).astype(np.int64))


def neighbour_distances(metric: Metric, embedding: Embedding, ranks: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the distances from each sampled word to its neighbours of those ranks; computed once."""
    return _distances.get(embedding, (metric.fingerprint, ranks), lambda: _cached(metric, embedding, ranks))


def _cached(metric: Metric, embedding: Embedding, ranks: tuple[int, ...]) -> NDArray[np.float64]:
    key = {"metric": metric.fingerprint.hex(), "ranks": str(ranks), "sample": _SAMPLE}

    def compute() -> Arrays:
        return {"distances": _computed(metric, embedding, ranks)}

    return cached_about(embedding, "neighbours", key, compute)["distances"]


def _computed(metric: Metric, embedding: Embedding, ranks: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the distances, block by block.

    The neighbours are found by differences of squares. Far from the origin these would cancel, so the vectors
    are centred first. The distances themselves come from the differences of the vectors.
    """
    sample = sample_ids(len(embedding))
    vectors, centre, most = embedding.vectors, embedding.centroid, max(ranks)
    points = metric.whiten(vectors[sample] - centre)
    squares = np.einsum("ij,ij->i", points, points)
    best, nearest = np.full((len(sample), most), np.inf), np.zeros((len(sample), most), dtype=np.int64)
    for start in range(0, len(vectors), _BLOCK_ROWS):
        block = metric.whiten(vectors[start : start + _BLOCK_ROWS] - centre)
        distances = squares[:, None] + np.einsum("ij,ij->i", block, block) - 2.0 * points @ block.T
        itself = np.flatnonzero((sample >= start) & (sample < start + len(block)))
        distances[itself, sample[itself] - start] = np.inf
        both = np.concatenate((best, distances), axis=1)
        numbers = np.broadcast_to(np.arange(start, start + len(block)), distances.shape)
        chosen = np.argpartition(both, most - 1, axis=1)[:, :most]
        best = np.take_along_axis(both, chosen, axis=1)
        nearest = np.take_along_axis(np.concatenate((nearest, numbers), axis=1), chosen, axis=1)
    result = np.empty((len(sample), len(ranks)))
    for row, word_id in enumerate(sample):
        differences = vectors[nearest[row]].astype(np.float64) - vectors[word_id]
        result[row] = np.sort(np.asarray(metric.norm(differences)))[[rank - 1 for rank in ranks]]
    return locked(result)
