"""The options of `perturb` about words that are never answered."""

from pathlib import Path
from typing import Annotated, Final

import typer

from wordveil.block_list import BlockList
from wordveil.embedding.formats.numpy_files import read_word_list
from wordveil.errors import ParameterError, sealed

__all__ = ["AllowWords", "BlockListIsPublic", "BlockWords", "NoBlockList", "chosen_block_list"]

_CLEAN: Final = "Clean output"

NoBlockList = Annotated[
    bool,
    typer.Option(
        "--no-block-list",
        help="Do not keep slurs and swear words out of the answers.",
        rich_help_panel=_CLEAN,
    ),
]
BlockWords = Annotated[
    Path | None,
    typer.Option(
        "--block-words",
        metavar="FILE",
        help="Never answer these public words either, one word per line.",
        rich_help_panel=_CLEAN,
    ),
]
AllowWords = Annotated[
    Path | None,
    typer.Option(
        "--allow-words",
        metavar="FILE",
        help="Take these public words off the block list, one word per line.",
        rich_help_panel=_CLEAN,
    ),
]
BlockListIsPublic = Annotated[
    bool,
    typer.Option(
        "--block-list-is-public",
        help="Declare that --block-words and --allow-words were not made from the private text.",
        rich_help_panel=_CLEAN,
    ),
]


@sealed
def chosen_block_list(
    no_block_list: bool, block_words: Path | None, allow_words: Path | None, is_public: bool
) -> BlockList | None:
    """Return the list of words that are never answered; None if there is none.

    With `no_block_list`, only the words of `block_words` are blocked.
    """
    if block_words is None and allow_words is None:
        if is_public:
            raise ParameterError(
                "--block-list-is-public is about --block-words and --allow-words. Hint: --block-words FILE."
            )
        return None if no_block_list else BlockList.english()
    if no_block_list and block_words is None:
        raise ParameterError(
            "--allow-words takes words off the block list, and --no-block-list leaves none. "
            "Hint: use one of them."
        )
    built_in = BlockList([], public=True) if no_block_list else BlockList.english()
    block, allow = ([] if path is None else read_word_list(path) for path in (block_words, allow_words))
    return built_in.changed(block=block, allow=allow, public=is_public)
