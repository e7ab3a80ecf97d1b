"""What a setting promises, in plain words: the facts, and the sentences about them.

Any mechanism can be explained: the facts come from `Guarantee` and `Mechanism.parameters`.
"""

import textwrap
from collections.abc import Iterable
from typing import Any, Final

import numpy as np
from rich.cells import cell_len

from wordveil.embedding import Embedding
from wordveil.errors import FormatError
from wordveil.evaluation.privacy import reference_words, typical_stay, word_statistics
from wordveil.guarantee import MetricGuarantee
from wordveil.mechanisms import Laplace, Mahalanobis, Mechanism
from wordveil.metric import projection_factor
from wordveil.perturber import Perturber
from wordveil.randomness import insecure_stream
from wordveil.rounding import at_least, at_most, factor
from wordveil.tokens import split

__all__ = [
    "explain_setting",
    "in_rows",
    "setting_facts",
    "setting_in_words",
    "text_facts",
    "word_facts",
    "wrapped",
]

_WIDTH: Final = 100
_BAR: Final = 40
_NEIGHBOURS: Final = 5
_MANY_DIMS: Final = 100  # a projection pays above this: at 300 dimensions, see docs/mechanism.md


def setting_facts(perturber: Perturber, vectors: Embedding) -> dict[str, Any]:
    """Return what a setting promises; `vectors` are those that the mechanism may use a projection of."""
    facts: dict[str, Any] = {
        "setting": perturber.mechanism.setting(),
        "guarantee": perturber.guarantee.to_dict(),
        # Only public words are drawn here, so a seed is no secret, and the answer is the same each time.
        "typical_stay": typical_stay(perturber.mechanism, insecure_stream(0))._asdict(),
    }
    promise, dim = perturber.guarantee.word, perturber.mechanism.embedding.dim
    if dim < vectors.dim and isinstance(promise, MetricGuarantee):
        facts["projection_factor"] = projection_factor(vectors, promise.metric.lam, dim)
    return facts


def word_facts(mechanism: Mechanism, word: str, draws: int, vectors: Embedding) -> dict[str, Any]:
    """Return what becomes of a public word, its nearest words, and a dense and a sparse region beside it."""
    tokens = split(word)
    folded = tokens[0] if len(tokens) == 1 else word
    stream = insecure_stream(0)
    facts = word_statistics(mechanism, folded, draws, stream).to_dict()
    dense, sparse = reference_words(vectors)
    return facts | {
        "neighbours": [
            {"word": neighbour, "exponent": exponent}
            for neighbour, exponent in mechanism.guarantee.nearest(folded, _NEIGHBOURS)
        ],
        "dense": word_statistics(mechanism, dense, draws, stream, most=1).to_dict(),
        "sparse": word_statistics(mechanism, sparse, draws, stream, most=1).to_dict(),
    }


def text_facts(perturber: Perturber, texts: Iterable[str | None], name: str) -> dict[str, Any]:
    """Return what is promised for these texts together; these counts are not for release."""
    lengths, unknown = [], 0
    for text in texts:
        ids = [] if text is None else perturber.tokenizer.ids(text)
        lengths.append(len(ids))
        unknown += ids.count(-1)
    if not lengths:
        raise FormatError(f"{name}: has no texts.")
    median, most = float(np.median(lengths)), max(lengths)
    pad_to = perturber.policy.pad_to
    worst = perturber.guarantee.word.worst_case.upper
    perturbed = {"median": median, "most": most} if pad_to is None else {"median": pad_to, "most": pad_to}
    return {
        "not_for_release": True,
        "texts": len(lengths),
        "words": sum(lengths),
        "unknown_words": unknown,
        "words_a_text": {"median": median, "most": most},
        "worst_case_exponent": {name: length * worst for name, length in perturbed.items()},
    }


def explain_setting(perturber: Perturber, vectors: Embedding, facts: dict[str, Any]) -> str:
    """Return the explanation of a setting, with what the facts say about a word and a file."""
    parts = [_summary(perturber, facts)]
    if "word" not in facts:
        parts.append(f"The promise, exactly\n\n{textwrap.indent(str(perturber.guarantee), '  ')}")
    promise = perturber.guarantee.word
    if "projection_factor" in facts and isinstance(promise, MetricGuarantee):
        parts.append(_about_dims(facts["projection_factor"], promise, vectors))
    if "file" in facts:
        parts.append(_about_file(facts["file"], perturber))
    if "word" in facts:
        parts += _about_word(facts["word"], _symbol(perturber))
    parts.append(_tips(perturber, vectors))
    return "\n\n".join(parts)


def _summary(perturber: Perturber, facts: dict[str, Any]) -> str:
    """Return what somebody who has never heard of differential privacy must know."""
    stay, near = facts["typical_stay"], perturber.guarantee.word.neighbours[1].median
    rows = {
        "Setting": setting_in_words(facts["setting"]),
        "Protected": _protected(perturber),
        "How strongly": f"at this setting a word comes out unchanged {stay['share']:.1%} of the time "
        f"(measured on public words; {_interval(stay)}). What is proven is a limit: seeing the output can "
        "change anyone's odds between a typical word and its nearest neighbour by a factor of "
        f"{factor(near)} at most.",
        "Not protected": "; ".join(facts["guarantee"]["not_covered"])
        + ". Each further release of the same text weakens the promise.",
    }
    if void := facts["guarantee"].get("void"):
        rows = {"VOID": f"{void}. What follows would hold if the noise were secret."} | rows
    return in_rows(rows)


