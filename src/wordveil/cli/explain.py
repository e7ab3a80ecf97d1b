"""`wordveil explain`: what is promised, in plain words, for a setting, a word or a file."""

import json
import textwrap
import warnings
from itertools import chain
from typing import Annotated, Any, Final

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from wordveil.cli.console import output
from wordveil.cli.inputs import opened
from wordveil.cli.options import (
    Delimiter,
    Dims,
    EmbeddingName,
    Epsilon,
    FormatOption,
    Json,
    Lam,
    MechanismOption,
    NoHeader,
    NoQuotes,
    make_layout,
    mechanism_of,
)
from wordveil.embedding import Embedding, load_embedding
from wordveil.embedding.catalog import DEFAULT_NAME
from wordveil.errors import FormatError, ParameterError, PrivacyWarning
from wordveil.evaluation.privacy import Share, reference_words, typical_stay, word_statistics
from wordveil.evaluation.strength import strength
from wordveil.guarantee import MetricGuarantee
from wordveil.mechanisms import Mechanism
from wordveil.metric import projection_factor
from wordveil.perturber import Perturber
from wordveil.randomness import insecure_stream
from wordveil.rounding import at_least, at_most, factor
from wordveil.tables import Layout, open_table
from wordveil.tokens import split

__all__ = ["explain"]

_WIDTH: Final = 100
_BAR: Final = 40
_NEIGHBOURS: Final = 5


def explain(
    epsilon: Epsilon,
    lam: Lam = None,
    dims: Dims = None,
    mechanism: MechanismOption = "mahalanobis",
    embedding: EmbeddingName = DEFAULT_NAME,
    word: Annotated[
        str | None, typer.Option(help="Show what happens to this public word.", metavar="WORD")
    ] = None,
    file: Annotated[
        str | None,
        typer.Option(
            help="Add up what is promised for the texts of this file; - is a pipe, one text per line."
        ),
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(help="Which column of --file; may be repeated.", metavar="COLUMN"),
    ] = None,
    format: FormatOption = None,
    delimiter: Delimiter = None,
    no_header: NoHeader = False,
    no_quotes: NoQuotes = False,
    draws: Annotated[int, typer.Option(help="How often to draw for --word.", metavar="N")] = 1000,
    as_json: Json = False,
) -> None:
    """Say in plain words what is promised at a setting, and what is not."""
    whole = load_embedding(embedding)
    perturber = Perturber(mechanism_of(epsilon, lam, dims, mechanism, whole))
    layout = make_layout(format, delimiter, no_header, no_quotes)
    if file is None and (text or layout != Layout()):
        raise ParameterError("--text and the options of a table are for --file. Hint: --file FILE.")
    facts = _facts(perturber, whole, word, draws)
    if file is not None:
        facts["file"] = _file_facts(perturber, file, text or [], layout)
    if warning := strength(perturber.mechanism).warning:
        warnings.warn(warning, PrivacyWarning, stacklevel=2)
    if as_json:
        typer.echo(json.dumps(facts, indent=2, ensure_ascii=False))
        return
    parts = [_short(facts, perturber.guarantee.word)]
    if word is None:
        parts.append(f"The promise, exactly\n\n{textwrap.indent(str(perturber.guarantee), '  ')}")
    if "projection_factor" in facts:
        parts.append(_dims_sentence(facts["projection_factor"], whole, perturber.guarantee.word))
    if file is not None:
        parts.append(_file_sentence(facts["file"]))
    console = output()
    console.print(Text("\n\n".join(parts)))
    if word is not None:
        _show_word(facts["word"])
    console.print(Text(f"\n{_changes(perturber.guarantee.word, whole)}"))


def _facts(perturber: Perturber, whole: Embedding, word: str | None, draws: int) -> dict[str, Any]:
    # Only public words are drawn here, so a seed is no secret, and the answer is the same each time.
    facts: dict[str, Any] = {
        "guarantee": perturber.guarantee.to_dict(),
        "typical_stay": typical_stay(perturber.mechanism, insecure_stream(0))._asdict(),
    }
    if perturber.mechanism.embedding.dim < whole.dim:
        promise = perturber.guarantee.word
        facts["projection_factor"] = projection_factor(whole, promise.metric.lam, promise.metric.dim)
    if word is not None:
        facts["word"] = _word_facts(perturber.mechanism, _folded(word), draws, reference_words(whole))
    return facts


def _folded(word: str) -> str:
    tokens = split(word)
    return tokens[0] if len(tokens) == 1 else word


def _short(facts: dict[str, Any], promise: MetricGuarantee) -> str:
    """Return what a person who knows nothing of all this must know."""
    stay, near = facts["typical_stay"], promise.neighbours[1].median
    rows = {
        "Protected": "which word stood at each place of a text. Every word, also a name or a number that no "
        "vocabulary holds, is replaced by a random word of a public vocabulary; it can be the same word.",
        "How strongly": f"at this setting a word comes out unchanged {stay['share']:.1%} of the time "
        f"(measured on public words; {_interval(stay['low'], stay['high'])}). What is proven is a limit: "
        "seeing the output can change anyone's odds between a typical word and its nearest neighbour by a "
        f"factor of {factor(near)} at most.",
        "Not protected": "; ".join(facts["guarantee"]["not_covered"])
        + ". Each further release of the same text weakens the promise.",
    }
    return "\n".join(
        textwrap.fill(text, _WIDTH, initial_indent=f"{name + ':':15}", subsequent_indent=" " * 15)
        for name, text in rows.items()
    )


