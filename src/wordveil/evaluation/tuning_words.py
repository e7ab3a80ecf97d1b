"""What a choice gives up, and how close it came, in sentences."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from wordveil.evaluation.tuning_problem import LEVEL, NOT_LEARNT, STATISTICS, Problem
from wordveil.evaluation.tuning_search import Point

__all__ = [
    "NOT_PRIVATE",
    "SHARES",
    "how_close",
    "limit_in_words",
    "limits_in_words",
    "setting_name",
    "traded_away",
]

NOT_PRIVATE: Final = (
    "If the labelled texts are private, this choice is not private: it depends on them, without noise. To "
    "avoid that, tune on a public stand-in, texts of the same kind that are nobody's secret, and use the "
    "setting unseen."
)
SHARES: Final = ("attack", "unchanged", "attack_on_watched", "linkage")  # shown in percent
_CLEARLY: Final = 0.1  # better by a tenth
# What else is worth knowing about a setting: its column, its name, whether smaller is better, its format.
_OTHERS: Final = (
    ("attack", "S", True, "{:.1%}"),
    ("attack_content", "S on content words", True, "{:.1%}"),
    ("watched", "the share of watched words that are recognised", True, "{:.1%}"),
    ("exponent", "ε·d to the ten words nearest in meaning", True, "{:.1f}"),
    ("linkage", "the share of linked texts", True, "{:.1%}"),
    ("cosine_content", "the cosine of content words and answers", False, "{:.2f}"),
    ("accuracy", "accuracy", False, "{:.3f}"),
)
_COLUMNS: Final = {"closeness": "cosine_content", "attack_on_watched": "watched"}


def setting_name(row: dict[str, Any]) -> str:
    """Return a setting in a few words.

    Examples
    --------
    >>> setting_name({"space": "10 axes", "mechanism": "laplace", "lam": 0.0, "answer": None, "epsilon": 5.0})
    '10 axes, laplace, λ = 0, ε = 5'
    """
    parts = [row["space"], row["mechanism"]]
    if row.get("lam") is not None:
        parts.append(f"λ = {row['lam']:g}")
    if row.get("answer"):
        parts.append(f"{row['answer']} answer")
    return ", ".join([*parts, f"ε = {row['epsilon']:g}"])


def limit_in_words(name: str, limit: float) -> str:
    """Return the limit of a statistic.

    Examples
    --------
    >>> limit_in_words("attack", 0.3), limit_in_words("closeness", 0.5)
    ('at most 30%', 'at least 0.5')
    """
    shown = f"{100.0 * limit:g}%" if name in SHARES else f"{limit:g}"
    return f"at {'most' if STATISTICS[name].is_privacy else 'least'} {shown}"


def limits_in_words(problem: Mapping[str, Any]) -> list[str]:
    """Return the constraints of a problem, as `Problem.to_dict` has them."""
    return [
        f"{STATISTICS[name].label_at(problem.get('percentile'))}: {limit_in_words(name, limit)}"
        for name, limit in problem["limits"].items()
    ]


def how_close(point: Point) -> str:
    """Say how far the best setting is from satisfying each constraint that it violates."""
    parts = []
    for constraint in point.problem.constraints:
        share = point.shares.get(constraint.name)
        if share is None or constraint.excess(share) <= 0.0:
            continue
        label, limit = constraint.statistic.label_at(point.problem.percentile), constraint.limit
        value = f"{label} is {_told_apart(constraint.name, share.share, limit)} there"
        if share.flaw:
            parts.append(f"{value}, but {share.flaw}")
            continue
        end, side = (share.high, "up to") if constraint.statistic.is_privacy else (share.low, "down to")
        interval = f"95% interval: {side} {_told_apart(constraint.name, end, limit)}"
        parts.append(f"{value} ({interval}); {limit_in_words(constraint.name, limit)} was asked for")
    return f"No setting satisfies every constraint. The closest one: {'. '.join(parts)}."


def _told_apart(name: str, value: float, limit: float) -> str:
    """Return a value in the unit of its limit, with at least three digits and as many as tell the two apart.

    Examples
    --------
    >>> _told_apart("attack", 0.4321, 0.4), _told_apart("closeness", 0.40004, 0.4)
    ('43.2%', '0.40004')
    """
    factor, unit = (100.0, "%") if name in SHARES else (1.0, "")
    texts = (f"{factor * value:.{digits}g}" for digits in range(3, 17))
    return next((text for text in texts if float(text) != factor * limit), f"{factor * value:g}") + unit


def traded_away(problem: Problem, rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return what the first row gives up: against text without noise, and against the other contenders."""
    best = rows[0]
    sentences = [_against_nothing(problem, best)]
    for column, label, is_small, form in _OTHERS:
        if column == _COLUMNS.get(problem.goal, problem.goal) or best.get(column) is None:
            continue
        other = min(rows, key=lambda row: row[column] if is_small else -row[column])
        gain = (best[column] - other[column]) * (1.0 if is_small else -1.0)
        better, worse = form.format(other[column]), form.format(best[column])
        if other is not best and gain > _CLEARLY * abs(best[column]) and better != worse:
            sentences.append(f"{setting_name(other)} does better on {label}: {better}, not {worse}.")
    if best.get("linkage") is None:
        sentences.append(
            "S is about single words. Whole texts are linked to their originals more often: 'wordveil "
            "explain --linkage FILE' measures that."
        )
    return sentences


def _against_nothing(problem: Problem, row: dict[str, Any]) -> str:
    if problem.goal == "accuracy":
        return (
            f"Accuracy is {row['accuracy']:.3f}; unperturbed text has {row['accuracy_unperturbed']:.3f} and "
            f"the most frequent label {row['accuracy_majority']:.3f}"
            f"{'' if row['accuracy_p_majority'] < LEVEL else f': {NOT_LEARNT}'}."
        )
    closeness = (
        f"Answers to content words have a mean cosine of {row['cosine_content']:.2f}; unperturbed words have "
        f"1, one and the same answer for every word has {row['constant_cosine_content']:.2f}."
    )
    if problem.goal == "attack":
        label = STATISTICS["attack"].label
        return f"{label}: {row['attack']:.1%}, without any output {row['attack_alone']:.1%}. {closeness}"
    return closeness
