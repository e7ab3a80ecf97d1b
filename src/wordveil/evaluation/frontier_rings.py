"""Which settings of a frontier no other one beats, beyond what their intervals leave open."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from wordveil.rounding import at_most

__all__ = ["is_promised", "undominated"]

Row = Mapping[str, Any]


class _Point(NamedTuple):
    """S and the statistic of a setting, each with how far its interval reaches to each side."""

    attack: float
    attack_reach: float
    value: float
    value_reach: float


def is_promised(row: Row) -> bool:
    """Return whether anything is promised between any two words: CusText promises nothing across groups.

    Examples
    --------
    >>> is_promised({"exponent_worst": 61.7}), is_promised({"exponent_worst": 1e200}), is_promised({})
    (True, False, True)
    """
    return at_most(float(row.get("exponent_worst") or 0.0)) != "∞"


def undominated(rows: list[dict[str, Any]], key: str, mark: str, null: str = "") -> None:
    """Mark the rows that no other one beats: none is clearly better in S or `key` and not clearly worse.

    A difference is clear beyond the 95% intervals, as far as there are any. `null` names what is reached
    without looking at the input: rows that do not clearly have more are not marked. Nor are those that
    promise nothing between some words, and they beat no other. Where S is known by bounds only, its upper
    end counts.

    Examples
    --------
    >>> rows = [{"attack": 0.2, "y": 0.5}, {"attack": 0.3, "y": 0.4}, {"attack": 0.4, "y": 0.6}]
    >>> undominated(rows, "y", "best")
    >>> [row["best"] for row in rows]
    [True, False, True]
    """
    points = [_point(row, key) for row in rows]
    compared = [point for point, row in zip(points, rows, strict=True) if is_promised(row)]
    for row, point in zip(rows, points, strict=True):
        row[mark] = (
            is_promised(row)
            and (null not in row or point.value - point.value_reach > row[null])
            and not any(_beats(other, point) for other in compared)
        )


def _point(row: Row, key: str) -> _Point:
    if row.get("attack_exact", True):
        attack, reach = float(row["attack"]), _reach(row, "attack")
    else:
        attack, reach = float(row["attack_high"]), 0.0
    return _Point(attack, reach, float(row[key]), _reach(row, key))


def _reach(row: Row, key: str) -> float:
    low, high = row.get(f"{key}_low"), row.get(f"{key}_high")
    return 0.0 if low is None or high is None else float(high - low) / 2.0


def _beats(other: _Point, point: _Point) -> bool:
    less = point.attack - other.attack
    more = other.value - point.value
    attack_reach = float(np.hypot(other.attack_reach, point.attack_reach))
    value_reach = float(np.hypot(other.value_reach, point.value_reach))
    is_better = less > attack_reach or more > value_reach
    return is_better and less >= -attack_reach and more >= -value_reach
