"""The loops of the answers that use the posterior, compiled by numba to run without Python's global lock."""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from wordveil.nearest.kernels import compiled

__all__ = ["closest", "likeliest"]

Floats = NDArray[np.float32]

# Sums may be reordered, which rounds them differently on another processor: the answer is still a function of
# the point. Infinite and undefined numbers keep their meaning.
_FAST: Final = {"reassoc", "contract", "arcp", "nsz", "nnan"}


@compiled(fastmath=_FAST)
def _score(point: Floats, columns: Floats, bias: Floats, scores: Floats, tops: Floats) -> None:
    """Write the score of every word, bias - distance, and the best of each strip.

    `columns` holds the coordinates of the words, (strips, dims, words of a strip).
    """
    strips, dims, width = columns.shape
    squares = np.empty(width, np.float32)
    for strip in range(strips):
        squares[:] = np.float32(0.0)
        for axis in range(dims):
            for i in range(width):
                difference = columns[strip, axis, i] - point[axis]
                squares[i] += difference * difference
        top = np.float32(-np.inf)
        for i in range(width):
            score = bias[strip, i] - np.sqrt(squares[i])
            scores[strip * width + i] = score
            top = max(top, score)
        tops[strip] = top


@compiled(fastmath=_FAST)
def likeliest(points: Floats, columns: Floats, bias: Floats, answers: NDArray[np.int64]) -> None:
    """Write the word with the best score for each point; of equals, the lowest index."""
    strips, _, width = columns.shape
    scores, tops = np.empty(strips * width, np.float32), np.empty(strips, np.float32)
    for row in range(len(points)):
        _score(points[row], columns, bias, scores, tops)
        start = np.argmax(tops) * width
        answers[row] = start + np.argmax(scores[start : start + width])


@compiled(fastmath=_FAST)
def closest(
    points: Floats, columns: Floats, bias: Floats, units: Floats, candidates: int, answers: NDArray[np.int64]
) -> None:
    """Write the candidate with the largest expected cosine for each point; of equals, the likelier one.

    The candidates are the words with the best scores. The sum of their unit vectors, weighted by the
    posterior, has a product with each of them: its expected cosine.
    """
    strips, _, width = columns.shape
    scores, tops = np.empty(strips * width, np.float32), np.empty(strips, np.float32)
    chosen = np.empty(strips * width, np.int64)
    mean = np.empty(units.shape[1], np.float32)
    for row in range(len(points)):
        _score(points[row], columns, bias, scores, tops)
        # As many strips as there are candidates have a word that reaches this score.
        floor = np.float32(-np.inf)
        if strips > candidates:
            floor = np.partition(tops, strips - candidates)[strips - candidates]
        count = 0
        for strip in range(strips):
            if tops[strip] >= floor:
                for i in range(strip * width, (strip + 1) * width):
                    if scores[i] >= floor and scores[i] > -np.inf:
                        chosen[count] = i
                        count += 1
        if count > candidates:
            floor = np.partition(scores[chosen[:count]], count - candidates)[count - candidates]
        best = tops.max()
        mean[:] = np.float32(0.0)
        for place in range(count):
            word = chosen[place]
            if scores[word] >= floor:
                weight = np.exp(scores[word] - best)
                for axis in range(len(mean)):
                    mean[axis] += weight * units[word, axis]
        highest, top = np.float32(-np.inf), np.float32(-np.inf)
        for place in range(count):
            word = chosen[place]
            if scores[word] >= floor:
                product = np.float32(0.0)
                for axis in range(len(mean)):
                    product += mean[axis] * units[word, axis]
                if product > highest or (product == highest and scores[word] > top):
                    highest, top, answers[row] = product, scores[word], word
