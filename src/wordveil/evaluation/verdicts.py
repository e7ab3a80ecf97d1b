"""A claim with its verdict, and the numbers of the paper that results are compared with."""

import json
from dataclasses import dataclass
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

    Its fields are the keys of a claim in the JSON of a result.

    Examples
    --------
    >>> print(Verdict("accuracy rises with ε", decided(0.9 > 0.6), "0.6 at ε = 1, 0.9 at ε = 10"))
    holds: accuracy rises with ε
           0.6 at ε = 1, 0.9 at ε = 10
    """

    claim: str
    outcome: Outcome
    found: str

    def __post_init__(self) -> None:
        if self.outcome not in get_args(Outcome):
            raise ValueError("The outcome of a verdict must be one of the three words.")

    def __str__(self) -> str:
        """Return the verdict for a terminal, with its numbers on a second line."""
        return f"{self.outcome}: {self.claim}\n       {self.found}"


def decided(is_true: bool) -> Outcome:
    """Return the outcome of a claim that a measurement decides."""
    return HOLDS if is_true else DOES_NOT_HOLD


@cache
def paper() -> dict[str, Any]:
    """Return the paper's numbers, to compare ours with."""
    values: dict[str, Any] = json.loads((files("wordveil.evaluation") / "paper.json").read_text("utf-8"))
    return values
