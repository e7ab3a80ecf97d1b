"""Public groups of words that are near each other, as CusText uses them."""

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from wordveil.cache import Arrays, cached_about
from wordveil.embedding import Embedding
from wordveil.embedding.arrays import locked
from wordveil.mechanisms.white import White
from wordveil.metric import Metric
from wordveil.shared import PerEmbedding

__all__ = ["WordGroups", "word_groups_of"]

_COMPACT: Final = 64  # groups after which the rows that are left are copied: copying each time would be slow

Ints = NDArray[np.int64]

_groups: Final = PerEmbedding["WordGroups"](most=2)


@dataclass(frozen=True, eq=False)
class WordGroups:
    """Disjoint groups that cover the vocabulary.

    Attributes
    ----------
    labels : array of shape (V + 1,)
        The group of each word; the last one is that of the centroid.
    """

    labels: Ints

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", locked(np.ascontiguousarray(self.labels)))

    def __reduce__(self) -> tuple[type[Self], tuple[Any, ...]]:
        return type(self), (self.labels,)

    @cached_property
    def columns(self) -> Ints:
        """The place of each word in its group."""
        words = self.labels[:-1]
        order = np.argsort(words, kind="stable")
        starts = np.searchsorted(words[order], np.arange(words.max() + 1))
        columns = np.empty(len(words), np.int64)
        columns[order] = np.arange(len(words)) - starts[words[order]]
        return columns

    @cached_property
    def table(self) -> Ints:
        """The words of each group, one row per group; smaller groups are filled up with -1."""
        words = self.labels[:-1]
        table = np.full((int(words.max()) + 1, int(self.columns.max()) + 1), -1)
        table[words, self.columns] = np.arange(len(words))
        return table

    @cached_property
    def fingerprint(self) -> str:
        """The first 16 digits of a SHA-256 of the groups."""
        return hashlib.sha256(self.labels.astype("<i4").tobytes()).hexdigest()[:16]


def word_groups_of(embedding: Embedding, metric: Metric, white: White, size: int) -> WordGroups:
    """Return groups of that many words; computed once, and kept in the user's cache if they may be."""

    def compute() -> Arrays:
        return {"labels": _computed(white, size)}

    def prepared() -> WordGroups:
        key = {"size": size, "metric": metric.fingerprint.hex()}
        return WordGroups(cached_about(embedding, "groups", key, compute)["labels"])

    return _groups.get(embedding, (size, metric.fingerprint), prepared)


def _computed(white: White, size: int) -> Ints:
    """Return the labels: the first word without a group takes the nearest others without one, and so on."""
    places = white.places - white.places[-1]
    rows = places[:-1].astype(np.float32)
    ids = np.arange(len(rows))
    labels, alive, group = np.full(len(rows), -1), np.ones(len(rows), np.bool_), 0
    squares = np.einsum("ij,ij->i", rows, rows)
    while len(ids):
        distances = squares - 2.0 * (rows @ rows[alive.argmax()])
        distances[~alive] = np.inf
        left = int(alive.sum())
        if left < 2 * size:  # a small rest would be a group of few words, or of one
            chosen = np.flatnonzero(alive)
        else:
            distances[alive.argmax()] = -np.inf  # itself, however it is rounded
            chosen = np.argpartition(distances, size - 1)[:size]
        labels[ids[chosen]] = group
        alive[chosen] = False
        group += 1
        if group % _COMPACT == 0 or not alive.any():
            ids, rows, squares = ids[alive], rows[alive], squares[alive]
            alive = np.ones(len(ids), np.bool_)
    nearest = int(np.square(places[:-1]).sum(axis=1).argmin())
    return np.append(labels, labels[nearest])
