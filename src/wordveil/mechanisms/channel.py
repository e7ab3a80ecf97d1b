"""What an attacker sees of a word, and how likely each word of the vocabulary makes it."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from wordveil.noise import eigen_noise
from wordveil.randomness import Stream

if TYPE_CHECKING:
    from wordveil.mechanisms.additive import Mahalanobis

__all__ = ["AdditiveChannel", "Channel", "CleanChannel", "squared_distances"]

# Squared distances below this part of the largest squares that they can be the difference of may have lost 6
# of their 16 digits, so they are computed again from the differences of the coordinates.
_CANCELLED: Final = 1e-6
# Coordinates are multiplied by ε, and their squares must be finite. At this size, two words that differ in
# the last bit of a coordinate have an exponent of 1e124, so that a larger ε would change nothing.
_LARGEST: Final = 1e140


class Channel(ABC):
    """The closed form of a mechanism: what it computes before it answers, and the law of that.

    Return one from `Mechanism.channel` if you know Pr[seen | word] in closed form; then the attacker's number
    is computed from it. What is seen may be the answer itself, or anything that the answer is a function of:
    then the number holds for an attacker who sees more than the answer.
    """

    sees: ClassVar[str] = "sees the answers"
    """What the attacker sees, as the end of a sentence."""

    @abstractmethod
    def observe(self, ids: NDArray[np.int64], stream: Stream) -> NDArray[Any]:
        """Return what an attacker sees for each word id, at random: an array with one row per id."""

    @abstractmethod
    def log_likelihoods(self, seen: NDArray[Any], words: slice) -> NDArray[np.float64]:
        """Return log Pr[seen | word], up to a constant per row, for the words of a slice.

        The words are counted from 0 to V, where V is the centroid, which represents all unknown words.
        """

    @abstractmethod
    def answers(self, seen: NDArray[Any]) -> NDArray[np.int64]:
        """Return the answer that the mechanism gives for what is seen."""

    @abstractmethod
    def of_answers(self, answers: NDArray[np.int64]) -> NDArray[Any]:
        """Return what is most plausibly seen where these are the answers, for attackers who see only them."""


class AdditiveChannel(Channel):
    """An attacker who sees the noisy vector v: log Pr[v | u] = -ε·‖φ(u) - v‖_RM, up to a constant."""

    sees: ClassVar = "sees the noisy vectors"

    def __init__(self, mechanism: "Mahalanobis") -> None:
        self._mechanism = mechanism
        places, scales = mechanism._places, mechanism.metric.scales
        reach = float(np.abs(places).max()) / float(np.sqrt(scales[0])) * len(scales)
        self._stretch = min(mechanism.epsilon, _LARGEST / max(reach, 1e-100)) / np.sqrt(scales)

    @property
    def answers_nearest(self) -> bool:
        """Whether the answer is the nearest of all words."""
        return self._mechanism.answer == "nearest" and self._mechanism.blocked is None

    @property
    def places(self) -> NDArray[np.float64]:
        """The position of each word in the eigenbasis; the last row is the centroid."""
        return self._mechanism._places

    def noise(self, size: int, stream: Stream) -> NDArray[np.float64]:
        """Return noise at the ε of the mechanism, in the eigenbasis."""
        return eigen_noise(self._mechanism.metric.scales, self._mechanism.epsilon, size, stream)

    def observe(self, ids: NDArray[np.int64], stream: Stream) -> NDArray[np.float64]:
        """Return a noisy vector for each word id."""
        return self._mechanism._noisy_points(ids, stream)

    def log_likelihoods(self, seen: NDArray[np.float64], words: slice) -> NDArray[np.float64]:
        """Return -ε·‖φ(u) - v‖_RM for each noisy vector v and each word u."""
        # Centred, because far from the origin the squares would cancel.
        points, rows = ((table - self.places[-1]) * self._stretch for table in (seen, self.places[words]))
        squares = squared_distances(points, rows)
        np.sqrt(squares, out=squares)
        return np.asarray(np.negative(squares, out=squares))

    def answers(self, seen: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the nearest word of each noisy vector."""
        return self._mechanism._nearest(seen)

    def of_answers(self, answers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the vectors of the answers: the noisy vector was nearer to them than to any other word's."""
        return self.places[answers]


class CleanChannel(Channel):
    """The channel of a mechanism with a block list: the attacker sees what is behind its answers, as before.

    The list changes what is answered, and not what is seen before that. So S stays the same.
    """

    def __init__(self, channel: Channel, clean: Callable[[NDArray[np.int64]], NDArray[np.int64]]) -> None:
        self._channel, self._clean = channel, clean
        vars(self)["sees"] = channel.sees

    def observe(self, ids: NDArray[np.int64], stream: Stream) -> NDArray[Any]:
        """Return what an attacker sees for each word id, without the list."""
        return self._channel.observe(ids, stream)

    def log_likelihoods(self, seen: NDArray[Any], words: slice) -> NDArray[np.float64]:
        """Return log Pr[seen | word], up to a constant per row."""
        return self._channel.log_likelihoods(seen, words)

    def answers(self, seen: NDArray[Any]) -> NDArray[np.int64]:
        """Return the answer for what is seen, which is never a blocked word."""
        return self._clean(self._channel.answers(seen))

    def of_answers(self, answers: NDArray[np.int64]) -> NDArray[Any]:
        """Return what is most plausibly seen where these are the answers."""
        return self._channel.of_answers(answers)


def squared_distances(points: NDArray[np.float64], rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ‖p - r‖² for all points and rows (centre them); small ones are as exact as large ones.

    Examples
    --------
    >>> squared_distances(np.array([[0.0, 0.0], [3.0, 4.0]]), np.array([[3.0, 4.0]]))
    array([[25.],
           [ 0.]])
    """
    left, right = (np.einsum("ij,ij->i", table, table)[:, None] for table in (points, rows))
    # One product gives all of ‖p‖² - 2p·r + ‖r‖².
    augmented = np.hstack((-2.0 * rows, np.ones_like(right), right))
    squares = np.hstack((points, left, np.ones_like(left))) @ augmented.T
    limits = _CANCELLED * (left[:, 0] + right.max())
    for i in np.flatnonzero(squares.min(axis=1) < limits):
        close = np.flatnonzero(squares[i] < limits[i])
        differences = rows[close] - points[i]
        squares[i, close] = np.einsum("ij,ij->i", differences, differences)
    return np.asarray(squares)
