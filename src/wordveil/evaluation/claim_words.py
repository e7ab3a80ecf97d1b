"""Claims in words: the sentences about a verdict, made from the numbers that its result keeps.

Results hold the numbers only, so a change of wording changes no result.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from wordveil.evaluation.verdicts import Outcome, Verdict
from wordveil.rounding import at_least, at_most

__all__ = ["EQUAL_TRACES", "kept_p", "p_in_words", "with_numbers", "worded"]

EQUAL_TRACES: Final = 1e-9
"""Relative: far above rounding in float64, far below any difference that matters."""
_SMALLEST_P: Final = 0.001  # the smaller a p-value is, the less its approximation means

Numbers = Mapping[str, Any]
Words = Callable[[Numbers], tuple[str, str]]


def worded(name: str, outcome: Outcome, numbers: Numbers) -> Verdict:
    """Return a verdict with its sentences.

    Raises
    ------
    KeyError
        If there is no claim of this name, or a number is missing.

    Examples
    --------
    >>> print(worded("same_scale", "holds", {"spread": 0.0}))
    holds: the scale of the noise is the same at every λ
           E‖Z‖₂² = (m + 1)·trace(A)/ε², and trace(A) is the same at every λ
    """
    claim, evidence = _WORDS[name](numbers)
    where = f", {numbers['where']}" if numbers.get("where") else ""
    tested = f", tested on {numbers['tested_on']} text" if numbers.get("tested_on") else ""
    return Verdict(f"{claim}{where}{tested}", outcome, evidence, name, dict(numbers))


def with_numbers(verdict: Verdict, numbers: Numbers) -> Verdict:
    """Return a verdict with more numbers, such as what its settings are called (`where`)."""
    return worded(verdict.name, verdict.outcome, {**verdict.numbers, **numbers})


def kept_p(value: float) -> float | None:
    """Return a p-value as a result keeps it: None stands for one below 0.001."""
    return None if value < _SMALLEST_P else float(value)


def p_in_words(value: float | None) -> str:
    """Return a p-value, or what `kept_p` made of it, for readers.

    Examples
    --------
    >>> p_in_words(3.6e-64), p_in_words(0.0072), p_in_words(0.96), p_in_words(None)
    ('p < 0.001', 'p = 0.007', 'p = 0.960', 'p < 0.001')
    """
    return f"p < {_SMALLEST_P:g}" if value is None or value < _SMALLEST_P else f"p = {value:.3f}"


def _listed(values: Sequence[float]) -> str:
    return ", ".join(f"{value:g}" for value in values)


def _too_few_blocks(numbers: Numbers) -> str:
    return f"fewer than {numbers['min_blocks']} blocks of words" if "min_blocks" in numbers else ""


def _privacy_moves(numbers: Numbers) -> tuple[str, str]:
    first, last = numbers["lams"]
    claim = (
        f"at ε = {_listed(numbers['epsilons'])}, N_w falls and S_w rises from λ = {first:g} to "
        f"λ = {last:g}, significantly"
    )
    moves = "; ".join(
        f"ε = {move['epsilon']:g}: N_w {move['n_w']:+.1f} percentage points, "
        f"S_w {move['s_w']:+.1f} answers in {numbers['draws']} draws ({p_in_words(move['p'])})"
        for move in numbers.get("moves", ())
    )
    return claim, _too_few_blocks(numbers) or moves


def _every_step(numbers: Numbers) -> tuple[str, str]:
    claim = f"at ε = {_listed(numbers['epsilons'])}, N_w falls and S_w rises with every step of λ"
    if reason := _too_few_blocks(numbers):
        return claim, reason
    steps = "; ".join(
        f"{step['statistic']} at ε = {step['epsilon']:g}, λ = {step['lams'][0]:g} to {step['lams'][1]:g} "
        f"({step['size']:.2f})"
        for step in numbers["steps"]
    )
    if numbers["opposite"]:
        return claim, f"these go the other way: {steps}"
    unclear, tests = numbers["unclear"], numbers["tests"]
    if unclear:
        more = "; …" if unclear > len(numbers["steps"]) else ""
        return claim, f"{unclear} of {tests} steps are within noise: {steps}{more}"
    return claim, f"all {tests} steps do, significantly"


def _ends(numbers: Numbers) -> tuple[str, str]:
    (low, high), (near_zero, near_all) = numbers["epsilons"], numbers["limits"]
    claim = (
        f"N_w goes to 0% at small ε (mean below {near_zero:g}%) and to 100% at large ε "
        f"(mean above {near_all:g}%)"
    )
    return claim, (
        f"at ε = {low:g} N_w is at most {at_most(numbers['most'], 2)}%, "
        f"at ε = {high:g} at least {at_least(numbers['least'])}%"
    )


def _percentiles(numbers: Numbers) -> tuple[str, str]:
    claim = (
        "the 5th, 50th and 95th percentiles over words move the same way as the means, where they move "
        "beyond noise"
    )
    if reason := _too_few_blocks(numbers):
        return claim, reason
    evidence = f"{numbers['moved']} do beyond noise, {numbers['within_noise']} move only within it"
    opposite = ", ".join(
        f"the {move['percentile']}th of {move['statistic']} at ε = {move['epsilon']:g}"
        for move in numbers["opposite"]
    )
    return claim, f"not {opposite}; {evidence}" if opposite else evidence


def _sparse_gain(numbers: Numbers) -> tuple[str, str]:
    claim = "words in sparse regions gain most"
    if "min_blocks" in numbers:
        return claim, f"fewer than {numbers['min_blocks']} blocks have both sparse and dense words"
    return claim, (
        f"at ε = {numbers['epsilon']:g} N_w falls by {numbers['sparse']:.1f} percentage points in the "
        f"sparsest quarter of the words and by {numbers['dense']:.1f} in the densest "
        f"({p_in_words(numbers['p'])})"
    )


def _same_scale(numbers: Numbers) -> tuple[str, str]:
    spread = numbers["spread"]
    differs = "is the same at every λ"
    if spread >= EQUAL_TRACES:
        differs = f"differs between the λ: the largest is {100.0 * spread:.2g}% above the smallest"
    claim = "the scale of the noise is the same at every λ"
    return claim, f"E‖Z‖₂² = (m + 1)·trace(A)/ε², and trace(A) {differs}"


def _nothing_learnt(numbers: Numbers) -> str:
    """Return why nothing about a classifier can be decided; empty if something can."""
    if "clean_majority" in numbers:
        return (
            "on unperturbed text the classifier is not significantly better than the most frequent label "
            f"({numbers['clean_majority']:.3f})"
        )
    return f"needs {numbers['min_repetitions']} repetitions" if "min_repetitions" in numbers else ""


def _accuracy_rises(numbers: Numbers) -> tuple[str, str]:
    claim = "accuracy rises with ε towards the benchmark"
    if reason := _nothing_learnt(numbers):
        return claim, reason
    pairs = list(zip(numbers["means"], numbers["epsilons"], strict=True))
    values = ", ".join(f"{mean:.3f} at ε = {epsilon:g}" for mean, epsilon in pairs)
    evidence = f"{values}; unperturbed {numbers['unperturbed']:.3f} ({p_in_words(numbers['p'])})"
    if "p_majority" in numbers:
        reason = f"at ε = {pairs[-1][1]:g} it is not significantly better than the most frequent label"
        return claim, f"{reason} ({p_in_words(numbers['p_majority'])}); {evidence}"
    falls = ", ".join(f"ε = {first:g} to {last:g}" for first, last in numbers.get("falls", ()))
    return claim, f"it falls significantly from {falls}; {evidence}" if falls else evidence


def _at(epsilon: float | None) -> str:
    return "" if epsilon is None else f", ε = {epsilon:g}"


def _no_difference(numbers: Numbers) -> tuple[str, str]:
    first = numbers["first"]
    claim = f"no significant difference in accuracy between λ = {first:g} and the other λ"
    if reason := _nothing_learnt(numbers):
        return claim, reason
    differences = numbers["differences"]
    if not differences:
        return claim, "no classifier is significantly better than the most frequent label"
    lines = "; ".join(
        f"λ = {row['lam']:g}{_at(row['epsilon'])}: "
        f"{row['mean']:+.3f} ± {row['half']:.3f} ({p_in_words(row['p'])})"
        for row in differences
    )
    count, level = len(differences), numbers["level"]
    tests = f"{count} test{'s'[: count > 1]}"
    tests += f" at {level:g}/{count} = {level / count:.2g} each (Bonferroni)" if count > 1 else ""
    parts = [f"accuracy minus that of λ = {first:g}: {lines}", tests]
    if left_out := [epsilon for epsilon in numbers["not_learnt"] if epsilon is not None]:
        parts.append(f"not tested, because nothing was learnt there: ε = {_listed(left_out)}")
    if "max_half" in numbers:
        parts.append(f"an interval is wider than ±{numbers['max_half']:g}")
    if numbers.get("some_not_learnt"):
        parts.append("some are not significantly better than the most frequent label")
    return claim, "; ".join(parts)


def _recall(numbers: Numbers) -> tuple[str, str]:
    claim = (
        f"recall of {numbers['label']} stays around 0.95 or higher "
        f"(at least {numbers['least']:g} at every setting)"
    )
    if reason := _nothing_learnt(numbers):
        return claim, reason
    lam = "" if numbers["lam"] is None else f", λ = {numbers['lam']:g}"
    evidence = (
        f"its lowest mean is {numbers['lowest']:.3f}{lam}{_at(numbers['epsilon'])}; "
        f"unperturbed {numbers['unperturbed']:.3f}"
    )
    if "p_below" in numbers:
        return claim, f"{evidence} ({p_in_words(numbers['p_below'])})"
    if "p_majority" in numbers:
        reason = "at some setting the classifier is not significantly better than the most frequent label"
        return claim, f"{reason} ({p_in_words(numbers['p_majority'])}); {evidence}"
    return (
        claim,
        f"{evidence}; at some setting it could be lower by chance" if "p_above" in numbers else evidence,
    )


def _closer(claim: str, numbers: Numbers) -> tuple[str, str]:
    attack, pairs = numbers["attack"], numbers["pairs"]
    sides = ", ".join(
        f"{side['name']} has {side['value']:.3f} ± {side['reach']:.3f}"
        + ("" if side["attack"] == attack else f" at S = {100 * side['attack']:.1f}%")
        for side in numbers["sides"]
    )
    chosen = f"; the best of {pairs} pairs (Bonferroni)" if pairs > 1 else ""
    return claim, f"cosine of answers to content words at S = {100 * attack:g}%: {sides}{chosen}"


def _lam_no_closer(numbers: Numbers) -> tuple[str, str]:
    place = f"{numbers['space']}, {numbers['answer']} answer"
    return _closer(f"λ = {numbers['lam']:g} is no closer than λ = 0 at equal S ({place})", numbers)


def _few_dims_closer(numbers: Numbers) -> tuple[str, str]:
    place = f"λ = 0, {numbers['answer']} answer"
    return _closer(f"fewer dimensions are closer than all {numbers['dims']} at equal S ({place})", numbers)


def _map_closer(numbers: Numbers) -> tuple[str, str]:
    claim = f"a map is closer than all measured numbers of axes at equal S ({numbers['answer']} answer)"
    return _closer(claim, numbers)


_WORDS: Final[dict[str, Words]] = {
    "privacy_moves": _privacy_moves,
    "every_step": _every_step,
    "ends": _ends,
    "percentiles": _percentiles,
    "sparse_gain": _sparse_gain,
    "same_scale": _same_scale,
    "accuracy_rises": _accuracy_rises,
    "no_difference": _no_difference,
    "recall": _recall,
    "lam_no_closer": _lam_no_closer,
    "few_dims_closer": _few_dims_closer,
    "map_closer": _map_closer,
}
