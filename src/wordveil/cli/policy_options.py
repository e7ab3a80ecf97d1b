"""The options of the policy, which `perturb` and `explain` share: what happens around the words."""

from pathlib import Path
from typing import Annotated, Final

import typer

from wordveil.embedding.formats.numpy_files import read_word_list
from wordveil.policy import Policy

__all__ = [
    "Bag",
    "PadTo",
    "UnsafeDrop",
    "UnsafeExempt",
    "UnsafeKeep",
    "UnsafeKeepCase",
    "UnsafeKeepNulls",
    "UnsafeKeepPunctuation",
    "UnsafeMask",
    "UnsafeSeed",
    "make_policy",
]

_POLICY: Final = "What happens around the words"

PadTo = Annotated[
    int | None,
    typer.Option(
        "--pad-to",
        help="Pad or cut each text to L words, which hides its length.",
        metavar="L",
        rich_help_panel=_POLICY,
    ),
]
Bag = Annotated[
    bool,
    typer.Option("--bag", help="Sort the words, which hides their order.", rich_help_panel=_POLICY),
]
UnsafeDrop = Annotated[
    bool,
    typer.Option(
        "--unsafe-drop",
        help="Drop unknown words. With --pad-to, and no other unsafe option, it is safe.",
        rich_help_panel=_POLICY,
    ),
]
UnsafeMask = Annotated[
    str | None,
    typer.Option(
        "--unsafe-mask",
        help="Write this in place of unknown words.",
        metavar="MASK",
        rich_help_panel=_POLICY,
    ),
]
UnsafeKeep = Annotated[
    bool,
    typer.Option(
        "--unsafe-keep", help="Let unknown words pass as they are written.", rich_help_panel=_POLICY
    ),
]
UnsafeKeepPunctuation = Annotated[
    bool,
    typer.Option("--unsafe-keep-punctuation", help="Keep the punctuation.", rich_help_panel=_POLICY),
]
UnsafeKeepCase = Annotated[
    bool,
    typer.Option("--unsafe-keep-case", help="Keep the use of capitals.", rich_help_panel=_POLICY),
]
UnsafeExempt = Annotated[
    Path | None,
    typer.Option(
        "--unsafe-exempt",
        help="Let the words of this list pass verbatim, one word per line.",
        rich_help_panel=_POLICY,
    ),
]
UnsafeKeepNulls = Annotated[
    bool,
    typer.Option(
        "--unsafe-keep-nulls",
        help="Leave missing texts missing in spite of --pad-to.",
        rich_help_panel=_POLICY,
    ),
]
UnsafeSeed = Annotated[
    int | None,
    typer.Option(
        "--unsafe-seed",
        help="Draw noise that anyone who knows this number can repeat.",
        metavar="N",
        rich_help_panel=_POLICY,
    ),
]


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
    """Return the policy of the options; the exempt words come from a file, one word per line."""
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
