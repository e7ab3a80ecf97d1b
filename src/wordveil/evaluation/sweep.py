"""N_w and S_w of many words at many settings at once, by blocks of words, with a cache.

The draws of one word are independent, so its N_w and S_w are those of the mechanism. Words of the same block
may depend on each other, so intervals and tests of means over words must use the means of blocks.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from wordveil.embedding import Embedding
from wordveil.errors import ParameterError
from wordveil.evaluation.device_sweep import DeviceDraws
from wordveil.evaluation.draws import AdditiveDraws, Counts, Ints
from wordveil.evaluation.grid import Grid
from wordveil.evaluation.mechanism_draws import BlockDraws, MechanismDraws
from wordveil.evaluation.privacy import Share
from wordveil.evaluation.settings import Family
from wordveil.evaluation.sweep_cache import load_or_draw, sweep_folder
from wordveil.nearest.devices import has_gpu

__all__ = ["Grid", "Sweep", "block_count", "sweep", "sweep_family"]

# Student's t over block means needs some 30 of them; `claims` refuses to judge below 30. More blocks would
# give narrower intervals, and a slower sweep: each block has its own matrix products.
_MIN_BLOCKS: Final = 32
Watch = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class Sweep:
    """The result of a sweep: N_w and S_w of every word at every setting.

    Attributes
    ----------
    grid : Grid
    dim : int
        The dimensions of the vectors.
    ids, block : arrays of int
        The words, and the block in which each was drawn.
    stays, distinct : arrays of shape (λ, ε, words)
        How often each word stayed, and how many different answers it had.
    disagreement : Share
        The share of a sample of draws for which the exact search has a different answer, with its 95%
        interval.
    """

    grid: Grid
    dim: int
    ids: Ints
    block: Ints
    stays: Counts
    distinct: Counts
    disagreement: Share

    @cached_property
    def n_w(self) -> NDArray[np.float64]:
        """N_w in percent of the draws, of shape (λ, ε, words)."""
        return np.asarray(self.stays * (100.0 / self.grid.draws))

    @cached_property
    def s_w(self) -> NDArray[np.float64]:
        """S_w: the number of answers, of shape (λ, ε, words)."""
        return self.distinct.astype(np.float64)

    def block_means(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the means over the words of each block, along the last axis; they are independent."""
        sizes = np.bincount(self.block)
        sums = np.apply_along_axis(lambda row: np.bincount(self.block, row), -1, values)
        return np.asarray(sums / sizes)


def sweep(
    embedding: Embedding,
    grid: Grid,
    ids: Ints | None = None,
    *,
    workers: int = 1,
    device: str = "cpu",
    cache: Path | None = None,
    watch: Watch = lambda *_: None,
) -> Sweep:
    """Draw every word at every setting of the paper's noise, with the nearest word as the answer.

    The words are public, so a seed may make it repeatable.

    Parameters
    ----------
    embedding : Embedding
        Public words and vectors.
    grid : Grid
        The settings.
    ids : array of int, optional
        Which words (default: all).
    workers : int
        Threads.
    device : str
        "cpu", "auto" (a GPU if there is one), or a PyTorch device (extra `cuda`). The draws are the same, but
        a CPU searches in float32.
    cache : Path, optional
        A folder for finished blocks, from which a second run continues.
    watch : callable
        Called with the number of finished blocks and the number of all blocks.

    Examples
    --------
    >>> from wordveil.embedding import load_embedding
    >>> result = sweep(load_embedding(), Grid((10.0,), (0.0, 1.0), draws=20), np.arange(0, 33_000, 1000))
    >>> result.n_w.shape
    (2, 1, 33)
    """
    if device == "auto":
        device = "cuda" if has_gpu() else "cpu"
    block_draws = AdditiveDraws(embedding, grid) if device == "cpu" else DeviceDraws(embedding, grid, device)
    return _run(block_draws, embedding, grid, ids, workers, cache, watch)


def sweep_family(
    family: Family,
    grid: Grid,
    ids: Ints,
    *,
    workers: int = 1,
    device: str = "cpu",
    cache: Path | None = None,
    watch: Watch = lambda *_: None,
) -> Sweep:
    """Draw every word with every mechanism of a family, by `perturb_ids` unless there is a shortcut.

    The ε and λ of the grid are those of the family; for a mechanism without λ, or without ε, any number.
    """
    embedding = family.first.mechanism.embedding
    if family.is_additive:
        return sweep(embedding, grid, ids, workers=workers, device=device, cache=cache, watch=watch)
    block_draws = MechanismDraws(family, grid)
    return _run(block_draws, embedding, grid, ids, workers, cache if block_draws.can_be_kept else None, watch)


def block_count(words: int) -> int:
    """Return how many blocks a sweep over that many words has."""
    return max(1, words // _block_size(words, BlockDraws.largest_block))


def _run(
    block_draws: BlockDraws,
    embedding: Embedding,
    grid: Grid,
    ids: Ints | None,
    workers: int,
    cache: Path | None,
    watch: Watch,
) -> Sweep:
    word_ids = np.arange(len(embedding)) if ids is None else np.asarray(ids, dtype=np.int64)
    if not len(word_ids) or word_ids.min() < 0 or word_ids.max() >= len(embedding):
        raise ParameterError("The words of a sweep must be some of the vocabulary.")
    order, block = _blocks(len(word_ids), grid.seed, block_draws.largest_block)
    members = [order[block[order] == number] for number in range(int(block.max()) + 1)]
    folder = None if cache is None else sweep_folder(cache, embedding, grid, word_ids, block_draws.kind)
    shape = len(grid.lams), len(grid.epsilons), len(word_ids)
    stays, distinct = np.zeros(shape, np.uint16), np.zeros(shape, np.uint16)

    def block_counts(number: int) -> tuple[Counts, Counts]:
        words = word_ids[members[number]]
        file = None if folder is None else folder / f"{number:05d}.npy"
        return load_or_draw(
            file, (*shape[:2], len(words)), grid.draws, lambda: block_draws.block(words, number)
        )

    # An exception here, such as that of Ctrl-C, waits for the blocks in progress, which are then kept.
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(block_draws.threads(workers)) as pool:
        for number, counts in enumerate(pool.map(block_counts, range(len(members)))):
            stays[:, :, members[number]], distinct[:, :, members[number]] = counts
            watch(number + 1, len(members))
    return Sweep(grid, embedding.dim, word_ids, block, stays, distinct, block_draws.disagreement(word_ids))


def _block_size(count: int, largest: int) -> int:
    return max(1, min(largest, count // _MIN_BLOCKS))


def _blocks(count: int, seed: int, largest: int) -> tuple[Ints, Ints]:
    """Return the words in random order, and the block of each; at least 32 blocks if words suffice."""
    size = _block_size(count, largest)
    order = np.random.default_rng([seed, 1]).permutation(count)
    block = np.empty(count, dtype=np.int64)
    # A last, shorter block joins the one before it, so all block means have about the same weight.
    block[order] = np.minimum(np.arange(count) // size, max(0, count // size - 1))
    return order, block
