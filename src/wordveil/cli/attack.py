"""`wordveil attack`: what an adversary who knows everything but the noise recovers."""

import json
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Annotated

import typer

from wordveil.cli.console import count_progress, note, output
from wordveil.cli.experiment_inputs import parse_dims, parse_numbers, read_texts
from wordveil.cli.option_sets import with_option_sets
from wordveil.cli.options import (
    Answer,
    EmbeddingName,
    Json,
    MechanismOptions,
    TableOptions,
    mechanism_of,
)
from wordveil.cli.policy_options import Bag, PadTo
from wordveil.cli.setting import (
    HOW_TO_CHOOSE,
    AttackerOptions,
    ChosenProfile,
    chosen_prior,
    chosen_profile,
)
from wordveil.embedding import Embedding, load_embedding
from wordveil.embedding.catalog import DEFAULT_NAME
from wordveil.errors import ParameterError
from wordveil.evaluation.attacks import FEWEST, GROUPS, SIZES, TEXT_GROUPS, Bigrams, attack
from wordveil.evaluation.attacks_context import public_model
from wordveil.mechanisms import Mechanism
from wordveil.perturber import Perturber
from wordveil.policy import Policy
from wordveil.report.output import check_folder
from wordveil.report.report import make_report
from wordveil.report.terminal import show_report
from wordveil.tables import Layout

__all__ = ["attack_settings"]

_SET_BY_PROFILE = ("epsilons", "lams", "dims", "answer", "mechanisms", "option", "embedding")


@with_option_sets
def attack_settings(
    context: typer.Context,
    *,
    file: Annotated[
        Path | None,
        typer.Argument(metavar="[FILE]", help="Texts to attack, - for a pipe (default: public words only)."),
    ] = None,
    text: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Which column of FILE; may be repeated.")
    ] = None,
    profile: ChosenProfile = None,
    epsilons: Annotated[
        str | None, typer.Option("--epsilon", metavar="E,E,…", help="Which ε; needed without a profile.")
    ] = None,
    lams: Annotated[
        str | None, typer.Option("--lam", metavar="L,L,…", help="Which λ (default: that of the mechanism).")
    ] = None,
    dims: Annotated[
        str, typer.Option(metavar="K,K,…", help="Work on the top K principal axes, for each K; or all.")
    ] = "all",
    mechanisms: Annotated[
        str, typer.Option("--mechanism", metavar="NAME,NAME,…", help="Which mechanisms.")
    ] = "mahalanobis",
    option: MechanismOptions = None,
    answer: Answer = None,
    embedding: EmbeddingName = DEFAULT_NAME,
    pad_to: PadTo = None,
    bag: Bag = False,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="GROUP", help=f"Only these attacks: {', '.join(GROUPS)}."),
    ] = None,
    public_text: Annotated[
        Path | None,
        typer.Option(
            "--context",
            metavar="FILE",
            help="Public text, one per line, or lines 'word word count': which words follow each other.",
        ),
    ] = None,
    most: Annotated[
        int, typer.Option(min=FEWEST, metavar="N", help="Candidates among which a text is found.")
    ] = SIZES[-1],
    queries: Annotated[int, typer.Option(metavar="N", help="Texts that are traced back.")] = 500,
    draws: Annotated[int, typer.Option(metavar="N", help="Words that are drawn.")] = 1000,
    attacker: AttackerOptions,
    table: TableOptions,
    out: Annotated[
        Path | None, typer.Option(help="Write the tables, the picture and a page to this folder.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Attack one or several settings, and say what is recovered beside what guessing would give.

    With FILE the result is about its texts, and not for release.
    """
    groups = _groups(only, file, public_text, bag=bag)
    check_folder(out)
    chosen = _mechanisms(context, profile, epsilons, lams, dims, mechanisms, option, answer, embedding)
    perturbers = [Perturber(mechanism, Policy(pad_to, bag)) for mechanism in chosen]
    vocabulary = chosen[0].embedding
    prior = chosen_prior(vocabulary, attacker)
    layout = table.layout()
    model = _model(vocabulary, public_text)
    texts = read_texts(file, text or [], layout) if file is not None else None
    sizes = [size for size in SIZES if size < most] + [most]
    with count_progress("attacking") as watch:
        result = attack(
            perturbers,
            texts,
            groups=groups,
            context=model,
            prior=prior if attacker.frequencies is not None else None,
            draws=draws,
            queries=queries,
            sizes=sizes,
            watch=watch,
        )
    report = make_report(result)
    paths = report.write(out) if out is not None else []
    if as_json:
        typer.echo(json.dumps(result.to_dict(), indent=2, ensure_ascii=False))
        return
    show_report(output(), report, paths)
    if result.is_private:
        note("These numbers are about your texts: private, not for release.")


def _groups(
    only: list[str] | None, file: Path | None, public_text: Path | None, *, bag: bool
) -> Sequence[str]:
    """Return which groups of attacks are wanted; raise ParameterError if one can't be run."""
    if file is None and public_text is not None:
        raise ParameterError("--context needs FILE: it attacks texts. Hint: name a file with texts.")
    if bag and public_text is not None:
        raise ParameterError("--context needs the order of words, which --bag hides. Hint: leave one out.")
    for group in only or ():
        if group in TEXT_GROUPS and file is None:
            raise ParameterError(
                f"--only {group} needs FILE: it attacks texts. Hint: name a file with texts."
            )
        if group == "context" and public_text is None:
            raise ParameterError("--only context needs --context. Hint: name a file with public text.")
    if not only and file is not None and public_text is None and not bag:
        note("Words are not guessed from their context. Hint: --context FILE names public text for that.")
    return only or GROUPS


def _model(vocabulary: Embedding, path: Path | None) -> Bigrams | None:
    if path is None:
        return None
    return public_model(vocabulary, list(read_texts(path, [], Layout("text"))))


def _mechanisms(
    context: typer.Context,
    profile: str | None,
    epsilons: str | None,
    lams: str | None,
    dims: str,
    names: str,
    options: list[str] | None,
    answer: str | None,
    embedding: str,
) -> list[Mechanism]:
    """Return the mechanism of each combination."""
    ready = chosen_profile(context, profile, _SET_BY_PROFILE)
    if ready is not None:
        return [ready.load()]
    if epsilons is None:
        raise ParameterError(HOW_TO_CHOOSE)
    vectors = load_embedding(embedding)
    lam_list: list[float | None] = [None] if lams is None else list(parse_numbers(lams, "lam"))
    combinations = product(
        names.split(","), parse_dims(dims, vectors.dim), lam_list, parse_numbers(epsilons, "epsilon")
    )
    return [
        mechanism_of(
            context,
            name.strip(),
            vectors,
            epsilon,
            lam=lam,
            dims=None if dim == vectors.dim else dim,
            options=options or (),
            answer=answer,  # type: ignore[arg-type]  # one of the names, checked by Typer
        )
        for name, dim, lam, epsilon in combinations
    ]
