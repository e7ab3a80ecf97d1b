"""The last step of a learned map: shares out what an attacker gains between kinds of words.

A fit holds S for three groups of words, and what it reaches for one group is paid for by another. Moving a
word towards the mean of its nearest words makes it harder to recognise, and away from it easier. Function
words are moved closer, since they are half of a running text and say little; rare words are moved apart,
since they are many and an answer among them is then closer. Only public data is used, as in the fit itself.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from wordveil.embedding.map_fit import MapOptions

__all__ = ["settled"]

# Chosen by judgement: fewer neighbours follow the noise of single positions, more no longer describe a word's
# own surroundings. The shipped map depends on this number, so another one needs a new map.
_NEIGHBOURS: Final = 100
_RARE: Final = 0.6  # of the vocabulary, from its rarest word on; chosen with the shipped map, as above
_BLOCK: Final = 512  # words at a time: 140 MB at 33,752 words


def settled(
    positions: NDArray[np.float32],
    shares: NDArray[np.float64],
    content: NDArray[np.float64],
    options: MapOptions,
) -> NDArray[np.float32]:
    """Return positions at which function words are closer to their neighbours, and rare words further away.

    `shares` and `content` are priors of V + 1 entries; a function word has a share in the first only.

    Examples
    --------
    >>> square = np.array([[0, 0], [4, 0], [0, 4], [4, 4]], dtype=np.float32)
    >>> use, content = np.array([4.0, 3.0, 2.0, 1.0, 0.0]), np.array([0.0, 3.0, 2.0, 1.0, 0.0])
    >>> settled(square, use, content, MapOptions(function_words=0.5, rare_words=1.0)).tolist()
    [[-1.25, -1.25], [1.75, -2.25], [-2.25, 1.75], [1.75, 1.75]]
    """
    points = positions.astype(np.float64)
    count = len(points)
    factors = np.ones(count)
    rarest = np.argsort(shares[:-1], kind="stable")[: int(_RARE * count)]
    factors[rarest] = options.rare_words
    factors[(content[:-1] == 0.0) & (shares[:-1] > 0.0)] = options.function_words
    means = _means_around(points, min(_NEIGHBOURS, count))
    moved = means + factors[:, None] * (points - means)
    return np.asarray(moved - moved.mean(axis=0), dtype=np.float32)


def _means_around(points: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Return the mean of the nearest points of each point, itself included."""
    squares = (points**2).sum(axis=1)
    means = np.empty_like(points)
    for start in range(0, len(points), _BLOCK):
        block = slice(start, start + _BLOCK)
        distances = squares - 2.0 * (points[block] @ points.T)
        nearest = np.argpartition(distances, count - 1, axis=1)[:, :count]
        means[block] = points[nearest].mean(axis=1)
    return means
