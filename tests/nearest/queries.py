"""Searches and queries that several test modules share."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

import wordveil as wv
from wordveil.nearest import NearestSearch, search
from wordveil.nearest.cuda import TorchSearch

__all__ = ["Floats", "by_differences", "in_16_bits", "on_torch", "real_queries"]

Floats = NDArray[np.float64]


def on_torch(rows: Floats) -> NearestSearch:
    """The search for a GPU, on whatever device PyTorch can use here."""
    import torch

    return TorchSearch(rows, "cuda" if torch.cuda.is_available() else "cpu")


def in_16_bits(rows: Floats) -> NearestSearch:
    """The same with 16-bit floats, even without a GPU."""
    import torch

    return TorchSearch(rows, "cuda" if torch.cuda.is_available() else "cpu", half=True)


def by_differences(rows: Floats, points: Floats) -> list[int]:
    """The definition: the argmin of the canonical distance over all rows."""
    blocks = [rows[start : start + 256] for start in range(0, len(rows), 256)]  # they fit in the cache
    answers = []
    for point in points:
        distances = [
            search.canonical_distances(np.broadcast_to(point, block.shape).copy(), block) for block in blocks
        ]
        answers.append(int(np.concatenate(distances).argmin()))
    return answers


def real_queries(glove: wv.Embedding, epsilon: float, count: int) -> Iterator[tuple[Floats, Floats]]:
    """Yield the rows and noisy points of a mechanism, at λ = 0 and at λ = 1."""
    for lam in (0.0, 1.0):
        mechanism = wv.Mahalanobis(glove, epsilon, lam)
        ids = np.linspace(0, len(glove) - 1, count).astype(np.int64)
        yield mechanism._places[:-1], mechanism._noisy_points(ids, wv.insecure_stream(5))
