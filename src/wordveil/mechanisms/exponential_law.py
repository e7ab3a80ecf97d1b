"""Draws from Pr[u | w] ∝ exp(-h·min(d(w, u), γ)) without computing all weights, and the probabilities.

The draw is by rejection, and its law is the formula to within float64. Let l be the distance from w to its
nearest other word, cut off at γ. Two kinds of proposals compete: w itself, with weight 1 - exp(-h·l), and a
uniform word u of the vocabulary, with weight V·exp(-h·l) in all, which is accepted with probability
exp(-h·(min(d, γ) - l)), or 1 if u is w. So the weight of u ≠ w is exp(-h·l)·exp(-h·(min(d, γ) - l)), which is
exp(-h·min(d, γ)), and that of w is 1 - exp(-h·l) + exp(-h·l) = 1. Both are as in the formula.

Every number here is float64: distances are canonical, u is an unbiased integer, the test compares h·(d - l)
with an exponential deviate, and how many uniform proposals come before w itself is a geometric deviate. At
usual settings a draw looks at some hundreds of words instead of all. After V/4 rejections, the weights of all
words are computed and one is drawn by the inverse of their sums: past rejections do not change the law of
what comes next. How long a draw takes depends on the word.
"""

import math
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.mechanisms.white import White
from wordveil.nearest.threads import in_slices
from wordveil.randomness import Stream

__all__ = ["ExponentialLaw", "LogNormalisers"]

_ROWS: Final = 8192  # draws at a time
_PAIRS: Final = 1 << 17  # proposals per round: their numbers take a few MB
_SLICE: Final = 1 << 13  # proposals that a thread measures at a time
_FIRST: Final = 4  # proposals per word in the first round; twice as many in each that follows
_PATIENCE: Final = 4  # after V/4 proposals, all weights cost no more than some more of them
_FOREVER: Final = 1 << 60  # proposals: more than any run makes
_TABLE: Final = 1 << 21  # numbers in a table of weights: 16 MB
_UNIT: Final = 2.0**-53  # the unit roundoff of float64

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


class LogNormalisers(NamedTuple):
    """log Σ_u exp(-h·min(d(w, u), γ)) for some words, and a bound of the error of each."""

    values: Floats
    errors: Floats


