"""N_w and S_w of many words at many settings at once, without a search for every draw.

For a word w, a direction X on the unit sphere and a radius Y, the noise is Z = (Y/ε)·T·X, and the answer is
the word u with the least D²(w, u) - 2(Y/ε)·(a_u - a_w), where a = Φ·T·X. The words of a block share their
directions: one matrix product gives all a, one all D², and a draw is a multiply-add and an argmin over the
vocabulary. Only u with D² ≤ 2(Y/ε)·(max a - a_w) can win, which leaves few at a large ε. Radii are drawn for
each word and draw.

Every word's draws are independent, so that its N_w and S_w are those of the mechanism; words of a block are
not independent of each other. What is said about means over words must therefore go by the means of blocks.
"""

import hashlib
import json
import math
from collections.abc import Callable, Iterator
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
from wordveil.errors import ParameterError, check_real, check_whole
from wordveil.evaluation.privacy import Share, clopper_pearson
from wordveil.metric import Metric
from wordveil.nearest import AutomaticSearch
from wordveil.noise import check_epsilon

__all__ = ["Grid", "Sweep", "sweep"]

_VERSION: Final = 2
_LARGEST_BLOCK: Final = 128
_LEAST_BLOCKS: Final = 32
_FEW: Final = 20
_SLACK: Final = 1.0 + 1e-4  # for the rounding of float32
_TINY: Final = 1e-5
_PIECE: Final = 512
_SAMPLE_BLOCK: Final = 1 << 30
_SAMPLE: Final = 50_000

Ints = NDArray[np.int64]
Counts = NDArray[np.uint16]


@dataclass(frozen=True, slots=True)
class Grid:
    """The settings of a sweep: every ε with every λ, so many draws of each word.

    Examples
    --------
    >>> Grid((1.0, 10.0), (0.0, 1.0)).draws
    100
    """

    epsilons: tuple[float, ...] = (1.0, 5.0, 10.0, 20.0, 40.0)
    lams: tuple[float, ...] = (0.0, 0.25, 0.5, 0.75, 1.0)
    draws: int = 100
    eta: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("epsilons", "lams"):
            values = getattr(self, name)
            if not values or list(values) != sorted(set(values)):
                raise ParameterError(f"The {name} of a sweep must be different numbers in ascending order.")
        for epsilon in self.epsilons:
            check_epsilon(epsilon, "Grid")
        for lam in self.lams:
            check_real(lam, "lams", "Grid", "be in [0, 1]", 0.0, 1.0)
        check_whole(self.draws, "draws", "Grid", 1, 60_000)
        check_real(self.eta, "eta", "Grid", "be in [0, 1]", 0.0, 1.0)
        check_whole(self.seed, "seed", "Grid", 0)


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
    given = np.arange(len(embedding)) if ids is None else np.asarray(ids, dtype=np.int64)
    if not len(given) or given.min() < 0 or given.max() >= len(embedding):
        raise ParameterError("The words of a sweep must be some of the vocabulary.")
    table = _Table(embedding, grid)
    order, block = _blocks(len(given), grid.seed)
    folder = None if cache is None else _cache_folder(cache, embedding, grid, given)
    shape = len(grid.lams), len(grid.epsilons), len(given)
    stays, distinct = np.zeros(shape, np.uint16), np.zeros(shape, np.uint16)
    parts = [order[block[order] == number] for number in range(int(block.max()) + 1)]

    def done(number: int) -> tuple[Counts, Counts]:
        words = given[parts[number]]
        file = None if folder is None else folder / f"{number:05d}.npy"
        return _cached(file, (*shape[:2], len(words)), grid.draws, lambda: table.block(words, number))

    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(workers) as pool:
        for number, (stayed, answers) in enumerate(pool.map(done, range(len(parts)))):
            stays[:, :, parts[number]], distinct[:, :, parts[number]] = stayed, answers
            watch(number + 1, len(parts))
    return Sweep(grid, embedding.dim, given, block, stays, distinct, table.disagreement(given))


