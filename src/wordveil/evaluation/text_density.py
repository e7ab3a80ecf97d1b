"""How densely words lie in the embedding, and how often texts contain isolated ones (paper, appendix)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wordveil.embedding import Embedding
from wordveil.errors import FormatError, ParameterError
from wordveil.metric import Metric
from wordveil.tokens import Tokenizer

__all__ = ["Density", "neighbour_distances", "text_density"]

_BLOCK_ROWS: Final = 512  # memory against calls: about 70 MB of float32 scores for the default vocabulary
_EXTREME_WORDS: Final = 50  # the sparsest and the densest words of the paper's table
_SMALLEST: Final = 1e-300  # in place of a zero denominator, when all of the densest words share a vector


def neighbour_distances(embedding: Embedding, ids: NDArray[np.int64], rank: int = 1) -> NDArray[np.float64]:
    """Return the Euclidean distance of each word to its nearest neighbour, or to its `rank`-th nearest.

    Examples
    --------
    >>> emb = Embedding(["a", "b", "c"], [[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]], public=True)
    >>> neighbour_distances(emb, np.arange(3)).round(3).tolist()
    [1.0, 4.243, 1.0]
    """
    vectors = embedding.vectors
    nearest = np.empty(len(ids), dtype=np.int64)
    squares = np.einsum("ij,ij->i", vectors, vectors)
    for start in range(0, len(ids), _BLOCK_ROWS):
        block = ids[start : start + _BLOCK_ROWS]
        scores = squares - 2.0 * (vectors[block] @ vectors.T)
        scores[np.arange(len(block)), block] = np.inf
        nearest[start : start + _BLOCK_ROWS] = np.argpartition(scores, rank - 1, axis=1)[:, rank - 1]
    difference = vectors[ids].astype(np.float64) - vectors[nearest]
    return np.asarray(np.linalg.norm(difference, axis=1))


@dataclass(frozen=True, slots=True)
class Density:
    """The paper's table for one collection of texts.

    Attributes
    ----------
    records : int
    words_mean, words_deviation : float
        Words per record.
    vocabulary : int
        How many different words of the texts have a vector.
    spread : float
        d_max/d_min, the largest distance to a nearest neighbour over the smallest.
    extremes : float
        The mean distance of the 50 sparsest words over that of the 50 densest.
    share : float
        The mean share of records that contain a given one of the 50 sparsest words.
    extreme_words : int
        50, or half of the words if there are fewer than 100.
    ids : array of int
        The words of the texts that have a vector.
    distances : array
        The distance of each of them to the nearest other one.
    shaped : pair of float, or None
        `spread` and `extremes` at λ = 1, where distances follow the shape of the vectors; None if there are
        too few words for that.
    """

    records: int
    words_mean: float
    words_deviation: float
    vocabulary: int
    spread: float
    extremes: float
    share: float
    extreme_words: int
    ids: NDArray[np.int64]
    distances: NDArray[np.float64]
    shaped: tuple[float, float] | None = None


def text_density(embedding: Embedding, texts: Iterable[str]) -> Density:
    """Return the paper's table for a collection of texts; distances are among the words that it contains."""
    tokenizer = Tokenizer(embedding.index)
    lengths: list[int] = []
    record_counts = np.zeros(len(embedding), dtype=np.int64)
    for text in texts:
        ids = tokenizer.ids(text)
        lengths.append(len(ids))
        in_vocabulary = np.array([number for number in ids if number >= 0], dtype=np.int64)
        record_counts[np.unique(in_vocabulary)] += 1
    used = np.flatnonzero(record_counts)
    if len(used) < 2:
        raise FormatError("The texts contain fewer than two words of the vocabulary.")
    used_words = Embedding(
        [embedding.words[i] for i in used.tolist()], embedding.vectors[used], public=embedding.public
    )
    distances = neighbour_distances(used_words, np.arange(len(used_words)))
    if not distances.any():
        raise FormatError("All words of the texts have the same vector.")
    count = min(_EXTREME_WORDS, len(used) // 2)
    sparsest = np.argsort(distances, kind="stable")[-count:]
    spread, extremes = _ratios(distances, count)
    return Density(
        len(lengths),
        float(np.mean(lengths)),
        float(np.std(lengths, ddof=1)) if len(lengths) > 1 else 0.0,
        len(used),
        spread,
        extremes,
        float(record_counts[used[sparsest]].mean() / len(lengths)),
        count,
        used,
        distances,
        _at_full_shape(embedding, used_words, used, count),
    )


def _ratios(distances: NDArray[np.float64], count: int) -> tuple[float, float]:
    """Return the ratios of the largest to the smallest distance, and of the means of a few of each."""
    ordered = np.sort(distances)
    smallest = ordered[ordered > 0.0][0]
    extremes = ordered[-count:].mean() / max(ordered[:count].mean(), _SMALLEST)
    return float(ordered[-1] / smallest), float(extremes)


def _at_full_shape(
    embedding: Embedding, used_words: Embedding, used: NDArray[np.int64], count: int
) -> tuple[float, float] | None:
    try:
        metric = Metric.from_embedding(embedding, 1.0)
    except ParameterError:  # fewer words than dimensions, or no spread along one of them
        return None
    white = metric.whiten(embedding.vectors[used] - embedding.centroid)
    shaped = neighbour_distances(
        Embedding(used_words.words, white, public=embedding.public), np.arange(len(used_words))
    )
    return _ratios(shaped, count) if shaped.any() else None
