"""What a setting is worth, in plain words, for someone who knows no differential privacy.

Any mechanism can be explained: the facts come from `report.setting_facts`.
"""

import textwrap
from typing import Any, Final

from wordveil.embedding import Embedding
from wordveil.exposure import Exposure
from wordveil.perturber import Perturber
from wordveil.profiles import PROFILES
from wordveil.report.layout import bars, in_columns, in_rows, wrapped
from wordveil.rounding import at_least, at_most, factor, has_limit, odds_limit, percent
from wordveil.watched_words import YOUR_LIST

__all__ = ["about_coverage", "explain_setting", "setting_in_words"]

_MANY_DIMS: Final = 50  # at equal S, 10 to 15 dimensions keep more of the text (docs/choosing.md)
_SHOWN_WORDS: Final = 10  # of the watched words, the most exposed
_FINGERPRINTS: Final = ("answer_prior", "answer_vectors", "block_list")  # parameters that are for machines


def explain_setting(
    perturber: Perturber, vectors: Embedding, exposure: Exposure, facts: dict[str, Any], *, full: bool = False
) -> str:
    """Return the explanation of a setting, with what the facts say about a word and a file."""
    parts = [in_rows(_rows(perturber, exposure, facts))]
    if "file" in facts:
        parts.append(_about_file(facts["file"], perturber))
    if "word" in facts:
        parts += _about_word(facts["word"], _symbol(perturber), perturber.mechanism.embedding.is_map)
    if full:
        parts.append(f"The promise, exactly\n\n{textwrap.indent(str(perturber.guarantee), '  ')}")
        if "projection_factor" in facts:
            parts.append(_about_dims(facts, vectors))
    return "\n\n".join(parts)


def _rows(perturber: Perturber, exposure: Exposure, facts: dict[str, Any]) -> dict[str, str]:
    rows = {
        "Setting": setting_in_words(facts["setting"]) + _profile(facts["setting"], exposure),
        "In short": exposure.headline,
        "Protected": _protected(perturber),
        "How well": _how_well(facts["attacker"], exposure.prior.function_words),
        "Proven": _proven(perturber, facts),
        "Over words": _spread(facts["spread"]),
        "Words at risk": _at_risk(facts),
        **_your_words(facts),
        "Whole texts": _whole_texts(perturber, facts),
        "Not protected": "; ".join(facts["guarantee"]["not_covered"])
        + ". Each further release of the same text weakens the promise.",
        "What to do": _advice(perturber, exposure),
    }
    if void := facts["guarantee"].get("void"):
        rows = {"VOID": f"{void}. What follows would hold if the noise were secret."} | rows
    return rows


def _profile(setting: dict[str, Any], exposure: Exposure) -> str:
    if not exposure.documented:
        return ""
    names = [profile.name for profile in PROFILES.values() if profile.epsilon == setting["epsilon"]]
    return f" (the profile {names[0]})"


def _how_well(attacker: dict[str, Any], function_words: int) -> str:
    content, answers = attacker["content_words"], attacker["from_answers_at_least"]
    bound = "" if content["closed_form"] else "at least "
    # Where the best guess is by the answers already, nobody sees less than that.
    learned = (
        ""
        if attacker["sees"] == "sees the answers"
        else (
            " Someone who sees only the private text, as people do, was right in "
            f"{percent(answers['share'])} of cases in a test; a cleverer one may do better."
        )
    )
    return (
        f"for words that carry content (all but the {function_words} most frequent) the best guess is right "
        f"in {bound}{percent(content['share'])} of cases; {percent(content['guess_without_output'])} by "
        f"guessing alone.{learned}"
    )


def _proven(perturber: Perturber, facts: dict[str, Any]) -> str:
    promise = perturber.guarantee.word
    near = odds_limit(promise.neighbours[1].median)
    where = " on the map" if perturber.mechanism.embedding.is_map else ""
    meaning = ""
    if "exponent_by_meaning" in facts:
        ten = odds_limit(facts["exponent_by_meaning"]["p50"])
        meaning = f"; between it and a typical one of its ten nearest in meaning {ten}"
    return (
        f"{about_coverage(promise.covered_share)}whatever else someone knows, seeing an output word changes "
        f"their odds between a typical word and its nearest neighbour{where} {near}{meaning}. This limit "
        "holds without any assumption; the shares above are measured on public words and hold for the "
        "attacker who is described."
    )


def about_coverage(share: float) -> str:
    """Return what to say first of a promise that holds for a share of all pairs of words only.

    Examples
    --------
    >>> about_coverage(1.0), about_coverage(0.0005)
    ('', 'nothing at all for 99.95% of all pairs of words, those of different groups. For the others: ')
    """
    if share >= 1.0:
        return ""
    missing = at_least(100.0 * (1.0 - share), 2)
    return f"nothing at all for {missing}% of all pairs of words, those of different groups. For the others: "


