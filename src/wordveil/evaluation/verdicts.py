"""A claim with its verdict, and the numbers of the paper that results are compared with."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Final, Literal, get_args

__all__ = ["DOES_NOT_HOLD", "HOLDS", "UNDECIDED", "Outcome", "Verdict", "decided", "paper"]

Outcome = Literal["holds", "does not hold", "undecided"]
HOLDS: Final = "holds"
DOES_NOT_HOLD: Final = "does not hold"
UNDECIDED: Final = "undecided"


@dataclass(frozen=True, slots=True)
class Verdict:
    """A claim, whether it holds here, and the numbers behind that.

    Those of wordveil's experiments have a name and numbers, which the sentences are made from
    (`claim_words`): a result keeps these and no sentences.

    Examples
    --------
    >>> print(Verdict("accuracy rises with ε", decided(0.9 > 0.6), "0.6 at ε = 1, 0.9 at ε = 10"))
    holds: accuracy rises with ε
           0.6 at ε = 1, 0.9 at ε = 10
    """

    claim: str
    outcome: Outcome
    evidence: str
    name: str = ""
    numbers: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        if self.outcome not in get_args(Outcome):
            raise ValueError("The outcome of a verdict must be one of the three words.")

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values: the numbers, or the sentences of a claim without a name."""
        if self.name:
            return {"name": self.name, "outcome": self.outcome, "numbers": dict(self.numbers)}
        return {"claim": self.claim, "outcome": self.outcome, "evidence": self.evidence}

    def __str__(self) -> str:
        """Return the verdict for a terminal, with its numbers on a second line."""
        return f"{self.outcome}: {self.claim}\n       {self.evidence}"


def decided(is_true: bool) -> Outcome:
    """Return the outcome of a claim that a measurement decides."""
    return HOLDS if is_true else DOES_NOT_HOLD


@cache
def paper() -> dict[str, Any]:
    """Return the paper's numbers, to compare ours with."""
    values: dict[str, Any] = json.loads((files("wordveil.evaluation") / "paper.json").read_text("utf-8"))
    return values
