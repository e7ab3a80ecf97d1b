"""The options of the policy, which `perturb` and `explain` share: what happens around the words."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from wordveil.embedding.formats.numpy_files import read_word_list
from wordveil.policy import Policy

__all__ = [
    "Bag",
    "PadTo",
    "PolicyOptions",
]

_option: Final = partial(typer.Option, rich_help_panel="What happens around the words")

PadTo = Annotated[
    int | None,
    _option("--pad-to", help="Pad or cut each text to L words, which hides its length.", metavar="L"),
]
Bag = Annotated[bool, _option("--bag", help="Sort the words, which hides their order.")]


@dataclass(frozen=True)
class PolicyOptions:
    """What happens around the words, and where the noise comes from."""

    pad_to: PadTo = None
    bag: Bag = False
    unsafe_drop: Annotated[
        bool, _option(help="Drop unknown words. With --pad-to, and no other unsafe option, it is safe.")
    ] = False
    unsafe_mask: Annotated[
        str | None, _option(metavar="MASK", help="Write this in place of unknown words.")
    ] = None
    unsafe_keep: Annotated[bool, _option(help="Let unknown words pass as they are written.")] = False
    unsafe_keep_punctuation: Annotated[bool, _option(help="Keep the punctuation.")] = False
    unsafe_keep_case: Annotated[bool, _option(help="Keep the use of capitals.")] = False
    unsafe_exempt: Annotated[
        Path | None, _option(help="Let the words of this list pass verbatim, one word per line.")
    ] = None
    unsafe_keep_nulls: Annotated[bool, _option(help="Leave missing texts missing in spite of --pad-to.")] = (
        False
    )
    unsafe_seed: Annotated[
        int | None, _option(metavar="N", help="Draw noise that anyone who knows this number can repeat.")
    ] = None

    def policy(self) -> Policy:
        """Return the policy; the exempt words come from a file, one word per line."""
        exempt = () if self.unsafe_exempt is None else tuple(filter(None, read_word_list(self.unsafe_exempt)))
        return Policy(
            self.pad_to,
            self.bag,
            self.unsafe_drop,
            self.unsafe_mask,
            self.unsafe_keep,
            self.unsafe_keep_punctuation,
            self.unsafe_keep_case,
            unsafe_exempt=exempt,  # type: ignore[arg-type]  # any iterable becomes a frozenset
            unsafe_keep_nulls=self.unsafe_keep_nulls,
        )
