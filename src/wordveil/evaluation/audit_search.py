"""The search on this machine: the word of the definition, in whatever memory layout the points come.

The nearest word is exactly that of float64. Answers by score are those of float64 up to near ties.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wordveil.evaluation.audit_noise import differing_answers, shows_noise
from wordveil.evaluation.audit_result import Check, not_tested, rounded_up
from wordveil.evaluation.audit_scores import answers_by_score
from wordveil.mechanisms import Mechanism
from wordveil.mechanisms.answers import PosteriorSearch
from wordveil.randomness import RunKey, Stream

__all__ = ["finite_precision", "moved_answers", "nearest_rows", "search"]

GROUP: Final = "search"
_POINTS: Final = 6000  # more than those after which the fast search takes over
_NEAR: Final = 0.02  # of the points, whose distance to a border is measured
_LARGEST_CHANCE: Final = 1e-9  # that rounding changes the answer to a word: once in a thousand million words
_WORDS: Final = 5  # of which the worst counts; the first is the centroid
_PER_WORD: Final = 400  # noisy points of each
_MOVES: Final = (1e-2, 1e-3, 1e-4)  # of the size of a point; the first that changes few answers is used
_FEW: Final = 0.1  # of the answers may change; otherwise the next, shorter move is tried
_BLOCK: Final = 500  # points at a time: 135 MB of distances to the default vocabulary

Floats = NDArray[np.float64]


def nearest_rows(rows: Floats, points: Floats) -> NDArray[np.int64]:
    """Return the nearest row of each point, and the lowest of equals, by differences in float64.

    A product finds the rows that may be the nearest; their distances come from the differences themselves.

    Examples
    --------
    >>> nearest_rows(np.array([[0.0], [2.0], [2.0]]), np.array([[0.9], [1.9], [1.0]]))
    array([0, 1, 0])
    """
    answers = np.empty(len(points), np.int64)
    halves = np.einsum("ij,ij->i", rows, rows) / 2.0
    longest = float(np.sqrt(2.0 * halves.max()))
    for start in range(0, len(points), _BLOCK):
        block = points[start : start + _BLOCK]
        scores = halves - block @ rows.T
        norms = np.linalg.norm(block, axis=1)
        slack = 1e-12 * (norms + longest) ** 2 * rows.shape[1]
        limits = scores.min(axis=1) + slack
        for number, (row, limit) in enumerate(zip(scores, limits, strict=True)):
            close = np.flatnonzero(row <= limit)
            distances = np.square(rows[close] - block[number]).sum(axis=1)
            answers[start + number] = close[int(np.argmin(distances))]
    return answers


def finite_precision(rows: Floats, points: Floats) -> float:
    """Return about how often rounding changes which row is the nearest.

    Two roundings count. A noisy point v is off by up to 2⁻⁵²·‖v‖. A squared distance d² is off by up to
    m·2⁻⁵³·d², which moves the border between two rows that are `apart` from each other by m·2⁻⁵³·d²/apart.
    The share of points that are closer to a border than k times both together is proportional to k for small
    k, so it is measured at a larger k and scaled down.

    Examples
    --------
    >>> draws = np.random.default_rng(1).normal(size=(1000, 2))
    >>> finite_precision(draws[:50], draws) < 1e-12
    True
    """
    halves = np.einsum("ij,ij->i", rows, rows) / 2.0
    reach = np.empty(len(points))
    for start in range(0, len(points), _BLOCK):
        block = points[start : start + _BLOCK]
        scores = halves - block @ rows.T
        first, second = np.argpartition(scores, 1, axis=1)[:, :2].T
        places = np.arange(len(block))
        apart = np.maximum(np.linalg.norm(rows[first] - rows[second], axis=1), 1e-300)
        gaps = np.abs(scores[places, first] - scores[places, second]) / apart
        squares = np.square(rows[second] - block).sum(axis=1)
        rounding = 2.0**-52 * np.linalg.norm(block, axis=1) + rows.shape[1] * 2.0**-53 * squares / apart
        reach[start : start + _BLOCK] = gaps / np.maximum(rounding, 1e-300)
    near = float(np.quantile(reach, _NEAR))
    return min(1.0, _NEAR / max(near, 1.0))


def moved_answers(answer: Callable[[Floats], NDArray[np.int64]], points: Floats, longest: float) -> float:
    """Return about how often rounding changes an answer that is not the nearest row.

    All points are moved in random directions by a small part of their size, and it is counted how many
    answers change. That share is scaled down to the size of rounding, 2⁻⁵²·‖v‖ for the point and
    m·2⁻⁵³·(‖v‖ + longest) for distances, and up by √(2πm): a border is crossed most easily straight on, and
    a random direction in m dimensions goes mostly along it.

    Examples
    --------
    >>> draws = np.random.default_rng(1).normal(size=(1000, 2))
    >>> moved_answers(lambda table: (table[:, 0] > 0.0).astype(np.int64), draws, 1.0) < 1e-12
    True
    """
    dim = points.shape[1]
    sizes = np.linalg.norm(points, axis=1, keepdims=True) + longest
    steps = np.random.default_rng(17).normal(size=points.shape)
    steps *= sizes / np.linalg.norm(steps, axis=1, keepdims=True)
    before = answer(points)
    for move in _MOVES:
        changed = int((answer(points + move * steps) != before).sum())
        if changed <= _FEW * len(points):
            break
    share = max(changed, 3) / len(points)  # none of n: fewer than 3 of n, at 95%
    rounding = (2.0 + dim) * 2.0**-53
    return float(min(1.0, share * np.sqrt(2.0 * np.pi * dim) * rounding / move))


def search(mechanism: Mechanism, key: RunKey) -> list[Check]:
    """Return whether the search agrees with the float64 oracle on noisy points, in every memory layout."""
    exact = "the search is exact"
    if not shows_noise(mechanism):
        return [not_tested(GROUP, exact, "this mechanism shows no noisy points")]
    if differing_answers(mechanism, key):
        return [not_tested(GROUP, exact, "the answers are not those of the points that could be searched")]
    shown: Any = mechanism
    ids = np.arange(_POINTS) % (len(mechanism.embedding) + 1) - 1
    points = np.ascontiguousarray(shown._noisy_points(ids, key.stream("audit", "search")))
    reference = shown._answer_search.nearest(points)
    checks = [_layouts(shown, points, reference), _rounding(shown, key)]
    allowed = _candidates(shown)
    if allowed is None and isinstance(shown._answer_search, PosteriorSearch):
        return [*checks, answers_by_score(shown, points, reference, GROUP, exact)]
    if allowed is None:
        why = "the answer is neither the nearest word nor that of a score; test_vickrey.py has an oracle"
        return [*checks, not_tested(GROUP, exact, why)]
    wrong = int((allowed[nearest_rows(shown._places[allowed], points)] != reference).sum())
    evidence = f"{wrong} of {_POINTS:,} answers to noisy points differ from the float64 oracle"
    mistake, power = "a search that misses the nearest word of one point in 1,000", 1.0 - 0.999**_POINTS
    return [*checks, Check(GROUP, exact, wrong == 0, evidence, 0.0, mistake, power)]


def _candidates(mechanism: Any) -> NDArray[np.int64] | None:
    """Return the words of which the nearest is answered; None if another word may be answered."""
    words = np.arange(len(mechanism.embedding))
    if mechanism.channel().answers_nearest:
        return words
    is_nearest = mechanism.parameters().get("answer") == "nearest"
    if mechanism.blocked is None or not is_nearest:
        return None
    return np.asarray(words[~mechanism.blocked.mask(mechanism.embedding)])


def _rounding(mechanism: Any, key: RunKey) -> Check:
    """Return how often rounding changes an answer, at the worst of a few words.

    If that is η, the answers are those of the exact mechanism with probability 1 - η. So with P and P' for
    two words with an exponent e, P̃(S) ≤ P(S) + η ≤ exp(e)·P'(S) + η ≤ exp(e)·P̃'(S) + (1 + exp(e))·η.
    """
    words = np.linspace(-1, len(mechanism.embedding) - 1, _WORDS).astype(np.int64)
    allowed, stream = _candidates(mechanism), key.stream("audit", "rounding")
    longest = float(np.linalg.norm(mechanism._places, axis=1).max())
    chances = []
    for word in words:
        if allowed is None:
            chances.append(_of_other_answers(mechanism, int(word), stream, longest))
        elif len(allowed) > 1:
            points = mechanism._noisy_points(np.full(_PER_WORD, word), stream)
            chances.append(finite_precision(mechanism._places[allowed], points))
    chance = max(chances, default=0.0)
    evidence = (
        f"about {rounded_up(chance)} is the probability that rounding changes the answer to a word, at the "
        f"worst of {len(words)} words; for two words with a claimed exponent e, "
        "δ is about (1 + exp(e)) times that"
    )
    name, mistake = "finite precision is negligible", f"an estimate above {_LARGEST_CHANCE:g}"
    return Check(GROUP, name, chance < _LARGEST_CHANCE, evidence, 0.0, mistake)


def _of_other_answers(mechanism: Any, word: int, stream: Stream, longest: float) -> float:
    channel, dim = mechanism.channel(), mechanism.embedding.dim
    seen = channel.observe(np.full(_PER_WORD, word), stream)  # beside the points there may be coins
    coins = seen[:, dim:]

    def answer(points: Floats) -> NDArray[np.int64]:
        return np.asarray(mechanism._cleaned(channel.answers(np.hstack((points, coins)))))

    return moved_answers(answer, seen[:, :dim], longest)


def _layouts(mechanism: Any, points: Floats, reference: NDArray[np.int64]) -> Check:
    wide = np.zeros((len(points), 2 * points.shape[1] + 1))
    wide[:, 1::2] = points
    layouts = {
        "Fortran order": np.asfortranarray(points),
        "every other column of a wider table": wide[:, 1::2],
        "backwards": points[::-1].copy()[::-1],
        "one at a time": None,
    }
    wrong = []
    for name, table in layouts.items():
        if table is None:
            few = reference[:50]
            answers = np.concatenate([mechanism._answer_search.nearest(points[i : i + 1]) for i in range(50)])
            differs = bool((answers != few).any())
        else:
            differs = bool((mechanism._answer_search.nearest(table) != reference).any())
        wrong += [name] * differs
    evidence = f"the same answers in {', '.join(layouts)}"
    if wrong:
        evidence = f"other answers in {', '.join(wrong)}"
    return Check(
        GROUP, "the memory layout changes no answer", not wrong, evidence, 0.0, "points read in another order"
    )