def _interval(low: float, high: float) -> str:
    return f"{at_least(100.0 * low)}% to {at_most(100.0 * high)}%"


def _changes(promise: MetricGuarantee, whole: Embedding) -> str:
    tips = [f"a smaller --epsilon than {promise.epsilon:g} promises more and changes more words"]
    if promise.metric.lam < 1.0:
        tips.append("--lam 1 gives words in sparse regions more company, so that they stay less often")
    if promise.metric.dim == whole.dim and whole.dim > 100:
        tips.append("--dims 25 to 100, with a smaller --epsilon, changes words for closer ones")
    tips.append("in wordveil perturb, --pad-to L hides how long a text is, and --bag the order of its words")
    tips.append("compare settings by how often words stay, never by ε alone")
    return textwrap.fill(f"What to change: {'; '.join(tips)}.", _WIDTH)


def _dims_sentence(most: float, whole: Embedding, promise: MetricGuarantee) -> str:
    return textwrap.fill(
        f"Distances here are those on the {promise.metric.dim} strongest of {whole.dim} axes. They are at "
        f"most {at_most(most, 2)} times those in all dimensions at the same λ, so that ε = "
        f"{promise.epsilon:g} here promises at least what ε = {at_most(promise.epsilon * most, 2)} promises "
        "there.",
        _WIDTH,
    )


def _word_facts(mechanism: Mechanism, word: str, draws: int, company: tuple[str, str]) -> dict[str, Any]:
    stream = insecure_stream(0)
    return word_statistics(mechanism, word, draws, stream).to_dict() | {
        "neighbours": [
            {"word": other, "exponent": exponent}
            for other, exponent in mechanism.guarantee.nearest(word, _NEIGHBOURS)
        ],
        "dense": word_statistics(mechanism, company[0], draws, stream, most=1).to_dict(),
        "sparse": word_statistics(mechanism, company[1], draws, stream, most=1).to_dict(),
    }


def _show_word(facts: dict[str, Any]) -> None:
    console = output()
    console.print(
        Text(
            f"\nWhat becomes of '{facts['word']}' in {facts['draws']:,} draws "
            f"({facts['distinct_answers']:,} different answers; in brackets 95% intervals)"
        )
    )
    rows = [("it stays", facts["stays"])]
    rows += [(row["word"], row) for row in facts["answers"] if row["word"] != facts["word"]]
    console.print(_bars(rows))
    console.print(Text("\nIts nearest words: by how much the odds between it and them can change at most"))
    near = Table(box=None, show_header=False, pad_edge=False)
    for row in facts["neighbours"]:
        change = f"ε·d = {at_most(row['exponent'])}", f"factor {factor(row['exponent'])}"
        near.add_row(Text(f"  {row['word']}"), *change)
    console.print(near)
    console.print(Text("\nHow often words stay, by how much company they have"))
    company = [("in a dense region", facts["dense"]), ("in a sparse region", facts["sparse"])]
    console.print(_bars([(f"{row['word']}, {where}", row["stays"]) for where, row in company]))


def _bars(rows: list[tuple[str, dict[str, Any]]]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    longest = max(row["share"] for _, row in rows) or 1.0
    for name, row in rows:
        share = Share(row["share"], row["low"], row["high"])
        bar = "█" * max(1, round(_BAR * share.share / longest)) if share.share else ""
        numbers = f"{share.share:6.1%} ({_interval(share.low, share.high)})"
        table.add_row(Text(f"  {name}"), numbers, Text(bar))
    return table


def _file_facts(perturber: Perturber, file: str, columns: list[str], chosen: Layout) -> dict[str, Any]:
    counts, unknown = [], 0
    with opened(file, chosen, other="text") as (source, name, layout, compression):
        table = open_table(source, name, layout, columns, compression=compression)
        for chunk in table.chunks():
            for text in chain.from_iterable(chunk.texts.values()):
                ids = [] if text is None else perturber.tokenizer.ids(text)
                counts.append(len(ids))
                unknown += ids.count(-1)
        table.close()
    if not counts:
        raise FormatError(f"{file}: has no texts.")
    worst = perturber.guarantee.word.worst_case.upper
    return {
        "not_for_release": True,
        "texts": len(counts),
        "words": sum(counts),
        "unknown_words": unknown,
        "words_a_text": {"median": float(np.median(counts)), "most": max(counts)},
        "worst_case_exponent": {"median": float(np.median(counts)) * worst, "most": max(counts) * worst},
    }


def _file_sentence(facts: dict[str, Any]) -> str:
    length, worst = facts["words_a_text"], facts["worst_case_exponent"]
    share = facts["unknown_words"] / max(1, facts["words"])
    return textwrap.fill(
        f"Your file (these counts are private too, not for release): {facts['texts']:,} texts of "
        f"{length['median']:g} words at the median and {length['most']:,} at most; {share:.1%} of the words "
        "are outside of the vocabulary and stand at its centroid. For any two texts of the median length ε·d "
        f"is at most {at_most(worst['median'], 0)} in all, of the greatest {at_most(worst['most'], 0)}.",
        _WIDTH,
    )