def in_rows(rows: dict[str, str]) -> str:
    """Return paragraphs with their names before them."""
    return "\n".join(wrapped(text, f"{name + ':':15}") for name, text in rows.items())


def setting_in_words(setting: dict[str, Any]) -> str:
    """Return a mechanism and its parameters, as people read them.

    Examples
    --------
    >>> setting_in_words({"mechanism": "laplace", "epsilon": 2.0, "lam": 0.0, "dims": 3})
    'the mechanism laplace with ε = 2, λ = 0, dims = 3'
    """
    symbols = {"epsilon": "ε", "lam": "λ"}
    values = ", ".join(
        f"{symbols.get(name, name)} = {f'{value:g}' if isinstance(value, float) else value}"
        for name, value in setting.items()
        if name != "mechanism"
    )
    return f"the mechanism {setting['mechanism']} with {values}" if values else str(setting["mechanism"])


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


def _interval(share: dict[str, Any]) -> str:
    return f"{at_least(100.0 * share['low'])}% to {at_most(100.0 * share['high'])}%"


def _symbol(perturber: Perturber) -> str:
    return "the exponent" if perturber.guarantee.word.distance is None else "ε·d"


def _about_dims(most: float, promise: MetricGuarantee, vectors: Embedding) -> str:
    return wrapped(
        f"Distances here are those on the {promise.metric.dim} strongest of {vectors.dim} axes. They are at "
        f"most {at_most(most, 2)} times those in all dimensions at the same λ, so ε = {promise.epsilon:g} "
        f"here promises at least what ε = {at_most(promise.epsilon * most, 2)} promises there."
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


def _about_word(facts: dict[str, Any], symbol: str) -> list[str]:
    answers = [("it stays", facts["stays"])]
    answers += [(row["word"], row) for row in facts["answers"] if row["word"] != facts["word"]]
    neighbours = [
        (row["word"], f"{symbol} = {at_most(row['exponent'])}", f"factor {factor(row['exponent'])}")
        for row in facts["neighbours"]
    ]
    regions = [
        (f"{facts[name]['word']}, in a {name} region", facts[name]["stays"]) for name in ("dense", "sparse")
    ]
    return [
        f"What happens to '{facts['word']}' in {facts['draws']:,} draws ({facts['distinct_answers']:,} "
        f"different answers; in brackets 95% intervals)\n{_bars(answers)}",
        "Its nearest words: by how much the odds between it and them can change at most\n"
        + _columns(neighbours),
        f"How often words stay, in dense and sparse regions\n{_bars(regions)}",
    ]


def _bars(rows: list[tuple[str, dict[str, Any]]]) -> str:
    longest = max(row["share"] for _, row in rows) or 1.0
    return _columns(
        [
            (
                name,
                f"{row['share']:6.1%} ({_interval(row)})",
                "█" * max(1, round(_BAR * row["share"] / longest)) if row["share"] else "",
            )
            for name, row in rows
        ]
    )


def _columns(rows: list[tuple[str, str, str]]) -> str:
    """Return rows of three columns, aligned as a terminal shows them."""
    widths = [max(cell_len(row[i]) for row in rows) for i in range(2)]
    return "\n".join(
        f"  {_padded(first, widths[0])}  {_padded(second, widths[1])}  {third}".rstrip()
        for first, second, third in rows
    )


def _padded(text: str, width: int) -> str:
    return text + " " * (width - cell_len(text))


def _tips(perturber: Perturber, vectors: Embedding) -> str:
    mechanism, policy = perturber.mechanism, perturber.policy
    epsilon = mechanism.parameters().get("epsilon")
    than = f" than {epsilon:g}" if isinstance(epsilon, int | float) else ""
    tips = [f"a smaller --epsilon{than} promises more and changes more words"]
    if isinstance(mechanism, Mahalanobis):
        if mechanism.lam < 1.0:
            option = "--mechanism mahalanobis" if isinstance(mechanism, Laplace) else "--lam 1"
            tips.append(f"{option} gives words in sparse regions more company, so they stay less often")
        if mechanism.embedding.dim == vectors.dim > _MANY_DIMS:
            tips.append("--dims 25 to 100, with a smaller --epsilon, changes words for closer ones")
    if policy.pad_to is None:
        tips.append("--pad-to L hides how long a text is")
    if not policy.bag:
        tips.append("--bag hides the order of its words")
    if policy.unsafe:
        tips.append("without the unsafe options nothing passes unprotected")
    tips.append("compare settings by how often words stay, never by ε alone")
    return wrapped(f"What to change: {'; '.join(tips)}.")


def wrapped(text: str, name: str = "") -> str:
    """Return a paragraph of at most 100 characters per line, indented if it has a name before it.

    Options such as --pad-to are not broken at their hyphens.
    """
    return textwrap.fill(
        text,
        _WIDTH,
        initial_indent=name,
        subsequent_indent=" " * len(name),
        break_on_hyphens=False,
        break_long_words=False,
    )
