"""The options about words that are never answered: those of `perturb`, and those of measurements."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from wordveil.block_list import BlockList
from wordveil.embedding.formats.numpy_files import read_word_list
from wordveil.errors import ParameterError, sealed

__all__ = ["BlockOptions", "MeasuredBlockOptions"]

_option: Final = partial(typer.Option, rich_help_panel="Clean output")
_file: Final = partial(_option, metavar="FILE")


@dataclass(frozen=True)
class BlockOptions:
    """Which words are never answered."""

    no_block_list: Annotated[bool, _option(help="Do not keep slurs and swear words out of the answers.")] = (
        False
    )
    block_words: Annotated[Path | None, _file(help="Never answer these public words: one per line.")] = None
    allow_words: Annotated[Path | None, _file(help="Take these public words off the list: one per line.")] = (
        None
    )
    block_list_is_public: Annotated[
        bool,
        _option(help="Declare that --block-words and --allow-words were not made from the private text."),
    ] = False

    @sealed
    def block_list(self) -> BlockList | None:
        """Return the list of words that are never answered; None if there is none.

        With `no_block_list`, only the words of `block_words` are blocked.
        """
        if self.block_words is None and self.allow_words is None:
            if self.block_list_is_public:
                raise ParameterError(
                    "--block-list-is-public is about --block-words and --allow-words. "
                    "Hint: --block-words FILE."
                )
            return None if self.no_block_list else BlockList.english()
        if self.no_block_list and self.block_words is None:
            raise ParameterError(
                "--allow-words takes words off the block list, and --no-block-list leaves none. "
                "Hint: use one of them."
            )
        built_in = BlockList([], public=True) if self.no_block_list else BlockList.english()
        block, allow = (
            [] if path is None else read_word_list(path) for path in (self.block_words, self.allow_words)
        )
        return built_in.changed(block=block, allow=allow, public=self.block_list_is_public)


@dataclass(frozen=True)
class MeasuredBlockOptions:
    """With which block list settings are measured: with none, unless asked."""

    block_list: Annotated[
        bool, _option(help="Measure with the block list of 'wordveil perturb' (default: without one).")
    ] = False
    block_words: Annotated[Path | None, _file(help="Measure with a list of these words: one per line.")] = (
        None
    )
    block_list_is_public: Annotated[
        bool, _option(help="Declare that --block-words was not made from the private text.")
    ] = False

    @sealed
    def blocked(self) -> BlockList | None:
        """Return the list of words that are never answered; None if none was asked for."""
        if self.block_words is None:
            if self.block_list_is_public:
                raise ParameterError(
                    "--block-list-is-public is about --block-words. Hint: --block-words FILE."
                )
            return BlockList.english() if self.block_list else None
        built_in = BlockList.english() if self.block_list else BlockList([], public=True)
        return built_in.changed(block=read_word_list(self.block_words), public=self.block_list_is_public)
