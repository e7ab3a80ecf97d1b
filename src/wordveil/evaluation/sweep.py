"""N_w and S_w of many words at many settings at once, by blocks of words, with a cache.

Every word's draws are independent, so that its N_w and S_w are those of the mechanism; words of a block may
not be independent of each other. What is said about means over words must go by the means of blocks.
"""

import hashlib
import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from wordveil.embedding import Embedding
from wordveil.embedding.atomic import atomic_write
from wordveil.errors import ParameterError
from wordveil.evaluation.device_sweep import DeviceTable
from wordveil.evaluation.draws import Counts, Ints, Table
from wordveil.evaluation.grid import Grid
from wordveil.evaluation.privacy import Share
from wordveil.nearest.devices import has_gpu

__all__ = ["Grid", "Sweep", "sweep"]

_VERSION: Final = 2
_LEAST_BLOCKS: Final = 32


@dataclass(frozen=True, eq=False)
class Sweep:
    """What came of it: N_w and S_w of every word at every setting, in percent of the draws and in answers.

    Attributes
    ----------
    grid : Grid
    ids : array of int
        The words.
    block : array of int
        Which block each word was drawn in.
    stays, distinct : arrays of shape (λ, ε, words)
        How often each word stayed, and how many answers it had.
    disagreement : Share
        Which share of a sample of draws the exact search answers otherwise, with its 95% interval.
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
        """Return the means over the words of each block, along the last axis: these are independent."""
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
    watch: Callable[[int, int], None] = lambda *_: None,
) -> Sweep:
    """Draw every word at every setting; of public words, with a seed, so that it can be repeated.

    Parameters
    ----------
    embedding : Embedding
        Public words and vectors.
    grid : Grid
        The settings.
    ids : array of int, optional
        Which words; by default all.
    workers : int
        Threads.
    device : str
        "cpu", "auto" (a GPU if there is one), or a device of PyTorch's (extra `cuda`), which then draws the
        noise, other than the CPU's.
    cache : Path, optional
        A folder for the blocks that are done, for a second run to go on from.
    watch : callable
        Is told how many blocks are done, and how many there are.

    Examples
    --------
    >>> from wordveil.embedding import load_embedding
    >>> found = sweep(load_embedding(), Grid((10.0,), (0.0, 1.0), draws=20), np.arange(0, 33_000, 1000))
    >>> found.n_w.shape
    (2, 1, 33)
    """
    if device == "auto":
        device = "cuda" if has_gpu() else "cpu"
    given = np.arange(len(embedding)) if ids is None else np.asarray(ids, dtype=np.int64)
    if not len(given) or given.min() < 0 or given.max() >= len(embedding):
        raise ParameterError("The words of a sweep must be some of the vocabulary.")
    table = Table(embedding, grid) if device == "cpu" else DeviceTable(embedding, grid, device)
    order, block = _blocks(len(given), grid.seed, table.largest_block)
    folder = None if cache is None else _cache_folder(cache, embedding, grid, given, table.kind)
    shape = len(grid.lams), len(grid.epsilons), len(given)
    stays, distinct = np.zeros(shape, np.uint16), np.zeros(shape, np.uint16)
    parts = [order[block[order] == number] for number in range(int(block.max()) + 1)]

    def done(number: int) -> tuple[Counts, Counts]:
        words = given[parts[number]]
        file = None if folder is None else folder / f"{number:05d}.npy"
        return _cached(file, (*shape[:2], len(words)), grid.draws, lambda: table.block(words, number))

    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(table.threads(workers)) as pool:
        for number, (stayed, answers) in enumerate(pool.map(done, range(len(parts)))):
            stays[:, :, parts[number]], distinct[:, :, parts[number]] = stayed, answers
            watch(number + 1, len(parts))
    return Sweep(grid, embedding.dim, given, block, stays, distinct, table.disagreement(given))


def _blocks(count: int, seed: int, largest: int) -> tuple[Ints, Ints]:
    """Return the words in random order, and the block of each: at least 32 of them, if words suffice."""
    size = max(1, min(largest, count // _LEAST_BLOCKS))
    order = np.random.default_rng([seed, 1]).permutation(count)
    block = np.empty(count, dtype=np.int64)
    # The last, short block is made part of the one before, so that all means weigh about the same.
    block[order] = np.minimum(np.arange(count) // size, max(0, count // size - 1))
    return order, block


def _cache_folder(cache: Path, embedding: Embedding, grid: Grid, ids: Ints, kind: str) -> Path:
    facts = [
        _VERSION,
        np.__version__,
        *([kind] if kind else []),
        embedding.fingerprint,
        asdict(grid),
        hashlib.sha256(ids.tobytes()).hexdigest(),
    ]
    return cache / hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]


def _cached(
    path: Path | None, shape: tuple[int, ...], most: int, make: Callable[[], tuple[Counts, Counts]]
) -> tuple[Counts, Counts]:
    if path is not None and path.exists():
        with suppress(ValueError, EOFError):  # a damaged block is drawn again
            both = np.load(path, allow_pickle=False)
            if both.dtype == np.uint16 and both.shape == (2, *shape) and both.max() <= most:
                return both[0], both[1]
    stayed, answers = make()
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with atomic_write(path, force=True) as file:
            np.save(file, np.stack((stayed, answers)))
    return stayed, answers
