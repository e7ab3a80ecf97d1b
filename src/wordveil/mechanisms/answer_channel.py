"""The closed form of mechanisms whose answers have known probabilities: an attacker who sees the answers."""

import json
import threading
from typing import TYPE_CHECKING, Final

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from wordveil.cache import Arrays, cached_about
from wordveil.mechanisms.channel import Channel, squared_distances
from wordveil.mechanisms.exponential_law import ExponentialLaw
from wordveil.nearest.threads import in_threads
from wordveil.randomness import Stream
from wordveil.shared import PerEmbedding

if TYPE_CHECKING:
    from wordveil.mechanisms.exponential import Exponential

__all__ = ["AnswerChannel", "all_log_normalisers", "most_words"]

# Of a vocabulary for which the normalisers of all words are summed up, in V²·m steps. At the default vectors
# that takes seconds; at ten times as many words, a hundred times as long.
_MOST_WORDS: Final = 65_536
_BLOCK: Final = 1024  # words by words: 4 MB in float32
_CANCELLED: Final = (
    1e-3  # of the largest square: below it, a float32 difference of squares has too few digits
)

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_normalisers: Final = PerEmbedding[Floats](most=4)


def most_words() -> int:
    """Return the most words that S is computed for; for more, it is bounded by draws."""
    return _MOST_WORDS


class AnswerChannel(Channel):
    """An attacker who sees the answer u: log Pr[u | w] = -h·min(d(w, u), γ) - log Z(w).

    Z(w) is the sum of the weights of w. All of them are computed once per setting, in float32 products: they
    are off by some 1e-4, which changes S in the fourth digit. Draws never use them.
    """

    def __init__(self, mechanism: "Exponential") -> None:
        self._mechanism, self._law = mechanism, mechanism.law
        white = self._law.white
        self._centred = white.places - white.places[-1]

    def _log_normalisers(self) -> Floats:
        mechanism = self._mechanism
        setting = json.dumps(mechanism.setting(), sort_keys=True)

        def compute() -> Arrays:
            return {"logs": all_log_normalisers(self._law)}

        def prepared() -> Floats:
            return cached_about(mechanism.embedding, "normalisers", {"setting": setting}, compute)["logs"]

        return _normalisers.get(mechanism.embedding, setting, prepared)

    def observe(self, ids: Ints, stream: Stream) -> Ints:
        """Return an answer for each word id."""
        self._log_normalisers()  # here, where all cores are free: likelihoods are computed in threads
        return self._law.draw(ids, stream)

    def log_likelihoods(self, seen: Ints, words: slice) -> Floats:
        """Return log Pr[u | w] for each answer u and each word w of a slice."""
        squares = squared_distances(self._centred[seen], self._centred[words])
        distances = np.minimum(np.sqrt(squares, out=squares), self._law.reach)
        return np.asarray(-self._law.rate * distances - self._log_normalisers()[words])

    def answers(self, seen: Ints) -> Ints:
        """Return what is seen: the answers themselves."""
        return seen

    def of_answers(self, answers: Ints) -> Ints:
        """Return the answers."""
        self._log_normalisers()  # as in `observe`
        return answers


def all_log_normalisers(law: ExponentialLaw) -> Floats:
    """Return log Z(w) for all words and the centroid, by float32 products of each pair of blocks once.

    Squares that may have lost more than three of their seven digits are computed again in float64.
    """
    rows = (law.white.places - law.white.places[-1])[:-1]
    singles = rows.astype(np.float32)
    squares = np.einsum("ij,ij->i", rows, rows).astype(np.float32)
    limit = np.float32(_CANCELLED * float(squares.max()))
    sums, turn = np.zeros(len(rows)), threading.Lock()
    starts = range(0, len(rows), _BLOCK)
    pairs = iter([(first, second) for first in starts for second in starts if first <= second])

    def work() -> bool:
        with turn:
            pair = next(pairs, None)
        if pair is None:
            return False
        left, right = (slice(start, start + _BLOCK) for start in pair)
        table = singles[left] @ (-2.0 * singles[right].T)
        table += squares[left, None]
        table += squares[right]
        close = np.nonzero(table < limit)
        table[close] = np.square(rows[left][close[0]] - rows[right][close[1]]).sum(axis=1)
        np.sqrt(table, out=table)
        np.minimum(table, np.float32(law.reach), out=table)
        table *= np.float32(-law.rate)
        np.exp(table, out=table)
        by_row, by_column = table.sum(axis=1), np.ones(len(table), np.float32) @ table
        with turn:
            sums[left] += by_row
            if left != right:
                sums[right] += by_column
        return True

    with threadpool_limits(1, user_api="blas"):  # else each of our threads would wait for several of its own
        in_threads(work, len(starts))
    return np.append(np.log(sums), law.log_normalisers(np.array([-1])).values)
