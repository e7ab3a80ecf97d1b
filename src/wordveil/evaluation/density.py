"""Where words stand thickly and where thinly, and how often texts hold the lonely ones (the appendix)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from wordveil.embedding import Embedding
from wordveil.errors import FormatError
from wordveil.tokens import Tokenizer

__all__ = ["Density", "neighbour_distances", "text_density"]

_BLOCK_ROWS: Final = 512
_EXTREMES: Final = 50


def neighbour_distances(embedding: Embedding, ids: NDArray[np.int64], rank: int = 1) -> NDArray[np.float64]:
    """Return the Euclidean distance of each word to its nearest neighbour, or to its rank-th nearest.

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
        part = ids[start : start + _BLOCK_ROWS]
        scores = squares - 2.0 * (vectors[part] @ vectors.T)
        scores[np.arange(len(part)), part] = np.inf
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
        Words in a record.
    vocabulary : int
        Different words of the texts that have a vector.
    spread : float
        d_max/d_min, the largest distance to a nearest neighbour over the least.
    extremes : float
        The mean distance of the 50 sparsest words over that of the 50 densest.
    share : float
        The mean share of records that hold a given word of the 50 sparsest.
    extreme_words : int
        50, or fewer where there are fewer than 100 words.
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


def text_density(embedding: Embedding, texts: Iterable[str]) -> Density:
    """Return the figures of a collection of texts on these vectors, among the words that it holds."""
    tokenizer = Tokenizer(embedding.index)
    lengths: list[int] = []
    held = np.zeros(len(embedding), dtype=np.int64)
    for text in texts:
        ids = tokenizer.ids(text)
        lengths.append(len(ids))
        known = np.unique(np.array([number for number in ids if number >= 0], dtype=np.int64))
        held[known] += 1
    used = np.flatnonzero(held)
    if len(used) < 2:
        raise FormatError("The texts hold fewer than two words of the vocabulary.")
    own = Embedding(
        [embedding.words[i] for i in used.tolist()], embedding.vectors[used], public=embedding.public
    )
    distances = neighbour_distances(own, np.arange(len(own)))
    order = np.argsort(distances, kind="stable")
    count = min(_EXTREMES, len(used) // 2)
    densest, sparsest = order[:count], order[-count:]
    if not distances.any():
        raise FormatError("All words of the texts have the same vector.")
    least = distances[distances > 0.0].min()
    return Density(
        len(lengths),
        float(np.mean(lengths)),
        float(np.std(lengths, ddof=1)) if len(lengths) > 1 else 0.0,
        len(used),
        float(distances.max() / least),
        float(distances[sparsest].mean() / max(distances[densest].mean(), 1e-300)),
        float(held[used[sparsest]].mean() / len(lengths)),
        count,
        used,
        distances,
    )