class ExponentialLaw:
    """Pr[u | w] ∝ exp(-h·min(d(w, u), γ)) over all words u.

    Parameters
    ----------
    white : White
        The words and the centroid.
    rate : float
        h.
    reach : float
        γ; infinite for no truncation.

    Examples
    --------
    >>> white = White(np.array([[0.0], [1.0], [3.0], [1.5]]))
    >>> law = ExponentialLaw(white, rate=np.log(2.0))
    >>> (law.probabilities(np.array([0])) * 13.0).round(9).tolist()  # 1, 1/2 and 1/8 of 13/8
    [[8.0, 4.0, 1.0]]
    """

    def __init__(self, white: White, rate: float, reach: float = math.inf) -> None:
        self.white, self.rate, self.reach = white, rate, reach

    def draw(self, ids: Ints, stream: Stream) -> Ints:
        """Return a word for each id; -1 is the centroid."""
        answers = np.empty(len(ids), np.int64)
        for start in range(0, len(ids), _ROWS):
            block = slice(start, start + _ROWS)
            answers[block] = self._drawn(ids[block], stream)
        return answers

    def _drawn(self, ids: Ints, stream: Stream) -> Ints:
        lows = np.minimum(self.white.to_nearest_other(ids), self.reach)
        left = self._before_itself(ids, lows, stream)
        answers = ids.copy()  # the answer where w itself comes first
        pending = np.flatnonzero(left > 0)
        tried, most = 0, _FIRST
        while len(pending):
            # That another uniform proposal comes is known of these rows. Once it is rejected, nothing is
            # known about what comes next, so the last round has one proposal each.
            is_last = tried > self.white.count // _PATIENCE
            size = 1 if is_last else max(1, min(most, _PAIRS // len(pending)))
            counts = np.minimum(left[pending], size)
            rows = np.repeat(pending, counts)
            words = stream.integers(self.white.count, (len(rows),))
            limits = stream.exponentials((len(rows),))
            accepted = self._accepted(ids[rows], words, lows[rows], limits)
            settled, first = np.unique(rows[accepted], return_index=True)
            answers[settled] = words[accepted][first]
            left[settled] = 0
            if is_last:
                pending = pending[left[pending] > 0]
                answers[pending] = self._by_all_weights(ids[pending], stream)
                break
            left[pending] = np.maximum(left[pending] - counts, 0)
            pending = pending[left[pending] > 0]
            tried, most = tried + size, 2 * most
        return answers

    def _before_itself(self, ids: Ints, lows: Floats, stream: Stream) -> Ints:
        """Return how many uniform proposals come before w itself is proposed: never, for the centroid.

        The chance that the next proposal is w itself is a/(a + b), with the weights a = 1 - exp(-h·l) and
        b = V·exp(-h·l), so the number is geometric: floor(E / log(1 + a/b)) with an exponential E.
        """
        limits = stream.exponentials((len(ids),))
        with np.errstate(divide="ignore", over="ignore"):
            ratio = np.expm1(self.rate * lows) / self.white.count
            counts = np.floor(limits / np.log1p(np.where(ids < 0, 0.0, ratio)))
        return np.asarray(np.minimum(counts, float(_FOREVER)).astype(np.int64))

    def _accepted(self, ids: Ints, words: Ints, lows: Floats, limits: Floats) -> Ints:
        """Return which proposals are accepted."""
        accepted = np.empty(len(ids), np.bool_)

        def accept(part: slice) -> None:
            distances = np.minimum(self.white.distances(ids[part], words[part]), self.reach)
            accepted[part] = self.rate * (distances - lows[part]) <= limits[part]

        in_slices(len(ids), _SLICE, accept)
        accepted |= ids == words
        return np.flatnonzero(accepted)

    def _by_all_weights(self, ids: Ints, stream: Stream) -> Ints:
        answers = np.empty(len(ids), np.int64)
        uniforms = stream.uniforms((len(ids),))
        step = max(1, _TABLE // self.white.count)
        for start in range(0, len(ids), step):
            sums = self._weights(ids[start : start + step])[0].cumsum(axis=1)
            for row, (total, uniform) in enumerate(
                zip(sums, uniforms[start : start + step], strict=True), start
            ):
                place = int(np.searchsorted(total, uniform * total[-1], side="right"))
                answers[row] = min(place, self.white.count - 1)
        return answers

    def _weights(self, ids: Ints) -> tuple[Floats, Floats]:
        """Return exp(h·l - h·min(d, γ)) for all words, and h·l for each id, l the least distance."""
        count = self.white.count
        table = self.white.distances(np.repeat(ids, count), np.tile(np.arange(count), len(ids)))
        scores = self.rate * np.minimum(table, self.reach).reshape(len(ids), count)
        least = scores.min(axis=1)
        scores -= least[:, None]
        return np.exp(np.negative(scores, out=scores), out=scores), least

    def probabilities(self, ids: Ints) -> Floats:
        """Return Pr[u | w] for each id and all words u, one row per id."""
        weights, _ = self._weights(ids)
        return np.asarray(weights / weights.sum(axis=1, keepdims=True))

    def log_weights(self, ids: Ints, others: Ints) -> Floats:
        """Return -h·min(d, γ) of each pair."""
        return np.asarray(-self.rate * np.minimum(self.white.distances(ids, others), self.reach))

    def log_normalisers(self, ids: Ints) -> LogNormalisers:
        """Return the logarithm of the sum of all weights of each id, with a certified bound of its error.

        With u = 2⁻⁵³: a canonical distance is off by at most (m + 6)u of itself, so a score by (m + 8)u of
        itself; an exponential adds 4u, a sum of V terms Vu, the logarithm and the last difference 8u of
        theirs. All of that is counted twice.
        """
        values, errors = np.empty(len(ids)), np.empty(len(ids))
        step = max(1, _TABLE // self.white.count)
        for start in range(0, len(ids), step):
            block = slice(start, start + step)
            weights, least = self._weights(ids[block])
            values[block] = np.log(weights.sum(axis=1)) - least
            # What a score is off by, weighted as it counts in the sum.
            scores = least[:, None] - np.log(np.maximum(weights, 1e-300))
            moved = (weights * scores).sum(axis=1) / weights.sum(axis=1)
            dims = self.white.places.shape[1]
            errors[block] = 2.0 * _UNIT * ((dims + 8) * (moved + least) + self.white.count + 16.0)
            errors[block] += 16.0 * _UNIT * np.abs(values[block])
        return LogNormalisers(values, errors)
