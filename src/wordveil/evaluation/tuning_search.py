"""The search behind `tune`: many settings with few draws, fewer with more, the last confirmed with others."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from wordveil.evaluation.frontier_experiment import curve_attack, setting_row
from wordveil.evaluation.frontier_measures import Effort, Measurer
from wordveil.evaluation.frontier_spaces import Curve, spread_epsilons
from wordveil.evaluation.tuning_problem import NEARLY, End, Measured, Problem

__all__ = ["Point", "Search"]

# S at which each line is tried first: from hardly more than guessing alone to hardly protected.
_TARGETS: Final = (0.08, 0.15, 0.25, 0.4, 0.6)
_EXTENSION: Final = 1.6  # a line whose last ε still satisfies everything is tried further on by this factor
_EXTENSIONS: Final = 8  # to 43 times the last ε; a line that reaches no limit by then has none worth finding
_STEP: Final = 1.04  # the first step of ε towards a limit; each further one is twice as long
_CLOSE: Final = 1.01  # ε this near to a limit is near enough
_EVALUATIONS: Final = 9  # by judgement: steps that double reach far past any limit by then
_NO_EFFORT: Final = Effort()
_CONFIRMATIONS: Final = 5  # each false with 2.5%, and from the second on at an ε that is safer
_ELASTICITY: Final = 1.5  # log ε per excess: a step back that is a little more than S needs
_LARGEST_EXCESS: Final = 0.2  # that counts for a step, since one flawed value would end the search


@dataclass(frozen=True, eq=False)
class Point:
    """A setting and what was measured there.

    Attributes
    ----------
    curve, epsilon
        The setting.
    shares : dict of Measured
        The limited statistics.
    goal : Measured, optional
        The statistic to optimise; None if it was not measured.
    problem : Problem
    effort : Effort
        The draws of these measurements.
    """

    curve: Curve
    epsilon: float
    shares: dict[str, Measured]
    goal: Measured | None
    problem: Problem
    effort: Effort = _NO_EFFORT

    def excess(self, end: End = "unfavourable") -> float:
        """Return how far the worst constraint is exceeded, as a part of its limit; negative if none is."""
        return max(
            constraint.excess(self.shares[constraint.name], end)
            for constraint in self.problem.constraints
            if constraint.name in self.shares
        )

    def rank(self, end: End) -> tuple[float, float]:
        """Return a key that sorts better points first: those that satisfy the constraints, by the goal."""
        excess = self.excess(end)
        if excess > (NEARLY if end == "middle" else 0.0):
            return excess, 0.0
        value = math.inf if self.goal is None else self.goal.share
        return 0.0, -value if self.problem.is_for_utility else value


@dataclass(eq=False)
class Search:
    """Looks for the best setting of a problem, and remembers what it has tried.

    Parameters
    ----------
    problem : Problem
    measurer, small : Measurer
        `small` has fewer texts, for a first look.
    watch : callable
        Called after each setting with a number from 0 to 1.
    """

    problem: Problem
    measurer: Measurer
    small: Measurer
    first: Effort
    later: Effort
    last: Effort
    watch: Callable[[float], None] = lambda _: None
    tried: dict[tuple[int, float, Effort], dict[str, Any]] = field(default_factory=dict, init=False)

    def run(self, curves: list[Curve], epsilons: list[float] | None, lams: list[float]) -> list[Point]:
        """Return the contenders, the best first, measured with the most draws."""
        points = []
        for number, curve in enumerate(curves):
            points.append(self._first_look(curve, epsilons))
            self.watch(0.6 * (number + 1) / len(curves))
        best = self._second_look(_sorted(points, "middle")[:10], 0.6, 0.75)
        refined = list(_other_lams(best[:3], lams))
        best = _sorted([*best, *self._second_look(refined, 0.75, 0.85)], "middle")
        contenders = []
        chosen = _distinct(best)[:4]
        if len(chosen) == 1:  # λ alone varies: the next λ is the runner-up
            chosen += [point for point in best if _lam(point) != _lam(chosen[0])][:1]
        for number, point in enumerate(chosen):
            contenders.append(self._confirmed(self._settled(point, self.last, "unfavourable")))
            self.watch(0.85 + 0.15 * (number + 1) / len(chosen))
        return _sorted(contenders, "unfavourable")

    def _second_look(self, points: list[Point], start: float, end: float) -> list[Point]:
        looked = []
        for number, point in enumerate(points):
            looked.append(self._settled(point, self.later, "middle"))
            self.watch(start + (end - start) * (number + 1) / len(points))
        return _sorted(looked, "middle")

    def judge(
        self, curve: Curve, epsilon: float, effort: Effort, *, in_full: bool, small: bool = False
    ) -> Point:
        """Measure the constraints and the goal; if not in full, constraints until one is clearly exceeded."""
        measurer = self.small if small else self.measurer
        mechanism, problem = curve.at(epsilon), self.problem
        shares: dict[str, Measured] = {}
        for constraint in problem.constraints:
            share = problem.value(constraint.name, measurer, mechanism, effort)
            shares[constraint.name] = share
            if not in_full and constraint.excess(share, "favourable") > NEARLY:
                break  # the others are more expensive
        goal = problem.value(problem.goal, measurer, mechanism, effort) if in_full else None
        point = Point(curve, epsilon, shares, goal, problem, effort)
        self._remember(point, effort)
        return point

    def _remember(self, point: Point, effort: Effort) -> None:
        """Keep a measurement; constraints, and later the goal, with the same draws are one."""
        row = setting_row(point.curve, point.epsilon) | {"draws": effort.draws, "seed": effort.seed}
        values = dict(point.shares) | ({} if point.goal is None else {self.problem.goal: point.goal})
        for name, share in values.items():
            row |= {name: share.share, f"{name}_low": share.low, f"{name}_high": share.high}
        row["excess_middle"] = point.excess("middle")
        key = (id(point.curve), point.epsilon, effort)
        self.tried[key] = self.tried.get(key, {}) | row

    @property
    def settings_tried(self) -> int:
        """How many settings were measured, with whatever draws."""
        return len({(curve, epsilon) for curve, epsilon, _ in self.tried})

    def _first_look(self, curve: Curve, epsilons: list[float] | None) -> Point:
        """Return the setting of a line where the constraints end, with few draws."""
        if epsilons is None:
            limits = {c.limit for c in self.problem.constraints if c.name == "attack"}
            attack = curve_attack(self.small, curve, self.first)
            epsilons = spread_epsilons(attack, sorted({*_TARGETS, *limits}))
        points = [self._look(curve, epsilon) for epsilon in sorted(epsilons)]
        if self.problem.is_for_utility:
            points.reverse()  # from the most useful to the most private
        for _ in range(_EXTENSIONS):
            if points[0].excess("middle") > 0.0:
                break
            factor = _EXTENSION if self.problem.is_for_utility else 1.0 / _EXTENSION
            points.insert(0, self._look(curve, rounded(points[0].epsilon * factor, down=True)))
        for beyond, within in zip([None, *points], points, strict=False):
            if within.excess("middle") <= 0.0:
                epsilon = within.epsilon if beyond is None else _crossing(within, beyond, "middle")
                return self._look(curve, self._safe(epsilon), in_full=True)
        return self._least(points, "middle", small=True)

    def _look(self, curve: Curve, epsilon: float, *, in_full: bool = False) -> Point:
        return self.judge(curve, epsilon, self.first, in_full=in_full, small=True)

    def _least(self, points: list[Point], end: End, *, small: bool = False) -> Point:
        """Return the point that exceeds its limits least, measured in full.

        What was measured until one constraint failed clearly is a lower bound: the next one may fail by more.
        """
        least: Point | None = None
        latest = list(reversed(points))  # of equals, the last: further on, constraints are easier to satisfy
        for point in sorted(latest, key=lambda point: point.excess(end)):
            if least is not None and point.excess(end) >= least.excess(end):
                break
            known = self.judge(point.curve, point.epsilon, point.effort, in_full=True, small=small)
            if least is None or known.excess(end) < least.excess(end):
                least = known
        assert least is not None
        return least

    def _safe(self, epsilon: float) -> float:
        """Return ε with three digits, rounded to the side on which constraints still hold."""
        return rounded(epsilon, down=self.problem.is_for_utility)

    def _settled(self, start: Point, effort: Effort, end: End) -> Point:
        """Return the setting of a line that is nearest to the limits and within them, by one end."""
        outward = 1.0 if self.problem.is_for_utility else -1.0
        epsilon, step = self._safe(start.epsilon), math.log(_STEP)
        within: Point | None = None
        beyond: Point | None = None
        points: list[Point] = []
        for _ in range(_EVALUATIONS):
            point = self.judge(start.curve, epsilon, effort, in_full=False)
            points.append(point)
            if point.excess(end) <= 0.0:
                within = point if within is None or _further(point, within, outward) else within
            else:
                beyond = point if beyond is None or _further(beyond, point, outward) else beyond
            if within is not None and beyond is not None:
                epsilon = self._safe(_crossing(within, beyond, end))
                if abs(math.log(beyond.epsilon / within.epsilon)) < math.log(_CLOSE) or epsilon in (
                    within.epsilon,
                    beyond.epsilon,
                ):
                    break
            else:
                direction = outward if beyond is None else -outward
                epsilon = self._safe(point.epsilon * math.exp(direction * step))
                step *= 2.0
        return self._least([within] if within is not None else points, end)

    def _confirmed(self, settled: Point) -> Point:
        """Return a settled point measured with draws that did not choose its ε, and moved back if these fail.

        Among several ε the one that happens to do well is settled on: accuracy is not smooth in ε. Every
        attempt has draws of its own.
        """
        inward = -1.0 if self.problem.is_for_utility else 1.0
        epsilon, step = settled.epsilon, math.log(_CLOSE)
        attempts: list[Point] = []
        for number in range(1, _CONFIRMATIONS + 1):
            effort = replace(self.last, seed=self.last.seed + number)
            attempts.append(self.judge(settled.curve, epsilon, effort, in_full=False))
            excess = attempts[-1].excess()
            if excess <= 0.0 or settled.excess() > 0.0:  # what is not within the limits is measured once
                break
            step = max(2.0 * step, _ELASTICITY * min(excess, _LARGEST_EXCESS))
            epsilon = self._safe(epsilon * math.exp(inward * step))
        within = [point for point in attempts if point.excess() <= 0.0]
        return self._least(within or attempts, "unfavourable")


def rounded(epsilon: float, *, down: bool) -> float:
    """Return ε with three digits, never on the other side.

    Examples
    --------
    >>> rounded(0.98765, down=True), rounded(0.98765, down=False)
    (0.987, 0.988)
    """
    exponent = math.floor(math.log10(epsilon)) - 2
    scaled = epsilon / 10.0**exponent
    digits = math.floor(scaled + 1e-9) if down else math.ceil(scaled - 1e-9)
    return float(f"{digits}e{exponent}")


def _sorted(points: list[Point], end: End) -> list[Point]:
    return sorted(points, key=lambda point: point.rank(end))


def _further(first: Point, second: Point, outward: float) -> bool:
    return (first.epsilon - second.epsilon) * outward > 0.0


def _crossing(within: Point, beyond: Point, end: End) -> float:
    """Return ε where the excess is about zero, by a straight line in log ε."""
    low, high = within.excess(end), beyond.excess(end)
    share = min(max(-low / (high - low), 0.1), 0.9) if high > low else 0.5
    return float(within.epsilon * (beyond.epsilon / within.epsilon) ** share)


def _distinct(points: list[Point]) -> list[Point]:
    """Return the first point of each space, mechanism and answer: other λ hardly differ."""
    kinds: dict[Any, Point] = {}
    for point in points:
        curve = point.curve
        kinds.setdefault((id(curve.space), curve.mechanism, curve.options.get("answer")), point)
    return list(kinds.values())


def _lam(point: Point) -> Any:
    return point.curve.options.get("lam")


def _other_lams(points: list[Point], lams: list[float]) -> Iterator[Point]:
    """Yield points with λ halfway to the neighbours in the grid: the grid, refined."""
    for point in points:
        lam = point.curve.options.get("lam")
        if lam not in lams or len(lams) < 2:
            continue
        place = lams.index(lam)
        for other in (place - 1, place + 1):
            if 0 <= other < len(lams):
                middle = (lam + lams[other]) / 2.0
                curve = replace(point.curve, options={**point.curve.options, "lam": middle})
                yield replace(point, curve=curve)
