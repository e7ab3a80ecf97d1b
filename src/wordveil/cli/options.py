"""The options that several commands share, and what is made of them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Final

import typer

from wordveil.cli.config import is_from_file, options_from_file
from wordveil.cli.console import note
from wordveil.embedding import Embedding
from wordveil.errors import ParameterError
from wordveil.mechanisms import Laplace, Mechanism, make_mechanism, mechanism_class
from wordveil.mechanisms.answers import AnswerName
from wordveil.mechanisms.registry import parsed_options
from wordveil.nearest.devices import DeviceName, has_gpu
from wordveil.tables import Layout, format_names

__all__ = [
    "Answer",
    "Device",
    "Dims",
    "EmbeddingName",
    "Json",
    "Lam",
    "MechanismOption",
    "MechanismOptions",
    "TableOptions",
    "chosen_device",
    "in_input",
    "mechanism_of",
    "option_pairs",
]

Lam = Annotated[
    float | None,
    typer.Option(
        "--lam",
        help="λ in [0, 1]: how far the noise follows the shape of the vectors (default: 1, or that of the "
        "mechanism). The same as --option lam=….",
    ),
]
Dims = Annotated[
    int | None, typer.Option("--dims", help="Work on the top K principal axes (default: all).", metavar="K")
]
Answer = Annotated[
    AnswerName | None,
    typer.Option(
        "--answer",
        help="Which word is answered: the nearest (default), the likeliest, or the closest in meaning. "
        "The same as --option answer=….",
    ),
]
MechanismOption = Annotated[
    str,
    typer.Option("--mechanism", help="Which mechanism; 'wordveil mechanisms' lists them.", metavar="NAME"),
]
MechanismOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        help="An option of the mechanism; may be repeated. 'wordveil mechanisms NAME' lists them.",
        metavar="NAME=VALUE",
    ),
]
EmbeddingName = Annotated[
    str, typer.Option("--embedding", help="Which public vectors: a name or a path.", metavar="NAME|PATH")
]
Device = Annotated[
    DeviceName, typer.Option("--device", help="Where to search: a GPU if there is one, or the CPU.")
]
in_input: Final = partial(typer.Option, rich_help_panel="Input and output")
Json = Annotated[bool, typer.Option("--json", help="Print the same facts as JSON.")]


def mechanism_of(
    context: typer.Context,
    name: str,
    vectors: Embedding,
    epsilon: float,
    *,
    lam: float | None,
    dims: int | None,
    options: Sequence[str],
    answer: AnswerName | None = None,
    device: DeviceName = "cpu",
) -> Mechanism:
    """Return the mechanism that the command line and its settings file ask for; `options` are NAME=VALUE."""
    mechanism = mechanism_class(name)
    written = option_pairs(options)
    values = options_from_file(context, name)
    if lam is not None and "lam" in written:
        if not is_from_file(context, "lam"):
            raise ParameterError("--lam and --option lam are the same option. Hint: use one of them.")
    elif lam is not None and not (mechanism is Laplace and lam == 0.0):  # where it is always 0
        values["lam"] = lam
    if answer is not None and "answer" in written:
        if not is_from_file(context, "answer"):
            raise ParameterError("--answer and --option answer are the same option. Hint: use one of them.")
    elif answer is not None:
        values["answer"] = answer
    projected = vectors if dims is None else vectors.project(dims)
    try:
        values |= parsed_options(mechanism, written)
        return make_mechanism(name, projected, epsilon, device=device, **values)
    except ParameterError as error:
        if error.parameter in written:
            raise ParameterError(f"--option {error.parameter} {error.complaint}") from None
        raise


def option_pairs(options: Sequence[str]) -> dict[str, str]:
    """Return the names and values of `--option NAME=VALUE`."""
    pairs: dict[str, str] = {}
    for option in options:
        name, equals, value = option.partition("=")
        if not equals or not name or name in pairs:
            raise ParameterError("--option must be NAME=VALUE, each NAME once.")
        pairs[name] = value
    return pairs


def chosen_device(device: DeviceName) -> DeviceName:
    """Return the device: the CPU, with a note, if a GPU was asked for and there is none.

    "auto" is decided later, when it is clear whether a GPU pays.
    """
    if device != "cuda" or has_gpu():
        return device
    note("No GPU that PyTorch can use was found: the CPU searches, with the same answers.")
    return "cpu"


@dataclass(frozen=True)
class TableOptions:
    """How a table is written."""

    format: Annotated[
        str | None,
        in_input(metavar="|".join(format_names()), help="The format, if the extension does not say it."),
    ] = None
    delimiter: Annotated[
        str | None, in_input(metavar="CHAR", help="Between the fields of CSV or TSV; 'tab' is a tab.")
    ] = None
    no_header: Annotated[bool, in_input(help="The first row is data; the columns are called 1, 2, 3 …")] = (
        False
    )
    no_quotes: Annotated[bool, in_input(help="Quotes in CSV or TSV are ordinary characters.")] = False

    def layout(self) -> Layout:
        """Return the layout; 'tab' stands for a tab, which is hard to type."""
        delimiter = "\t" if self.delimiter in ("tab", "\\t") else self.delimiter
        return Layout(self.format, delimiter, not self.no_header, not self.no_quotes)
