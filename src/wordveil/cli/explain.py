"""`wordveil explain`: the guarantee in plain words, for a setting, a word or a file."""

import json
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
import typer
from rich.table import Table
from rich.text import Text

from wordveil.cli.console import output
from wordveil.cli.options import Dims, EmbeddingName, Epsilon, Json, Lam, MechanismOption, mechanism_of
from wordveil.embedding import Embedding, load_embedding
from wordveil.embedding.catalog import DEFAULT_NAME
from wordveil.errors import FormatError
from wordveil.evaluation.privacy import Share, WordStatistics, reference_words, word_statistics
from wordveil.guarantee import Guarantee, factor
from wordveil.mechanisms import Mechanism
from wordveil.metric import projection_factor
from wordveil.perturber import Perturber
from wordveil.randomness import insecure_stream

__all__ = ["explain"]

_BAR: Final = 40
_NEIGHBOURS: Final = 5
_CHANGES: Final = (
    "What to change: a smaller --epsilon promises more and changes more words. --lam 1 gives words in sparse "
    "regions more company than --lam 0. --dims K (25 to 100) changes words for closer ones at the same share "
    "of unchanged words. In wordveil perturb, --pad-to L hides how long a text is, --bag the order of its "
    "words. Compare settings by how often words stay, never by ε alone."
)


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
        Path | None, typer.Option(help="Add up what is promised for the texts of this file, a text a line.")
    ] = None,
    draws: Annotated[int, typer.Option(help="How often to draw for --word.", metavar="N")] = 1000,
    as_json: Json = False,
) -> None:
    """Say in plain words what is promised at a setting, and what is not."""
    veil = Perturber(mechanism_of(epsilon, lam, dims, mechanism, embedding))
    facts: dict[str, Any] = {"guarantee": veil.guarantee.to_dict()} if as_json else {}
    if word is not None:
        facts["word"] = _word_facts(veil.mechanism, word, draws)
    if file is not None:
        facts["file"] = _file_facts(veil, file)
    if as_json:
        typer.echo(json.dumps(facts, indent=2, ensure_ascii=False))
        return
    console = output()
    if word is None:
        console.print(Text(str(veil.guarantee)))
    else:
        _show_word(facts["word"], epsilon)
    if file is not None:
        console.print(Text(f"\n{_file_sentence(facts['file'])}"))
    if dims is not None:
        console.print(Text(f"\n{_dims_sentence(load_embedding(embedding), veil.guarantee.word, dims)}"))
    console.print(Text(f"\n{_CHANGES}"))


def _dims_sentence(whole: Embedding, promise: Guarantee, dims: int) -> str:
    most = projection_factor(whole, promise.metric.lam, dims)
    return (
        f"Distances here are those on the {dims} strongest of {whole.dim} axes. They are at most {most:.2f} "
        f"times those in all dimensions at the same λ, so that ε = {promise.epsilon:g} here promises at "
        f"least what ε = {promise.epsilon * most:.3g} promises there."
    )


def _word_facts(mechanism: Mechanism, word: str, draws: int) -> dict[str, Any]:
    # Only public words are drawn here, so a seed is no secret, and the answer is the same each time.
    stream = insecure_stream(0)
    dense, sparse = reference_words(mechanism.embedding)
    return word_statistics(mechanism, word, draws, stream).to_dict() | {
        "neighbours": [
            {"word": other, "exponent": exponent}
            for other, exponent in mechanism.guarantee.nearest(word, _NEIGHBOURS)
        ],
        "dense": _stays(word_statistics(mechanism, dense, draws, stream), mechanism),
        "sparse": _stays(word_statistics(mechanism, sparse, draws, stream), mechanism),
    }


def _stays(facts: WordStatistics, mechanism: Mechanism) -> dict[str, Any]:
    nearest, exponent = mechanism.guarantee.nearest(facts.word, 1)[0]
    return {
        "word": facts.word,
        "stays": facts.stays._asdict(),
        "distinct_answers": facts.distinct,
        "nearest": nearest,
        "exponent": exponent,
    }


def _show_word(facts: dict[str, Any], epsilon: float) -> None:
    console = output()
    console.print(
        Text(
            f"What becomes of '{facts['word']}' at ε = {epsilon:g}, in {facts['draws']:,} draws "
            f"({facts['distinct_answers']:,} different answers; in brackets 95% intervals)"
        )
    )
    rows = [("it stays", facts["stays"])]
    rows += [(row["word"], row) for row in facts["answers"] if row["word"] != facts["word"]]
    console.print(_bars(rows))
    console.print(
        Text("\nIts nearest words, and by how much the odds between it and them can change at most")
    )
    near = Table(box=None, show_header=False, pad_edge=False)
    for row in facts["neighbours"]:
        change = f"ε·d = {row['exponent']:.1f}", f"factor {factor(row['exponent'])}"
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
        told = f"{share.share:6.1%} ({share.low:.1%} to {share.high:.1%})"
        table.add_row(Text(f"  {name}"), told, Text(bar))
    return table


def _file_facts(veil: Perturber, file: Path) -> dict[str, Any]:
    counts, unknown = [], 0
    with file.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                ids = veil.tokenizer.ids(line.decode("utf-8"))
            except UnicodeDecodeError:
                raise FormatError(f"{file}, line {number}: is not valid UTF-8.") from None
            counts.append(len(ids))
            unknown += ids.count(-1)
    if not counts:
        raise FormatError(f"{file}: the file is empty.")
    worst = veil.guarantee.word.worst_case.upper
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
    return (
        f"Your file (these counts are private too, not for release): {facts['texts']:,} texts of "
        f"{length['median']:g} words at the median and {length['most']:,} at most; {share:.1%} of the words "
        "are outside of the vocabulary and stand at its centroid. For any two texts of the median length ε·d "
        f"is at most {worst['median']:,.0f} in all, of the greatest {worst['most']:,.0f}."
    )
