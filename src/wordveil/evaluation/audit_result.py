"""The result of an audit: named checks, each with a verdict, its evidence and its power."""

import math
from dataclasses import asdict, dataclass
from decimal import ROUND_CEILING, Context
from typing import Any, ClassVar, Final

from wordveil.evaluation.verdicts import UNDECIDED, Verdict, decided

__all__ = ["Audit", "Check", "not_tested", "rounded_up"]

_WORDS: Final = {True: "passed", False: "FAILED", None: "not tested"}
_MIN_POWER: Final = 0.5  # a check that misses the mistake more often than it finds it decides nothing
_WITH_DRAWS: Final = "black box"  # the group whose number of draws can be chosen


@dataclass(frozen=True, slots=True)
class Check:
    """One check of an audit.

    Attributes
    ----------
    group, name : str
        What kind of check it is, and what it is about.
    passed : bool or None
        Whether it passed; None if it could not be tested, and the evidence says why.
    evidence : str
        What was measured.
    alpha : float
        At most how often a correct mechanism fails it; 0 if chance plays no part.
    mistake : str
        A mistake that the check looks for.
    power : float or None
        How often the check finds that mistake, rounded down; None if chance plays no part.

    Examples
    --------
    >>> print(Check("noise", "radius", True, "p = 0.4", 1e-6, "an ε that is 5% too large", 0.9999))
    passed: noise: radius
           p = 0.4; an ε that is 5% too large would have been found with probability 0.999
    """

    group: str
    name: str
    passed: bool | None
    evidence: str
    alpha: float = 0.0
    mistake: str = ""
    power: float | None = None

    def __post_init__(self) -> None:
        if self.passed is not None:
            object.__setattr__(self, "passed", bool(self.passed))  # NumPy's False is not False

    @property
    def power_in_words(self) -> str:
        """What the check would have found, and how often; empty if it could not be tested."""
        if not self.mistake or self.passed is None:
            return ""
        if self.power is None:
            return f"chance plays no part: {self.mistake} would always be found"
        shown = math.floor(1000.0 * self.power) / 1000.0
        return f"{self.mistake} would have been found with probability {min(shown, 0.999):g}"

    @property
    def lacks_power(self) -> bool:
        """Whether it passed, and would probably have passed with the mistake as well."""
        return self.passed is True and self.power is not None and self.power < _MIN_POWER

    def verdict(self) -> Verdict:
        """Return the check as a verdict: undecided without power, though a mistake that was found counts."""
        name = f"{self.group}: {self.name}"
        if self.passed is None:
            return Verdict(name, UNDECIDED, self.summary)
        if self.lacks_power:
            why = "with this many draws" if self.group == _WITH_DRAWS else "at this setting"
            return Verdict(name, UNDECIDED, f"too little power {why}; {self.summary}")
        return Verdict(name, decided(self.passed), self.summary)

    @property
    def summary(self) -> str:
        """The evidence and the power, in one line."""
        return "; ".join(filter(None, (self.evidence, self.power_in_words)))

    def __str__(self) -> str:
        """Return the check for a terminal, with its evidence on a second line."""
        word = UNDECIDED if self.lacks_power else _WORDS[self.passed]
        return f"{word}: {self.group}: {self.name}\n       {self.summary}"


def not_tested(group: str, name: str, why: str) -> Check:
    """Return a check that could not be tested, and why."""
    return Check(group, name, None, why)


def rounded_up(probability: float) -> str:
    """Return a small probability with two digits, rounded up.

    Examples
    --------
    >>> rounded_up(7.104e-5), rounded_up(3.5e-5), rounded_up(0.0)
    ('7.2e-5', '3.5e-5', '0')
    """
    if not probability:
        return "0"
    # Twelve digits first: a sum of floats may end in a 4 at the seventeenth, which is no reason to round up.
    return f"{Context(prec=2, rounding=ROUND_CEILING).create_decimal(f'{probability:.12g}'):.1e}"


@dataclass(frozen=True, slots=True)
class Audit:
    """What an audit has found; it contains nothing about private text, because it reads none.

    Attributes
    ----------
    settings : dict
        The mechanism, its parameters and the size of the audit.
    checks : tuple of Check
        All checks, in the order in which they ran.
    states_error : bool
        Whether the checks have a stated error; that of a bare function has none.
    """

    name: ClassVar[str] = "audit"
    is_private: ClassVar[bool] = False

    settings: dict[str, Any]
    checks: tuple[Check, ...]
    states_error: bool = True

    @property
    def passed(self) -> bool:
        """Whether no check failed."""
        return not self.failed

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if check.passed is False)

    @property
    def error(self) -> float:
        """At most how often a correct mechanism fails the audit: the sum over the checks."""
        return math.fsum(check.alpha for check in self.checks)

    @property
    def headline(self) -> str:
        """The outcome in one sentence."""
        untested = sum(check.passed is None for check in self.checks)
        powerless = sum(check.lacks_power for check in self.checks)
        parts = [f"{len(self.checks) - untested} checks"] + [f"{untested} not tested"] * bool(untested)
        parts += [f"{powerless} with too little power"] * bool(powerless)
        verdict = "passed" if self.passed else f"FAILED: {'; '.join(check.name for check in self.failed)}"
        outcome = f"The audit {verdict} ({', '.join(parts)})."
        if not self.states_error:
            return outcome
        chance = "never fails it"
        if self.error:
            chance = f"fails it with probability {rounded_up(self.error)} at most"
        return f"{outcome} A correct mechanism {chance}."

    def verdicts(self) -> list[Verdict]:
        """Return the checks as verdicts, for a report."""
        return [check.verdict() for check in self.checks]

    def rows(self) -> list[dict[str, Any]]:
        """Return one row of facts per check."""
        return [asdict(check) for check in self.checks]

    def to_dict(self) -> dict[str, Any]:
        """Return the same facts as plain JSON values."""
        return {
            "passed": self.passed,
            "headline": self.headline,
            "family_wise_error": self.error if self.states_error else None,
            "settings": self.settings,
            "checks": [
                row | {"outcome": check.verdict().outcome, "summary": check.summary}
                for row, check in zip(self.rows(), self.checks, strict=True)
            ],
        }

    def __str__(self) -> str:
        """Return the audit for a terminal."""
        return "\n".join([*map(str, self.checks), "", self.headline])
