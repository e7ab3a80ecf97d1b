"""What is asked of a setting: constraints, judged by the unfavourable end of their intervals, and a goal."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple

import numpy as np

from wordveil.errors import ParameterError, check_real
from wordveil.evaluation.frontier_measures import Effort, Measurer
from wordveil.evaluation.frontier_probes import order_interval
from wordveil.intervals import clopper_pearson
from wordveil.mechanisms import Mechanism

__all__ = [
    "LEVEL",
    "NEARLY",
    "NOT_LEARNT",
    "STATISTICS",
    "Constraint",
    "Measured",
    "Problem",
    "Statistic",
    "check_possible",
    "make_problem",
]

End = Literal["favourable", "middle", "unfavourable"]
LEVEL: Final = 0.05  # of "it is not better than the most frequent label"
NEARLY: Final = 0.02  # of a limit: with few draws, a setting this little beyond it may be within
NOT_LEARNT: Final = "the classifier is not significantly better than the most frequent label"


class Measured(NamedTuple):
    """A statistic with its 95% interval, and why it satisfies no constraint whatever its value, if so."""

    share: float
    low: float
    high: float
    flaw: str = ""


Reader = Callable[[Mapping[str, Any], Effort, float | None], Measured]


@dataclass(frozen=True, slots=True)
class Statistic:
    """A number that a setting is judged by.

    Attributes
    ----------
    probe : str
        Which measurement it is part of.
    label : str
        What it is, for people.
    read : function
        Returns it from the facts of that measurement.
    is_privacy : bool
        Whether smaller is better, and grows with ε.
    needs_texts : bool
    has_percentiles : bool
        Whether a percentile over words can be judged in place of their mean.
    """

    probe: str
    label: str
    read: Reader
    is_privacy: bool = True
    needs_texts: bool = False
    has_percentiles: bool = False

    def label_at(self, percentile: float | None) -> str:
        """Return what it is, for people, if it is judged at this percentile over words.

        Examples
        --------
        >>> STATISTICS["unchanged"].label_at(95)
        'how often a word of the vocabulary stays (percentile 95 over words)'
        >>> STATISTICS["attack"].label_at(95)
        'S, how often a word is guessed'
        """
        if percentile is None or not self.has_percentiles:
            return self.label
        return f"{self.label} (percentile {percentile:g} over words)"


def _share(name: str) -> Reader:
    return lambda facts, *_: Measured(facts[name], facts[f"{name}_low"], facts[f"{name}_high"])


def _exponent(facts: Mapping[str, Any], *_: object) -> Measured:
    value = facts["exponent"]
    return Measured(value, value, value)  # the pairs of words are fixed, so nothing was drawn


def _accuracy(facts: Mapping[str, Any], *_: object) -> Measured:
    """Return the accuracy divided by that on unperturbed text; the interval covers the errors of both.

    A frequent label is right often, so even a useless classifier can have a large ratio.
    """
    unperturbed = facts["accuracy_unperturbed"]
    largest = facts["accuracy_unperturbed_high"]
    smallest = facts["accuracy_unperturbed_low"] or unperturbed  # 0 after a single repetition
    return Measured(
        facts["accuracy"] / unperturbed,
        facts["accuracy_low"] / largest,
        facts["accuracy_high"] / smallest,
        "" if facts["accuracy_p_majority"] < LEVEL else NOT_LEARNT,
    )


def _unchanged(facts: Mapping[str, Any], effort: Effort, percentile: float | None) -> Measured:
    if percentile is None:
        return _share("unchanged")(facts, effort, None)
    return Measured(*order_interval(facts["unchanged_each"], percentile, effort.word_draws))


def _watched(facts: Mapping[str, Any], effort: Effort, percentile: float | None) -> Measured:
    if not facts["watched_words"]:
        raise ParameterError(
            "The vocabulary has none of the watched words. Hint: leave out the limit on watched words."
        )
    if percentile is None:
        return _share("watched")(facts, effort, None)
    draws = effort.word_draws
    intervals = [clopper_pearson(round(share * draws), draws) for share in facts["watched_each"]]
    # All watched words are drawn, so only the draws are random: those of the words at that percentile.
    share, low, high = (
        float(np.quantile(column, percentile / 100.0)) for column in zip(*intervals, strict=True)
    )
    return Measured(share, low, high)


STATISTICS: Final = {
    "exponent": Statistic("exponent", "ε·d to the ten words nearest in meaning, at the median", _exponent),
    "attack": Statistic("attack", "S, how often a word is guessed", _share("attack")),
    "closeness": Statistic(
        "closeness_content",
        "mean cosine of content words and answers",
        _share("cosine_content"),
        is_privacy=False,
    ),
    "unchanged": Statistic(
        "unchanged", "how often a word of the vocabulary stays", _unchanged, has_percentiles=True
    ),
    "attack_on_watched": Statistic(
        "watched", "how often a watched word is recognised", _watched, has_percentiles=True
    ),
    "linkage": Statistic(
        "linkage", "how often a text is linked to its original", _share("linkage"), needs_texts=True
    ),
    "accuracy": Statistic(
        "accuracy",
        "accuracy relative to unperturbed text",
        _accuracy,
        is_privacy=False,
        needs_texts=True,
    ),
}
"""The statistics, the cheapest to measure first."""


@dataclass(frozen=True, slots=True)
class Constraint:
    """A limit for a statistic: an upper one for privacy, a lower one for utility.

    Examples
    --------
    >>> limit = Constraint("attack", 0.3)
    >>> limit.excess(Measured(0.28, 0.26, 0.31), "middle") < 0 < limit.excess(Measured(0.28, 0.26, 0.31))
    True
    """

    name: str
    limit: float

    @property
    def statistic(self) -> Statistic:
        """What is limited."""
        return STATISTICS[self.name]

    def excess(self, share: Measured, end: End = "unfavourable") -> float:
        """Return how far a value is beyond the limit, as a part of the limit; negative if it is within.

        A flawed value is beyond it, as if it were zero, unless the favourable end is asked for: more draws
        may have no flaw.
        """
        is_upper = (end == "unfavourable") == self.statistic.is_privacy
        value = share.share if end == "middle" else share.high if is_upper else share.low
        distance = value - self.limit if self.statistic.is_privacy else self.limit - value
        excess = distance / self.limit
        return max(excess, 1.0) if share.flaw and end != "favourable" else excess

    def label(self, percentile: float | None) -> str:
        """Return what is asked for, of this percentile over words if it has one."""
        side = "most" if self.statistic.is_privacy else "least"
        return f"{self.statistic.label_at(percentile)}: at {side} {self.limit:g}"


@dataclass(frozen=True, slots=True)
class Problem:
    """Constraints, and the statistic that is to be as good as they allow.

    Attributes
    ----------
    constraints : tuple of Constraint
    goal : str
        The name of a statistic.
    percentile : float, optional
        Judge this percentile over words, not the mean, of `unchanged` and `attack_on_watched`.
    """

    constraints: tuple[Constraint, ...]
    goal: str
    percentile: float | None = None

    @property
    def is_for_utility(self) -> bool:
        """Whether the goal is utility, so the best setting has the largest ε that the constraints allow."""
        return not STATISTICS[self.goal].is_privacy

    def value(self, name: str, measurer: Measurer, mechanism: Mechanism, effort: Effort) -> Measured:
        """Measure a statistic."""
        statistic, percentile = STATISTICS[name], self.percentile
        probe = "unchanged_each" if name == "unchanged" and percentile is not None else statistic.probe
        return statistic.read(measurer.measure(probe, mechanism, effort), effort, percentile)

    def to_dict(self) -> dict[str, Any]:
        """Return the same facts as plain JSON values."""
        return {
            "goal": f"{'largest' if self.is_for_utility else 'smallest'} {STATISTICS[self.goal].label}",
            "constraints": [constraint.label(self.percentile) for constraint in self.constraints],
            "limits": {constraint.name: constraint.limit for constraint in self.constraints},
            "optimised": self.goal,
            "percentile": self.percentile,
        }


def make_problem(
    limits: Mapping[str, float | None], *, at_percentile: float | None = None, has_texts: bool = False
) -> Problem:
    """Return the problem of these limits: the best utility under limits for privacy, or the other way round.

    With limits for both, utility is optimised.

    Examples
    --------
    >>> make_problem({"attack": 0.3}).goal, make_problem({"closeness": 0.5}).goal
    ('closeness', 'attack')
    """
    constraints = []
    for name in STATISTICS:  # the cheapest first
        limit = limits.get(name)
        if limit is None:
            continue
        option = f"{'max' if STATISTICS[name].is_privacy else 'min'}_{name}"
        if name == "exponent":
            check_real(limit, option, "tune", "be finite and positive", 1e-12, 1e12)
        else:
            check_real(limit, option, "tune", "be in (0, 1)", 1e-9, 1.0 - 1e-9)
        if STATISTICS[name].needs_texts and not has_texts:
            raise ParameterError(
                f"--{option.replace('_', '-')} needs labelled texts. Hint: --data FILE, or data=…."
            )
        constraints.append(Constraint(name, float(limit)))
    if not constraints:
        raise ParameterError(
            "What must the setting satisfy? Hint: a limit such as --max-attack 0.3 or --min-closeness 0.5."
        )
    if at_percentile is not None:
        check_real(at_percentile, "at_percentile", "tune", "be in (0, 100)", 1e-9, 100.0 - 1e-9)
        if not any(constraint.statistic.has_percentiles for constraint in constraints):
            raise ParameterError(
                "--at-percentile is about --max-unchanged and --max-attack-on-watched. Hint: add one of them."
            )
    is_for_utility = any(constraint.statistic.is_privacy for constraint in constraints)
    goal = ("accuracy" if has_texts else "closeness") if is_for_utility else "attack"
    return Problem(tuple(constraints), goal, at_percentile)


def check_possible(max_attack: float | None, guesses: Iterable[float]) -> None:
    """Raise ParameterError if S is to be below what guessing alone reaches in every space.

    Examples
    --------
    >>> check_possible(0.3, [0.054])
    >>> check_possible(0.001, [0.054])
    Traceback (most recent call last):
    wordveil.errors.ParameterError: No setting satisfies --max-attack 0.001: guessing alone names ...
    """
    alone = min(guesses)
    if max_attack is not None and max_attack <= alone:
        raise ParameterError(
            f"No setting satisfies --max-attack {max_attack:g}: guessing alone names the word in "
            f"{100.0 * alone:.1f}% of cases, without any output. Hint: a larger limit."
        )
