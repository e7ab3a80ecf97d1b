"""`wordveil perturb`: private text out of text."""

import sys
import warnings
from pathlib import Path
from typing import Annotated

import typer

from wordveil.cli.lines import batches_of_lines, open_lines
from wordveil.cli.options import (
    Dims,
    EmbeddingName,
    Epsilon,
    Lam,
    MechanismOption,
    make_policy,
    mechanism_of,
)
from wordveil.embedding.catalog import DEFAULT_NAME
from wordveil.errors import ParameterError, PrivacyWarning
from wordveil.perturber import Perturber
from wordveil.randomness import Stream, insecure_stream, secure_stream

__all__ = ["perturb"]


def perturb(
    source: Annotated[str, typer.Argument(metavar="IN", help="- for standard input, a text a line.")],
    target: Annotated[str, typer.Argument(metavar="OUT", help="- for standard output.")],
    epsilon: Epsilon,
    lam: Lam = None,
    dims: Dims = None,
    mechanism: MechanismOption = "mahalanobis",
    embedding: EmbeddingName = DEFAULT_NAME,
    pad_to: Annotated[
        int | None,
        typer.Option(help="Pad or cut each text to L words, so that its length is hidden.", metavar="L"),
    ] = None,
    bag: Annotated[
        bool, typer.Option("--bag", help="Sort the words, so that their order is hidden.")
    ] = False,
    unsafe_drop: Annotated[
        bool, typer.Option("--unsafe-drop", help="Drop unknown words. Alone and with --pad-to it is safe.")
    ] = False,
    unsafe_mask: Annotated[
        str | None, typer.Option(help="Write this in place of unknown words.", metavar="MASK")
    ] = None,
    unsafe_keep: Annotated[
        bool, typer.Option("--unsafe-keep", help="Let unknown words pass as they are written.")
    ] = False,
    unsafe_keep_punctuation: Annotated[
        bool, typer.Option("--unsafe-keep-punctuation", help="Keep the punctuation.")
    ] = False,
    unsafe_keep_case: Annotated[
        bool, typer.Option("--unsafe-keep-case", help="Keep the use of capitals.")
    ] = False,
    unsafe_exempt: Annotated[
        Path | None, typer.Option(help="Let the words of this list pass verbatim, a word a line.")
    ] = None,
    unsafe_seed: Annotated[
        int | None, typer.Option(help="Draw noise that anyone who knows this number can repeat.", metavar="N")
    ] = None,
) -> None:
    """Perturb texts from standard input to standard output, a text a line.

    Text is never an argument, which process lists and shell histories show.
    """
    if source != "-" or target != "-":
        raise ParameterError(
            "Only - (standard input and output) is known so far. Hint: wordveil perturb - - < IN > OUT"
        )
    policy = make_policy(
        pad_to=pad_to,
        bag=bag,
        unsafe_drop=unsafe_drop,
        unsafe_mask=unsafe_mask,
        unsafe_keep=unsafe_keep,
        unsafe_keep_punctuation=unsafe_keep_punctuation,
        unsafe_keep_case=unsafe_keep_case,
        unsafe_exempt=unsafe_exempt,
    )
    veil = Perturber(mechanism_of(epsilon, lam, dims, mechanism, embedding), policy)
    stream = secure_stream() if unsafe_seed is None else _seeded(unsafe_seed)
    with open_lines(source) as file:
        for texts in batches_of_lines(file, "standard input"):
            lines = veil.perturb(texts, stream=stream)
            sys.stdout.buffer.write("".join(f"{line}\n" for line in lines).encode("utf-8"))
            sys.stdout.buffer.flush()


def _seeded(seed: int) -> Stream:
    stream = insecure_stream(seed)
    warnings.warn(
        "Whoever knows or guesses the seed can take the noise away. The guarantee does not cover that.",
        PrivacyWarning,
        stacklevel=2,
    )
    return stream