def _blocks(count: int, seed: int) -> tuple[Ints, Ints]:
    """Return the words in random order, and the block of each: at least 32 of them, if words suffice."""
    size = max(1, min(_LARGEST_BLOCK, count // _LEAST_BLOCKS))
    order = np.random.default_rng([seed, 1]).permutation(count)
    block = np.empty(count, dtype=np.int64)
    # The last, short block is made part of the one before, so that all means weigh about the same.
    block[order] = np.minimum(np.arange(count) // size, max(0, count // size - 1))
    return order, block


def _cache_folder(cache: Path, embedding: Embedding, grid: Grid, ids: Ints) -> Path:
    facts = [
        _VERSION,
        np.__version__,
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


class _Table:
    """The vocabulary in the eigenbasis, around its centroid, and what a block of words needs of it.

    Of equal vectors the mechanism answers with the first, so that only the first stands here.
    """

    def __init__(self, embedding: Embedding, grid: Grid) -> None:
        embedding.verify()
        self._grid = grid
        metrics = [Metric.from_embedding(embedding, lam) for lam in grid.lams]
        firsts: dict[bytes, int] = {}
        places = [
            firsts.setdefault(vector.tobytes(), len(firsts)) for vector in embedding.vectors + np.float32(0.0)
        ]
        self._place = np.array(places)
        self._first = np.full(len(firsts), len(places))
        np.minimum.at(self._first, self._place, np.arange(len(places)))
        exact = embedding.vectors[self._first].astype(np.float64) @ metrics[0].axes
        self._exact = exact - exact.mean(axis=0)
        self._rows = self._exact.astype(np.float32)
        self._squares = np.einsum("ij,ij->i", self._exact, self._exact)
        self._tiny = _TINY * float(self._squares.max())
        self._roots = [np.sqrt(metric.scales) for metric in metrics]

    def block(self, ids: Ints, number: int) -> tuple[Counts, Counts]:
        """Return how often each word of a block stayed, and how many answers it had, at every setting."""
        grid = self._grid
        shape = len(grid.lams), len(grid.epsilons), len(ids)
        stays, distinct = np.empty(shape, np.uint16), np.empty(shape, np.uint16)
        for lam, epsilon, answers in self._answers(ids, number, grid.draws):
            stays[lam, epsilon] = np.count_nonzero(answers == ids[:, None], axis=1)
            for word, row in enumerate(answers):
                _, counts = np.unique(row, return_counts=True)
                distinct[lam, epsilon, word] = np.count_nonzero(counts / grid.draws >= grid.eta)
        return stays, distinct

    def _draws(self, ids: Ints, number: int, draws: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the directions of a block, and the radii of its words at ε = 1."""
        random = np.random.default_rng([self._grid.seed, 2, number])
        normals = random.standard_normal((draws, self._rows.shape[1]))
        directions = normals / np.linalg.norm(normals, axis=1, keepdims=True)
        return directions, random.standard_gamma(self._rows.shape[1], (len(ids), draws))

    def _answers(self, ids: Ints, number: int, draws: int) -> Iterator[tuple[int, int, Ints]]:
        """Yield the answers to so many draws of all words of a block, (words, draws), at each setting."""
        directions, radii = self._draws(ids, number, draws)
        own = self._place[ids]
        squares = self._distances(own)
        for lam, root in enumerate(self._roots):
            answers = np.empty((len(self._grid.epsilons), *radii.shape), np.int64)
            for start in range(0, draws, _PIECE):
                part = slice(start, start + _PIECE)
                along = (directions[part] * root).astype(np.float32) @ self._rows.T
                for epsilon, value in enumerate(self._grid.epsilons):
                    steps = (2.0 * radii[:, part] / value).astype(np.float32)
                    found = _nearest(own, squares, along, steps, self._tiny)
                    answers[epsilon, :, part] = self._first[found]
            for epsilon in range(len(self._grid.epsilons)):
                yield lam, epsilon, answers[epsilon]

    def _distances(self, own: Ints) -> NDArray[np.float32]:
        """Return D² from each of some words to all; in float64, since near ones cancel, and then rounded."""
        squares = self._squares[own][:, None] + self._squares - 2.0 * (self._exact[own] @ self._exact.T)
        squares[np.arange(len(own)), own] = 0.0
        return np.asarray(np.maximum(squares, 0.0), dtype=np.float32)

    def disagreement(self, ids: Ints, draws: int = 25) -> Share:
        """Return which share of some draws the exact search answers otherwise, with its interval.

        Of so many draws that none would say, with 97.5%, that it is less than one in ten thousand.
        """
        draws = min(draws, self._grid.draws)
        words = math.ceil(_SAMPLE / (len(self._grid.lams) * len(self._grid.epsilons) * draws))
        sample = ids[np.unique(np.linspace(0, len(ids) - 1, min(words, len(ids))).astype(np.int64))]
        search = AutomaticSearch(self._exact)
        wrong = total = 0
        for start in range(0, len(sample), _LARGEST_BLOCK):
            part, number = sample[start : start + _LARGEST_BLOCK], _SAMPLE_BLOCK + start
            directions, radii = self._draws(part, number, draws)
            for lam, epsilon, answers in self._answers(part, number, draws):
                steps = radii[..., None] / self._grid.epsilons[epsilon]
                points = self._exact[self._place[part]][:, None] + steps * directions * self._roots[lam]
                found = search.nearest(points.reshape(-1, points.shape[-1])).reshape(points.shape[:2])
                wrong += int(np.count_nonzero(self._first[found] != answers))
                total += found.size
        return clopper_pearson(wrong, total)


def _nearest(
    own: Ints,
    squares: NDArray[np.float32],
    along: NDArray[np.float32],
    steps: NDArray[np.float32],
    tiny: float,
) -> Ints:
    """Return the answers, (words, draws): the least of squares - step·along, over those that can be it.

    The word that is furthest along a draw, t, bounds the others: u can win only if it is along by at least
    a_t - D²(w, t)/step. At a small ε that leaves few, the same for all words of the block.
    """
    answers = np.empty(steps.shape, np.int64)
    far: list[int] = []
    for draw, line in enumerate(along):
        top = int(line.argmax())
        least = float(line[top]) - float((squares[:, top] / steps[:, draw]).max()) * _SLACK
        left = np.flatnonzero(line >= least - tiny)
        if len(left) * _FEW > len(line):
            far.append(draw)
            continue
        scores = squares[:, left] - steps[:, draw, None] * line[left]
        answers[:, draw] = left[scores.argmin(axis=1)]
    if far:
        _nearest_far(own, squares, along, steps, np.array(far), answers, tiny)
    return answers


def _nearest_far(
    ids: Ints,
    squares: NDArray[np.float32],
    along: NDArray[np.float32],
    steps: NDArray[np.float32],
    draws: Ints,
    answers: Ints,
    tiny: float,
) -> None:
    """Fill in the answers to those draws, word by word: only u with D² ≤ step·(max a - a_w) can win."""
    most = along[draws].max(axis=1)
    buffer = np.empty(along.shape[1], np.float32)
    for word, own in enumerate(ids.tolist()):
        mine, row = steps[word, draws], squares[word]
        bound = float((mine * (most - along[draws, own])).max()) * _SLACK + tiny
        left = np.flatnonzero(row <= bound)
        if len(left) * 3 < len(row):
            scores = row[left] - mine[:, None] * along[draws[:, None], left]
            answers[word, draws] = left[scores.argmin(axis=1)]
            continue
        for draw, step in zip(draws.tolist(), mine, strict=True):
            np.multiply(along[draw], -step, out=buffer)
            np.add(buffer, row, out=buffer)
            answers[word, draw] = buffer.argmin()
