"""The search on this machine: exactly the nearest word, in whatever memory layout the points come."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wordveil.evaluation.audit_noise import shows_noise
from wordveil.evaluation.audit_result import Check, not_tested
from wordveil.mechanisms import Mechanism
from wordveil.randomness import RunKey

__all__ = ["finite_precision", "nearest_rows", "search"]

GROUP: Final = "search"
_POINTS: Final = 6000  # more than those after which the fast search takes over
_NEAR: Final = 0.02  # of the points, whose distance to a border is measured
_LARGEST_DELTA: Final = 1e-9  # per word: far below any exponent that is promised
_BLOCK: Final = 500  # points at a time: 135 MB of distances to the default vocabulary

Table = NDArray[np.float64]


def nearest_rows(rows: Table, points: Table) -> NDArray[np.int64]:
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


def finite_precision(rows: Table, points: Table) -> float:
    """Return about how often rounding can change an answer: the δ of float64 noise, per word.

    A noisy point v is rounded by up to 2⁻⁵²·‖v‖. The share of points that are closer than t·‖v‖ to the
    border of a cell is proportional to t for small t, so it is measured at a larger t and scaled down.

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
        apart = np.linalg.norm(rows[first] - rows[second], axis=1)
        gaps = np.abs(scores[places, first] - scores[places, second]) / np.maximum(apart, 1e-300)
        reach[start : start + _BLOCK] = gaps / np.maximum(np.linalg.norm(block, axis=1), 1e-300)
    near = float(np.quantile(reach, _NEAR))
    return min(1.0, _NEAR * 2.0**-52 / max(near, 2.0**-52))


def search(mechanism: Mechanism, key: RunKey) -> list[Check]:
    """Return whether the search agrees with the float64 oracle on noisy points, in every memory layout."""
    if not shows_noise(mechanism):
        return [not_tested(GROUP, "the search is exact", "this mechanism shows no noisy points")]
    shown: Any = mechanism
    ids = np.arange(_POINTS) % (len(mechanism.embedding) + 1) - 1
    points = np.ascontiguousarray(shown._noisy_points(ids, key.stream("audit", "search")))
    reference = shown._search.nearest(points)
    checks = [_layouts(shown, points, reference)]
    if mechanism.parameters().get("answer", "nearest") != "nearest":
        why = "the answer is not the nearest word; tests/mechanisms/test_answers.py has its oracle"
        return [*checks, not_tested(GROUP, "the search is exact", why)]
    wrong = int((nearest_rows(shown._places[:-1], points) != reference).sum())
    evidence = f"{wrong} of {_POINTS:,} answers to noisy points differ from the float64 oracle"
    delta = finite_precision(shown._places[:-1], points[:2000])
    rounding = f"about {delta:.0e} of the noisy points are so close to a border that rounding decides"
    return [
        *checks,
        Check(GROUP, "the search is exact", wrong == 0, evidence, 0.0, "an approximate search"),
        Check(GROUP, "finite precision is negligible", delta < _LARGEST_DELTA, rounding),
    ]


def _layouts(mechanism: Any, points: Table, reference: NDArray[np.int64]) -> Check:
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
            answers = np.concatenate([mechanism._search.nearest(points[i : i + 1]) for i in range(50)])
            differs = bool((answers != few).any())
        else:
            differs = bool((mechanism._search.nearest(table) != reference).any())
        wrong += [name] * differs
    evidence = f"the same answers in {', '.join(layouts)}"
    if wrong:
        evidence = f"other answers in {', '.join(wrong)}"
    return Check(
        GROUP, "the memory layout changes no answer", not wrong, evidence, 0.0, "points read in another order"
    )
