"""The spaces, mechanisms and texts that `frontier` and `tune` compare."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import typer

from wordveil.cli.experiment_inputs import Lams, parse_dims, parse_numbers, read_labelled
from wordveil.cli.options import TableOptions
from wordveil.cli.setting import AttackerOptions, chosen_prior
from wordveil.embedding import Embedding, load_embedding
from wordveil.embedding.catalog import DEFAULT_NAME, MAP_NAME
from wordveil.errors import ParameterError
from wordveil.evaluation import LabelledTexts
from wordveil.evaluation.classifiers import ClassifierName
from wordveil.evaluation.frontier_spaces import Space
from wordveil.mechanisms import mechanism_names
from wordveil.mechanisms.answers import ANSWERS
from wordveil.mechanisms.registry import needed_options
from wordveil.prior import Prior

__all__ = [
    "ClassifierOptions",
    "Draws",
    "LabelledOptions",
    "Lams",
    "Repetitions",
    "SpaceOptions",
    "about_texts",
    "all_mechanisms",
    "common_arguments",
    "dims_option",
    "list_answers",
    "list_spaces",
    "parse_shares",
    "prior_of",
]

about_texts: Final = partial(typer.Option, rich_help_panel="Labelled texts")
Draws = Annotated[int, typer.Option("--draws", metavar="N", help="How many public words are drawn.")]
Repetitions = Annotated[int, about_texts("--repetitions", metavar="N", help="How many splits and draws.")]


def dims_option(usual: Sequence[int]) -> Any:
    """Return the option --dims of a command that compares these numbers of axes if it is left out."""
    default = ",".join(map(str, usual))
    return typer.Option(
        metavar="K,K,…",
        help=f"The top K principal axes of vectors, for each K; or all (default: {default},all).",
    )


@dataclass(frozen=True)
class SpaceOptions:
    """The spaces, mechanisms, λ and answers to compare; each command says which `dims` are usual."""

    embedding: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME|PATH",
            help=f"Which public vectors or map; may be repeated (default: {DEFAULT_NAME} and {MAP_NAME}).",
        ),
    ] = None
    dims: str | None = None
    mechanism: Annotated[
        list[str] | None,
        typer.Option(
            "--mechanism",
            "--mechanisms",
            metavar="NAME|all",
            help="Which mechanism (default: mahalanobis); may be repeated.",
        ),
    ] = None
    lams: Lams = "0,1"
    answers: Annotated[str, typer.Option(metavar="A,A,…", help=f"Which answers: {', '.join(ANSWERS)}.")] = (
        "nearest,closest"
    )


@dataclass(frozen=True)
class LabelledOptions:
    """A file of labelled texts."""

    data: Annotated[
        Path | None,
        about_texts(
            metavar="FILE",
            help="Labelled texts: also measure what a classifier learns, and how often texts are linked.",
        ),
    ] = None
    text: Annotated[str | None, about_texts(metavar="COLUMN", help="Which column holds the text.")] = None
    label: Annotated[str | None, about_texts(metavar="COLUMN", help="Which column holds the label.")] = None
    test_file: Annotated[
        Path | None,
        about_texts(metavar="FILE", help="Test on this file (default: on 30% of the texts, at random)."),
    ] = None
    split_column: Annotated[
        str | None,
        about_texts(metavar="COLUMN", help="A column that says 'train' or 'test'; other rows are left out."),
    ] = None

    def read(self, table: TableOptions) -> LabelledTexts | None:
        """Return the labelled texts, if there is a file; `table` says how to read it."""
        if self.data is None:
            if self.text or self.label or self.test_file or self.split_column:
                raise ParameterError(
                    "--text, --label, --test-file and --split-column are about --data. Hint: --data FILE."
                )
            return None
        return read_labelled(
            self.data,
            self.text,
            self.label,
            None,
            table.layout(),
            test_file=self.test_file,
            split_column=self.split_column,
        )


@dataclass(frozen=True)
class ClassifierOptions:
    """What is done with labelled texts."""

    classifier: Annotated[ClassifierName, about_texts(help="Which classifier.")] = "bow"
    test: Annotated[
        Literal["private", "clean"], about_texts(help="Which text the classifier is tested on.")
    ] = "private"
    repetitions: Repetitions = 3
    linked: Annotated[int, about_texts(metavar="N", help="Link texts among at most this many.")] = 2000


def common_arguments(
    compared: SpaceOptions,
    labelled: LabelledOptions,
    table: TableOptions,
    learning: ClassifierOptions,
    attacker: AttackerOptions,
    usual_dims: Sequence[int],
    *,
    to_release: bool,
) -> dict[str, Any]:
    """Return what `frontier` and `tune` of `wordveil.evaluation` are both called with."""
    return {
        "data": labelled.read(table),
        "spaces": list_spaces(compared.embedding, compared.dims, usual_dims),
        "mechanisms": all_mechanisms(compared.mechanism, to_release=to_release),
        "lams": parse_numbers(compared.lams, "lams"),
        "answers": list_answers(compared.answers),
        "prior": prior_of(attacker),
        "classifier": learning.classifier,
        "tested_on": learning.test,
        "repetitions": learning.repetitions,
        "linked": learning.linked,
    }


def list_spaces(embeddings: Sequence[str] | None, dims: str | None, usual: Sequence[int]) -> list[Space]:
    """Return every embedding on each number of its principal axes; a map is used as it is.

    If `dims` is None, these are the `usual` ones that are smaller than the vectors, and all dimensions.
    """
    spaces = []
    for name in dict.fromkeys(embeddings or (MAP_NAME, DEFAULT_NAME)):
        vectors = load_embedding(name)
        if vectors.is_map:
            spaces.append(Space(vectors, name))
            continue
        fewer = [dim for dim in usual if dim < vectors.dim]
        for dim in [*fewer, vectors.dim] if dims is None else parse_dims(dims, vectors.dim):
            keeps_all = dim == vectors.dim
            spaces.append(
                Space(vectors if keeps_all else vectors.project(dim), name, None if keeps_all else dim)
            )
    return spaces


def all_mechanisms(names: Sequence[str] | None, *, to_release: bool) -> list[str]:
    """Return the names of mechanisms; "all" stands for every one.

    If a setting to release texts with is looked for, "all" leaves out those that need an unsafe option.
    """
    chosen: list[str] = []
    for name in names or ("mahalanobis",):
        chosen += _suitable(to_release) if name == "all" else [name]
    return list(dict.fromkeys(chosen))


def _suitable(to_release: bool) -> list[str]:
    return [name for name in mechanism_names() if not (to_release and needed_options(name))]


def list_answers(text: str) -> list[Any]:
    """Return the answers of a comma-separated list."""
    answers = [part.strip() for part in text.split(",")]
    if not set(answers) <= set(ANSWERS):
        raise ParameterError(f"--answers must be some of {', '.join(ANSWERS)}, with commas between them.")
    return answers


def prior_of(attacker: AttackerOptions) -> Callable[[Embedding], Prior]:
    """Return how often words are used, as a function of the embedding, read once for each vocabulary."""
    known: dict[int, tuple[Any, Prior]] = {}

    def prior(embedding: Embedding) -> Prior:
        words = embedding.words
        if id(words) not in known:
            known[id(words)] = words, chosen_prior(embedding, attacker)
        return known[id(words)][1]

    return prior


def parse_shares(text: str, name: str) -> tuple[float, ...]:
    """Return the numbers of a comma-separated list, each in (0, 1)."""
    shares = parse_numbers(text, name)
    if not all(0.0 < share < 1.0 for share in shares):
        raise ParameterError(f"--{name} must be numbers between 0 and 1.")
    return shares