def _spread(spread: dict[str, Any]) -> str:
    return (
        f"in running text, one word in twenty is recognised in {percent(spread['p95'])} of cases or more, "
        f"half of the words in {percent(spread['p50'])} or more, and one in twenty in "
        f"{percent(spread['p5'])} or less ({spread['words']} words, {spread['draws']} draws each)."
    )


def _at_risk(facts: dict[str, Any]) -> str:
    words = [word for word in facts["watched"] if word["topic"] != YOUR_LIST]
    if not words:
        return "the vocabulary has none of the words on sensitive topics that are watched."
    exposed = sum(word["exposed"] for word in words)
    topics = sorted({word["topic"] for word in words})
    counted = {0: "none was", 1: "1 was"}.get(exposed, f"{exposed} were")
    return (
        f"of {len(words)} watched words ({', '.join(topics)}), {counted} recognised in more than four of "
        f"five of {words[0]['draws']} draws. The most exposed: {_most_exposed(words)}."
    )


def _your_words(facts: dict[str, Any]) -> dict[str, str]:
    words = [word for word in facts["watched"] if word["topic"] == YOUR_LIST]
    missing = facts["watched_without_vector"]
    sentences = [f"the most exposed of your list: {_most_exposed(words)}."] if words else []
    if missing:
        have, are = ("has", "is") if missing == 1 else ("have", "are")
        sentences.append(f"{missing} of them {have} no vector, and {are} hidden like all unknown words.")
    return {"Your words": " ".join(sentences)} if sentences else {}


def _most_exposed(words: list[dict[str, Any]]) -> str:
    return ", ".join(f"{word['word']} {word['largest']:.0%}" for word in words[:_SHOWN_WORDS])


def _whole_texts(perturber: Perturber, facts: dict[str, Any]) -> str:
    if "linkage" in facts:
        return str(facts["linkage"]["sentence"])
    length = "" if perturber.policy.pad_to is not None else "its length and "
    return (
        f"whoever has a list of candidate texts can compare {length}all of its words at once, and finds the "
        "right one far more often than a single word is guessed. --linkage FILE measures this on your texts."
    )


def _advice(perturber: Perturber, exposure: Exposure) -> str:
    mechanism, policy = perturber.mechanism, perturber.policy
    tips = []
    if exposure.documented:
        tips.append(
            "--profile strong protects more, --profile gentle keeps more of the text; "
            "docs/choosing.md compares them"
        )
    else:
        tips.append("compare this with --profile balanced")
        if exposure.warning:
            tips.append("do not release text at this setting")
        if _can_be_calibrated(perturber):
            tips.append("'wordveil calibrate --target-attack 0.3' finds the --epsilon for a goal")
        if mechanism.embedding.dim > _MANY_DIMS and perturber.guarantee.word.distance is not None:
            tips.append(
                "ten dimensions keep more of the text at the same protection, with a smaller --epsilon: "
                "'wordveil calibrate --target-attack 0.3 --dims 10' finds it"
            )
    if policy.pad_to is None:
        tips.append("--pad-to L hides how long a text is")
    if not policy.bag:
        tips.append("--bag hides the order of its words")
    if policy.unsafe:
        tips.append("without the unsafe options nothing passes unprotected")
    tips.append("replace names and numbers that must not leak in any case before you release")
    tips.append("compare settings by how often a guess is right, never by ε alone")
    return f"{'; '.join(tips)}."


def _can_be_calibrated(perturber: Perturber) -> bool:
    """Say whether an ε can be found at which the best guess is right in a named share of cases."""
    mechanism = perturber.mechanism
    return (
        isinstance(mechanism.parameters().get("epsilon"), float)
        and mechanism.valid_channel() is not None
        and perturber.guarantee.word.covered_share == 1.0
    )


def setting_in_words(setting: dict[str, Any]) -> str:
    """Return a mechanism and its parameters, as people read them.

    Examples
    --------
    >>> setting_in_words({"mechanism": "laplace", "epsilon": 2.0, "lam": 0.0, "dims": 3})
    'the mechanism laplace with ε = 2, λ = 0, dims = 3'
    """
    symbols = {"epsilon": "ε", "lam": "λ"}
    values = ", ".join(
        f"{symbols.get(name, name)} = {_value_in_words(value)}"
        for name, value in setting.items()
        if name not in ("mechanism", *_FINGERPRINTS) and not name.endswith("_fingerprint")
    )
    listed = " and a block list" if "block_list" in setting else ""
    return (
        f"the mechanism {setting['mechanism']} with {values}{listed}" if values else str(setting["mechanism"])
    )


