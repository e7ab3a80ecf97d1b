"""Claims about a frontier, each judged at one and the same attack."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from wordveil.evaluation.claim_words import worded
from wordveil.evaluation.verdicts import DOES_NOT_HOLD, HOLDS, UNDECIDED, Outcome, Verdict

__all__ = ["At", "at_attack", "curve_of", "frontier_claims"]

_CURVE: Final = ("parent", "vectors", "space", "mechanism", "lam", "answer", "options")
_ADDITIVE: Final = ("mahalanobis", "laplace")  # the mechanisms that claims are about
_LEVEL: Final = 0.05  # of each claim, as that of the intervals
_STATISTIC: Final = "cosine_content"

Row = Mapping[str, Any]
Rows = dict[tuple[Any, ...], Row]
Curves = dict[tuple[Any, ...], list[Row]]


class At(NamedTuple):
    """A statistic of a line, how far its interval reaches to each side, and at what attack."""

    value: float
    reach: float
    attack: float


Values = dict[tuple[Any, ...], At]


def curve_of(row: Row) -> tuple[Any, ...]:
    """Return what the rows of one line share: everything except ε."""
    return tuple(row.get(name) for name in _CURVE)


def at_attack(rows: Sequence[Row], attack: float, key: str = _STATISTIC) -> At | None:
    """Return a statistic of one line where the attacker is right that often, between measured settings.

    The attack is measured too, so what it is off by moves the statistic along the line, and so does the
    rest of the way from the end of a line. None if the line does not reach so far.

    Examples
    --------
    >>> rows = [{"attack": a, "y": a + 0.2, "y_low": a + 0.1, "y_high": a + 0.3} for a in (0.2, 0.4)]
    >>> [round(number, 2) for number in at_attack(rows, 0.3, "y")]
    [0.5, 0.1, 0.3]
    """
    line = sorted(rows, key=lambda row: float(row["attack"]))
    x, y = [row["attack"] for row in line], [row[key] for row in line]
    if not line:
        return None
    reaches = [_reach(row, key) for row in line]
    inside = min(max(attack, x[0]), x[-1])
    # The place of ε is estimated, so the line may end a little before it.
    if abs(inside - attack) > 0.05 * attack:
        return None
    off = float(np.interp(inside, x, [_reach(row, "attack") for row in line])) + abs(inside - attack)
    shift = _slope(line, inside, key) * off
    reach = float(np.hypot(np.interp(inside, x, reaches), shift))
    return At(float(np.interp(inside, x, y)), reach, inside)


def _slope(line: Sequence[Row], attack: float, key: str) -> float:
    """Return how steep a line is there.

    A line with one setting may be as steep as the way to it from where the attacker learns nothing and
    answers are random, or on from it to where everything stays, whichever is steeper. Of 28 lines of the
    default vectors, 27 are less steep than that around S = 0.3, and one is 4% steeper.
    """
    if len(line) == 1:
        x, y = line[0]["attack"], line[0][key]
        before = (y - line[0].get(f"random_{key}", 0.0), x - line[0].get("attack_alone", 0.0))
        return max(rise / run if run > 0.0 else 0.0 for rise, run in (before, (1.0 - y, 1.0 - x)))
    attacks = [row["attack"] for row in line]
    part = min(max(int(np.searchsorted(attacks, attack)), 1), len(line) - 1)
    rise = float(line[part][key] - line[part - 1][key])
    return rise / (attacks[part] - attacks[part - 1]) if rise else 0.0


def _reach(row: Row, key: str) -> float:
    """Return how far the interval of a statistic reaches to each side; 0 if it has none."""
    low, high = f"{key}_low", f"{key}_high"
    return float(row[high] - row[low]) / 2.0 if high in row else 0.0


def _bound_at_attack(rows: Sequence[Row], attack: float) -> At | None:
    """Return the statistic of one line at an attack, or a larger one: that at the next larger attack.

    Answers come closer as the attacker gains more. None if the line ends below.
    """
    larger = [row["attack"] for row in rows if row["attack"] >= attack]
    return at_attack(rows, attack) or (at_attack(rows, min(larger)) if larger else None)


def frontier_claims(rows: Sequence[Row], attack: float) -> list[Verdict]:
    """Return verdicts on what λ, few dimensions and maps buy, where the rows can tell."""
    curves: Curves = {}
    for row in rows:
        curves.setdefault(curve_of(row), []).append(row)
    values = {
        curve: at for curve, members in curves.items() if (at := at_attack(members, attack)) is not None
    }
    first = {curve: curves[curve][0] for curve in values if curves[curve][0]["mechanism"] in _ADDITIVE}
    return [
        *_about_lam(first, values, attack),
        *_about_dims(first, values, attack),
        *_about_maps(curves, values, attack),
    ]


def _parent_of(row: Row) -> str:
    """Return which complete vectors a space was made from: spaces of other vectors are not compared."""
    return str(row.get("parent") or str(row.get("vectors") or "").partition("[")[0])


def _by_parent(curves: Iterable[tuple[tuple[Any, ...], Row]]) -> list[tuple[dict[str, str], Rows]]:
    """Return the lines of each complete vectors, and what the claims about them say of where they hold."""
    groups: dict[str, Rows] = {}
    for curve, row in curves:
        groups.setdefault(_parent_of(row), {})[curve] = row
    if len(groups) < 2:
        return [({}, rows) for rows in groups.values()]
    return [({"where": _name_of(rows)}, rows) for rows in groups.values()]


def _name_of(rows: Rows) -> str:
    """Return what complete vectors are called: by their own name, not that of a map over them."""
    ordered = sorted(rows.values(), key=_is_map)
    return str(ordered[0].get("vectors") or "").partition("[")[0]


def _is_map(row: Row) -> bool:
    return bool(row["space"].startswith("map"))


def _about_lam(first: Rows, values: Values, attack: float) -> Iterator[Verdict]:
    for where, rows in _by_parent(first.items()):
        groups: dict[tuple[Any, ...], dict[float, At]] = {}
        for curve, row in rows.items():
            if row["lam"] is not None and row["mechanism"] == "mahalanobis":
                key = row.get("vectors"), row["space"], row["answer"]
                groups.setdefault(key, {})[row["lam"]] = values[curve]
        for (_, space, answer), by_lam in groups.items():
            largest = max(by_lam)
            if 0.0 in by_lam and largest > 0.0:
                about = {"lam": largest, "space": space, "answer": answer, **where}
                names = "λ = 0", f"λ = {largest:g}"
                yield _verdict("lam_no_closer", about, by_lam[0.0], by_lam[largest], names, attack)


def _about_dims(first: Rows, values: Values, attack: float) -> Iterator[Verdict]:
    """Yield verdicts on a few principal axes against all dimensions, at λ = 0, if these were measured."""
    plain = ((c, row) for c, row in first.items() if row["lam"] == 0.0 and not _is_map(row))
    for where, rows in _by_parent(plain):
        for answer in dict.fromkeys(row["answer"] for row in rows.values()):
            same = [curve for curve, row in rows.items() if row["answer"] == answer]
            complete = [curve for curve in same if rows[curve]["space"].startswith("all ")]
            fewer = [curve for curve in same if curve not in complete]
            if not complete or not fewer:
                continue
            best = max(fewer, key=lambda curve: values[curve].value)
            names = rows[best]["space"], rows[complete[0]]["space"]
            about = {"dims": rows[complete[0]]["dims"], "answer": answer, **where}
            pair = values[best], values[complete[0]]
            yield _verdict("few_dims_closer", about, *pair, names, attack, len(fewer))


def _about_maps(curves: Curves, values: Values, attack: float) -> Iterator[Verdict]:
    """Yield verdicts on maps against every line of axes, also those measured at larger attacks only."""
    additive = ((c, rows[0]) for c, rows in curves.items() if rows[0]["mechanism"] in _ADDITIVE)
    for where, members in _by_parent(additive):
        for answer in dict.fromkeys(row["answer"] for row in members.values()):
            same = {curve: row for curve, row in members.items() if row["answer"] == answer}
            maps = [curve for curve, row in same.items() if _is_map(row) and curve in values]
            axes = [curve for curve, row in same.items() if not _is_map(row)]
            most = {curve: _bound_at_attack(curves[curve], attack) for curve in axes}
            known = {curve: at for curve, at in most.items() if at is not None}
            if not maps or not axes or len(known) < len(most):  # "all" could not be judged
                continue
            ours = max(maps, key=lambda curve: values[curve].value)
            other = max(known, key=lambda curve: known[curve].value)
            names = same[ours]["space"], f"{same[other]['space']}, λ = {same[other]['lam'] or 0:g}"
            about = {"answer": answer, **where}
            pairs = len(maps) * len(axes)
            verdict = _verdict("map_closer", about, values[ours], known[other], names, attack, pairs)
            is_bound = other not in values  # at this attack the axes may be less close
            yield replace(verdict, outcome=UNDECIDED) if is_bound and verdict.outcome != HOLDS else verdict


def _verdict(
    claim: str,
    about: Row,
    better: At,
    worse: At,
    names: tuple[str, str],
    attack: float,
    pairs: int = 1,
) -> Verdict:
    """Say whether the first is larger than the second; undecided if it could be chance.

    They are the best of that many pairs, so the level is divided by it (Bonferroni).
    """
    from scipy.special import ndtri

    widened = float(ndtri(1.0 - _LEVEL / (2.0 * pairs)) / ndtri(1.0 - _LEVEL / 2.0))
    reach = widened * float(np.hypot(better.reach, worse.reach))
    difference = better.value - worse.value
    outcome: Outcome = UNDECIDED if abs(difference) <= reach else HOLDS if difference > 0 else DOES_NOT_HOLD
    sides = [{"name": name, **at._asdict()} for name, at in zip(names, (better, worse), strict=True)]
    return worded(claim, outcome, {**about, "attack": attack, "pairs": pairs, "sides": sides})
