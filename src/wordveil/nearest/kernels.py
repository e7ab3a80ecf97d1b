"""The loops of the integer screen, compiled by numba to run without Python's global lock."""

from collections.abc import Callable
from typing import Any, Final

import numba
import numpy as np
from numpy.typing import NDArray

__all__ = ["STRIP", "collect", "compiled", "resolve"]

STRIP: Final = 64
"""How many columns share a step: few enough to be similar, and enough to fill wide registers."""

_LEAST: Final = np.int32(-(2**31))

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that compiles a function, and caches the result on disk if there is a folder."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        try:
            return numba.njit(nogil=True, cache=True, **options)(function)  # type: ignore[no-any-return]  # numba has no types
        except RuntimeError:  # there is no writeable folder
            return numba.njit(nogil=True, **options)(function)  # type: ignore[no-any-return]  # numba has no types

    return decorate


def _collect(
    products: NDArray[np.int32],
    first: int,
    steps: Floats,
    columns: Floats,
    strips: Floats,
    points: Floats,
    scalars: Floats,
    floors: Floats,
    pair_count: int,
    which: NDArray[np.int32],
    places: NDArray[np.int32],
    reached: Floats,
) -> int:
    """Append the pairs of a point and a column that may be the answer; return the number of pairs, or -1.

    `products` is (points, strips, columns of a strip); `first` is the number of the first strip. The score of
    a column is its product times both steps, minus its half times `shrink`. It is off by at most its bound:
    length of the point × error of the column + error of the point × size of the column + `extra`. `floors`
    rise to the best score that is certain. The result is -1 if there is no room for all pairs.

    `columns` holds errors, sizes and halves (3, strips, columns); `strips`, the largest error, size and half
    and the smallest half of each strip; `points`, lengths and errors; `scalars`, the step of the points,
    `shrink` and `extra`.
    """
    step, shrink, extra = scalars
    tops = np.empty(products.shape[1], dtype=np.int32)
    uppers = np.empty(products.shape[1])
    for point in range(products.shape[0]):
        floor = floors[point]
        length, error = points[0, point], points[1, point]
        for strip in range(products.shape[1]):
            top = _LEAST
            for column in range(products.shape[2]):  # numba would unroll a constant, which is slower
                top = max(top, products[point, strip, column])
            tops[strip] = top
        for strip in range(products.shape[1]):
            place = first + strip
            bound = length * strips[0, place] + error * strips[1, place] + extra
            score = tops[strip] * (steps[place] * step)
            uppers[strip] = score + bound - shrink * strips[3, place]
            floor = max(floor, score - bound - shrink * strips[2, place])
        for strip in range(products.shape[1]):
            if uppers[strip] >= floor:
                place = first + strip
                unit = steps[place] * step
                for column in range(products.shape[2]):
                    bound = length * columns[0, place, column] + error * columns[1, place, column] + extra
                    score = products[point, strip, column] * unit - shrink * columns[2, place, column]
                    if score + bound >= floor:
                        floor = max(floor, score - bound)
                        if pair_count == which.size:
                            return -1
                        which[pair_count] = point
                        places[pair_count] = place * products.shape[2] + column
                        reached[pair_count] = score + bound
                        pair_count += 1
        floors[point] = floor
    return pair_count


def _resolve(
    points: Floats,
    part: Ints,
    rows: Floats,
    which: NDArray[np.int32],
    candidates: Ints,
    reached: Floats,
    norms: Floats,
    factor: float,
    slack: float,
    tolerance: float,
    answers: Ints,
) -> Ints:
    """Write the nearest candidate of each point of a part to `answers`; return the points too close to call.

    The candidate with the highest upper bound is examined first, since its true score rules out most others.
    A score is (‖q‖² minus the squared distance) / 2, times `factor`.
    """
    best, second, score = np.full(part.size, np.inf), np.full(part.size, np.inf), np.full(part.size, -np.inf)
    first = np.full(part.size, -1)
    for pair in range(which.size):
        point = which[pair]
        if first[point] < 0 or reached[pair] > reached[first[point]]:
            first[point] = pair
    for turn in range(-part.size, which.size):
        pair = first[turn + part.size] if turn < 0 else turn
        point, candidate = which[pair], candidates[pair]
        if turn >= 0 and (pair == first[point] or reached[pair] < score[point]):
            continue
        distance = 0.0
        for axis in range(points.shape[1]):
            difference = points[part[point], axis] - rows[candidate, axis]
            distance += difference * difference
        if distance < best[point]:
            best[point], second[point], answers[point] = distance, best[point], candidate
            score[point] = (norms[point] * norms[point] - distance) * 0.5 * factor - slack
        elif distance < second[point]:
            second[point] = distance
    return np.flatnonzero(second <= best * (1.0 + tolerance) + 2.0**-1000)


collect = compiled()(_collect)
resolve = compiled(fastmath={"reassoc", "contract"})(_resolve)
