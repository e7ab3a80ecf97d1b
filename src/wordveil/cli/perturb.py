"""`wordveil perturb`: private text out of text."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, BinaryIO, Final

import typer

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
from wordveil.errors import FormatError, ParameterError
from wordveil.perturber import Perturber
from wordveil.randomness import insecure_stream, secure_stream
from wordveil.tokens import LARGEST_TEXT

__all__ = ["perturb"]

_CHUNK: Final = 1 << 20


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
        bool, typer.Option("--unsafe-drop", help="Drop unknown words. Safe with --pad-to.")
    ] = False,
    unsafe_mask: Annotated[
        str | None, typer.Option(help="Write this in place of unknown words.", metavar="MASK")
    ] = None,
    unsafe_keep: Annotated[
        bool, typer.Option("--unsafe-keep", help="Let unknown words pass verbatim.")
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
    stream = secure_stream() if unsafe_seed is None else insecure_stream(unsafe_seed)
    for texts in _batches(sys.stdin.buffer):
        lines = veil.perturb(texts, stream=stream)
        sys.stdout.buffer.write("".join(f"{line}\n" for line in lines).encode("utf-8"))
        sys.stdout.buffer.flush()


def _batches(file: BinaryIO) -> Iterator[list[str]]:
    """Yield the lines that have come so far, again and again, so that a slow writer gets answers at once."""
    rest, number = b"", 1
    read = getattr(file, "read1", file.read)
    while data := read(_CHUNK):
        *lines, rest = (rest + data).split(b"\n")
        if len(rest) > LARGEST_TEXT + 1:
            raise FormatError(f"Line {number + len(lines)} of standard input is over 16 MiB.")
        if lines:
            yield [_text(line, number + i) for i, line in enumerate(lines)]
            number += len(lines)
    if rest:
        yield [_text(rest, number)]


def _text(line: bytes, number: int) -> str:
    if len(line) > LARGEST_TEXT:
        raise FormatError(f"Line {number} of standard input is over 16 MiB.")
    try:
        return line.removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError:
        raise FormatError(f"Line {number} of standard input is not valid UTF-8.") from None
