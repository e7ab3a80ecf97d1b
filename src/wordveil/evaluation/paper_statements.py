"""What the paper itself says about each of its claims, in its own numbers where it has some."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from wordveil.evaluation.verdicts import paper

__all__ = ["DRAWS", "REPETITIONS", "paper_statement"]

DRAWS: Final = 100
"""How often the paper draws each word."""
REPETITIONS: Final = 5
"""Of the splits; the paper does not say how many it has."""

_MIDDLE: Final = (5, 10, 20)
_SIMILAR: Final = "GloVe"  # of the paper's two tables, the one whose vectors are like the default ones


def _changes() -> str:
    values = paper()
    tables = values["tables"][_SIMILAR]
    parts = []
    for epsilon in _MIDDLE:
        column = values["epsilons"].index(epsilon)
        moves = [tables[name][-1][column][0] - tables[name][0][column][0] for name in ("N_w", "S_w")]
        parts.append(f"ε = {epsilon}: N_w {moves[0]:+.1f}, S_w {moves[1]:+.1f}")
    return f"{'; '.join(parts)} ({_SIMILAR})"


def _ends() -> str:
    table = paper()["tables"][_SIMILAR]["N_w"]
    first, last = max(row[0][0] for row in table), min(row[-1][0] for row in table)
    return f"at ε = 1 at most {first:.2f}%, at ε = 40 at least {last:.1f}% ({_SIMILAR})"


def _benchmark(settings: Mapping[str, Any]) -> str:
    scores: dict[str, Any] | None = paper()["utility"].get(settings.get("paper"))
    return "" if scores is None else f"stated in its figures; unperturbed {scores['accuracy']:.2f}"


# By a part of the claim.
_STATEMENTS: Final[dict[str, Callable[[Mapping[str, Any]], str]]] = {
    "significantly": lambda _: _changes(),
    "every step of λ": lambda _: "so in all of its tables",
    "goes to 0": lambda _: _ends(),
    "percentiles over words": lambda _: "so in its figures",
    "sparse regions": lambda _: "its reason for the method; no number",
    "scale of the noise": lambda _: "by construction: trace(A) = m for every λ",
    "accuracy rises": _benchmark,
    "no significant difference": lambda _: "stated, without a test",
    "recall of": lambda _: "around 0.95 or higher",
}


def paper_statement(claim: str, settings: Mapping[str, Any]) -> str:
    """Return what the paper says about a claim of a result with these settings; empty if it says nothing.

    Examples
    --------
    >>> paper_statement("N_w goes to 0% at small ε", {})
    'at ε = 1 at most 0.16%, at ε = 40 at least 90.6% (GloVe)'
    """
    # "no significant difference" also holds the word of the first.
    for part in sorted(_STATEMENTS, key=len, reverse=True):
        if part in claim:
            return _STATEMENTS[part](settings)
    return ""