def _value_in_words(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def _protected(perturber: Perturber) -> str:
    policy = perturber.policy
    if policy.unsafe:
        choices = ", ".join(f"--{name.replace('_', '-')}" for name in policy.unsafe)
        return (
            f"UNSAFE CHOICES WERE MADE ({choices}): only what they do not reveal, see below, is protected. "
            "Every other word is replaced by a random word of a public vocabulary."
        )
    length = "" if policy.pad_to is None else f" Each text is padded or cut to {policy.pad_to} words."
    order = " The words of each text are sorted." if policy.bag else ""
    return (
        "which word was at each place of a text. Every word, even a name or a number that no vocabulary has, "
        f"is replaced by a random word of a public vocabulary; it can be the same word.{length}{order}"
    )


def _symbol(perturber: Perturber) -> str:
    return "the exponent" if perturber.guarantee.word.distance is None else "ε·d"


def _about_dims(facts: dict[str, Any], vectors: Embedding) -> str:
    most, dims = facts["projection_factor"], facts["setting"]["dims"]
    epsilon = facts["setting"]["epsilon"]
    return wrapped(
        f"Distances here are those on the {dims} strongest of {vectors.dim} axes. They are at "
        f"most {at_most(most, 2)} times those in all dimensions at the same λ, so ε = {epsilon:g} "
        f"here promises at least what ε = {at_most(epsilon * most, 2)} promises there."
    )


def _about_file(facts: dict[str, Any], perturber: Perturber) -> str:
    length, worst = facts["words_a_text"], facts["worst_case_exponent"]
    share = facts["unknown_words"] / max(1, facts["words"])
    fate = "" if perturber.policy.unsafe else " and perturbed from its centroid"
    if perturber.policy.unsafe_drop:
        fate = " and dropped"
    alike = " that agree in all that the unsafe choices reveal" if perturber.policy.unsafe else ""
    if perturber.policy.pad_to is None:
        total = (
            f"For any two texts of the median length{alike} {_symbol(perturber)} is at most "
            f"{at_most(worst['median'], 0)} in all, of the greatest length {at_most(worst['most'], 0)}."
        )
    else:
        total = (
            f"For any two texts{alike}, of whatever length, {_symbol(perturber)} is at most "
            f"{at_most(worst['most'], 0)} in all, since each is padded or cut."
        )
    return wrapped(
        f"Your file (these counts are private too, not for release): {facts['texts']:,} texts of "
        f"{length['median']:g} words at the median and {length['most']:,} at most; {share:.1%} of the words "
        f"are outside of the vocabulary{fate}. {total}"
    )


def _about_word(facts: dict[str, Any], symbol: str, is_map: bool) -> list[str]:
    answers = [("it stays", facts["stays"])]
    answers += [(row["word"], row) for row in facts["answers"] if row["word"] != facts["word"]]
    regions = [
        (f"{facts[name]['word']}, in a {name} region", facts[name]["stays"]) for name in ("dense", "sparse")
    ]
    return [
        f"What happens to '{facts['word']}' in {facts['draws']:,} draws ({facts['distinct_answers']:,} "
        f"different answers; in brackets 95% intervals)\n{bars(answers)}",
        wrapped(
            f"Someone who sees more than the answers names '{facts['word']}' in {percent(facts['largest'])} "
            "of the draws: the most of the best guess by use, the best guess if all words were equally "
            "frequent, and how often it stays."
        ),
        f"{_nearest_heading(is_map)}: by how much the odds between it and them can change at most\n"
        + in_columns(_exponents(facts["neighbours"], symbol)),
        *_in_meaning(facts, symbol),
        f"How often words stay, in dense and sparse regions\n{bars(regions)}",
    ]


def _nearest_heading(is_map: bool) -> str:
    return "Its nearest words on the map" if is_map else "Its nearest words"


def _in_meaning(facts: dict[str, Any], symbol: str) -> list[str]:
    """Return the words nearest in meaning, where the space is not that of the vectors themselves."""
    if not facts["by_meaning"]:
        return []
    return [f"Its nearest words in meaning, by cosine\n{in_columns(_exponents(facts['by_meaning'], symbol))}"]


def _exponents(rows: list[dict[str, Any]], symbol: str) -> list[tuple[str, ...]]:
    return [
        (
            row["word"],
            f"{symbol} = {at_most(row['exponent'])}",
            ("factor " if has_limit(row["exponent"]) else "") + factor(row["exponent"]),
        )
        for row in rows
    ]
