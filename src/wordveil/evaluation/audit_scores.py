"""Are answers by score those of their definition in float64? Nearly: the search has float32 scores.

Where two words have nearly the same score, the search may answer the other one. That costs no privacy: the
answer is still a function of the noisy point and of public data. Everything here is computed from the
definition; an answer is wrong if its score is less than the best by more than float32 rounding explains.
"""

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.evaluation.audit_result import Check
from wordveil.mechanisms.answers import CANDIDATES, PRIOR_POWER, units_of
from wordveil.prior import default_prior

__all__ = ["answers_by_score"]

_POINTS: Final = 1000  # an error in 1% of the answers is seen with probability above 0.9999
_BLOCK: Final = 100  # points at a time: 27 MB of scores of the default vocabulary
_ULP: Final = 2.0**-24  # by which a float32 may be rounded, relative to it
_LARGEST: Final = 1e9  # of a score: above it the search scales down, and this definition is not its own

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]


class _Bounded(NamedTuple):
    """The scores of all words at some points, and by how much those of a float32 search may be off."""

    scores: Floats
    slack: Floats


class _Definition:
    """β·log p(u) - ε·‖φ(u) - v‖_RM for all words u, in float64."""

    def __init__(self, mechanism: Any) -> None:
        self._stretch = mechanism.epsilon / np.sqrt(mechanism.metric.scales)
        self._centre = mechanism._places[:-1].mean(axis=0)
        self._rows = (mechanism._places[:-1] - self._centre) * self._stretch
        self._halves = np.square(self._rows).sum(axis=1)
        self._biases = PRIOR_POWER * np.log(default_prior(mechanism.embedding).shares[:-1])
        is_blocked = mechanism.blocked.mask(mechanism.embedding) if mechanism.blocked is not None else None
        self.allowed = np.ones(len(self._rows), dtype=bool) if is_blocked is None else ~is_blocked

    def scores(self, points: Floats) -> _Bounded:
        scaled = (points - self._centre) * self._stretch
        squares = self._halves - 2.0 * scaled @ self._rows.T + np.square(scaled).sum(axis=1)[:, None]
        distances = np.sqrt(np.maximum(squares, 0.0))
        # A point and a row are rounded, and so is a sum of as many squares as there are dimensions.
        sizes = np.sqrt(self._halves) + np.linalg.norm(scaled, axis=1)[:, None]
        slack = _ULP * (sizes + (points.shape[1] / 2.0 + 3.0) * distances + 2.0 * np.abs(self._biases))
        return _Bounded(self._biases - distances, slack)


def answers_by_score(mechanism: Any, points: Floats, reference: Ids, group: str, name: str) -> Check:
    """Return whether all answers to the first points are those of the definition, up to near ties."""
    definition, points = _Definition(mechanism), points[:_POINTS]
    closest = mechanism.answer == "closest"
    units = units_of(mechanism.embedding).astype(np.float64) if closest else np.empty((0, 0))
    ties = wrong = 0
    for start in range(0, len(points), _BLOCK):
        block = definition.scores(points[start : start + _BLOCK])
        for scores, slack, answer in zip(block.scores, block.slack, reference[start:], strict=False):
            if closest:
                best, gap, limit = _closest(scores, slack, definition.allowed, units, int(answer))
            else:
                best, gap, limit = _likeliest(scores, slack, definition.allowed, int(answer))
            ties += best != answer and gap <= limit
            wrong += best != answer and not gap <= limit
    evidence = (
        f"{len(points) - ties - wrong:,} of {len(points):,} answers to noisy points are those of the float64 "
        f"definition, {ties} others are ties within float32 rounding, and {wrong} are other words"
    )
    mistake, power = "other words in one answer of 100", 1.0 - 0.99 ** len(points)
    return Check(group, name, wrong == 0, evidence, 0.0, mistake, power)


def _likeliest(
    scores: Floats, slack: Floats, allowed: NDArray[np.bool_], answer: int
) -> tuple[int, float, float]:
    """Return the best word, by how much it is better than the answer, and what may be rounding."""
    best = int(np.where(allowed, scores, -np.inf).argmax())
    gap = scores[best] - scores[answer] if allowed[answer] else np.inf
    return best, float(gap), float(slack[best] + slack[answer])


def _closest(
    scores: Floats, slack: Floats, allowed: NDArray[np.bool_], units: Floats, answer: int
) -> tuple[int, float, float]:
    """Return the same for the largest mean cosine with the words of the best scores.

    Rounding changes the weight of each word by a factor, and which words are just among the best.
    """
    order = np.argsort(-scores, kind="stable")[:CANDIDATES]
    if not allowed[order].any():
        return _likeliest(scores, slack, allowed, answer)
    last, room = scores[order[-1]], 2.0 * float(slack[order].max())
    weights = np.exp(scores[order] - scores[order[0]])
    centre = weights @ units[order]
    values = np.where(allowed[order], units[order] @ centre, -np.inf)
    best = int(order[values.argmax()])
    if not allowed[answer] or scores[answer] < last - room:
        return best, np.inf, 0.0
    gap = float(values.max() - units[answer] @ centre)
    doubtful = float(np.exp(scores[(np.abs(scores - last) <= room)] - scores[order[0]]).sum())
    rounding = np.expm1(room) + (units.shape[1] + 2.0 * CANDIDATES) * _ULP
    if gap > 0.0 and scores[best] <= last + room:  # the best itself may just be left out
        gap = float(np.partition(values, -2)[-2] - units[answer] @ centre) if len(order) > 1 else 0.0
    return best, gap, float(2.0 * (weights.sum() * rounding + doubtful))
