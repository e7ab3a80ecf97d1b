"""Settings that are measured with a block list, and how a result names the list."""

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from wordveil.block_list import BlockList

if TYPE_CHECKING:
    from wordveil.evaluation.settings import Setting

__all__ = ["block_list_facts", "with_block_list"]


def with_block_list(settings: Iterable["Setting"], blocked: BlockList | None) -> list["Setting"]:
    """Return the same settings with a block list; as they are if there is none.

    Examples
    --------
    >>> import wordveil as wv
    >>> grid = wv.evaluation.make_grid(wv.load_embedding(), [10.0], [0.0])
    >>> with_block_list(grid, BlockList.english())[0].mechanism.blocked
    BlockList(334 words)
    """
    if blocked is None:
        return list(settings)
    return [replace(setting, mechanism=setting.mechanism.blocking(blocked)) for setting in settings]


def block_list_facts(settings: Iterable["Setting"]) -> dict[str, Any]:
    """Return the fingerprints of the block lists as a fact about a result; nothing if there are none."""
    lists = (setting.mechanism.blocked for setting in settings)
    fingerprints = sorted({blocked.fingerprint[:16] for blocked in lists if blocked is not None})
    return {"block_list": ", ".join(fingerprints)} if fingerprints else {}
