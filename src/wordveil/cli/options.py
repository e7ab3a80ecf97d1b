"""The options that several commands share, and what they make."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer

from wordveil.cli.console import note
from wordveil.embedding import Embedding, load_embedding
from wordveil.embedding.catalog import DEFAULT_NAME
from wordveil.embedding.formats.numpy_files import read_word_list
from wordveil.errors import ParameterError
from wordveil.mechanisms import Mechanism, make_mechanism, mechanism_class
from wordveil.mechanisms.registry import parsed_options
from wordveil.nearest.devices import DeviceName, has_gpu
from wordveil.policy import Policy
from wordveil.tables import Layout, format_names

__all__ = [
    "INPUT",
    "Delimiter",
    "Device",
    "Dims",
    "EmbeddingName",
    "Epsilon",
    "FormatOption",
    "Json",
    "Lam",
    "MechanismOption",
    "MechanismOptions",
    "NoHeader",
    "NoQuotes",
    "chosen_device",
    "make_layout",
    "make_policy",
    "mechanism_of",
]

Epsilon = Annotated[
    float,
    typer.Option("--epsilon", help="ε, per unit of distance: smaller is more private. No default."),
]
Lam = Annotated[
    float | None,
    typer.Option("--lam", help="λ in [0, 1]: how far the noise follows the shape of the vectors. Default 1."),
]
Dims = Annotated[
    int | None, typer.Option("--dims", help="Work on the top K principal axes. By default all.", metavar="K")
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
INPUT: Final = "Input and output"
FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        metavar="|".join(format_names()),
        help="The format, if the names do not tell it.",
        rich_help_panel=INPUT,
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        metavar="CHAR",
        help="Between the fields of CSV or TSV; 'tab' is a tab.",
        rich_help_panel=INPUT,
    ),
]
NoHeader = Annotated[
    bool,
    typer.Option(
        "--no-header",
        help="The first row is data; the columns are called 1, 2, 3 …",
        rich_help_panel=INPUT,
    ),
]
NoQuotes = Annotated[
    bool,
    typer.Option("--no-quotes", help="Quotes in CSV or TSV are ordinary letters.", rich_help_panel=INPUT),
]
Json = Annotated[bool, typer.Option("--json", help="The same facts for machines.")]


def mechanism_of(
    epsilon: float,
    lam: float | None,
    dims: int | None,
    name: str = "mahalanobis",
    embedding: str | Embedding = DEFAULT_NAME,
    device: DeviceName = "cpu",
    options: Sequence[str] = (),
) -> Mechanism:
    """Return the mechanism that the options ask for; `options` are NAME=VALUE, `lam` is one of them."""
    vectors = load_embedding(embedding) if isinstance(embedding, str) else embedding
    axes = vectors if dims is None else vectors.project(dims)
    chosen = parsed_options(mechanism_class(name), _pairs(options))
    if lam is not None and not (name == "laplace" and lam == 0.0):  # it is always 0 there
        chosen["lam"] = lam
    return make_mechanism(name, axes, epsilon, device=device, **chosen)


def _pairs(options: Sequence[str]) -> dict[str, str]:
    """Return the names and values of `--option NAME=VALUE`."""
    pairs: dict[str, str] = {}
    for option in options:
        name, equals, value = option.partition("=")
        if not equals or not name or name in pairs:
            raise ParameterError("--option must be NAME=VALUE, each NAME once.")
        pairs[name] = value
    return pairs


def chosen_device(device: DeviceName) -> DeviceName:
    """Return the device; say so, if a GPU was asked for and there is none. "auto" is decided when it pays."""
    if device != "cuda" or has_gpu():
        return device
    note("No GPU that PyTorch can use was found: the CPU searches, with the same answers.")
    return "cpu"


def make_layout(format: str | None, delimiter: str | None, no_header: bool, no_quotes: bool) -> Layout:
    """Return the layout that the options ask for; a tab is hard to type, so that it has a name."""
    mark = "\t" if delimiter in ("tab", "\\t") else delimiter
    return Layout(format, mark, not no_header, not no_quotes)


def make_policy(
    *,
    pad_to: int | None,
    bag: bool,
    unsafe_drop: bool,
    unsafe_mask: str | None,
    unsafe_keep: bool,
    unsafe_keep_punctuation: bool,
    unsafe_keep_case: bool,
    unsafe_exempt: Path | None,
    unsafe_keep_nulls: bool,
) -> Policy:
    """Return the policy that the options ask for; the exempt words come from a file, one word per line."""
    exempt = () if unsafe_exempt is None else tuple(filter(None, read_word_list(unsafe_exempt)))
    return Policy(
        pad_to,
        bag,
        unsafe_drop,
        unsafe_mask,
        unsafe_keep,
        unsafe_keep_punctuation,
        unsafe_keep_case,
        unsafe_exempt=exempt,  # type: ignore[arg-type]  # any iterable becomes a frozenset
        unsafe_keep_nulls=unsafe_keep_nulls,
    )
