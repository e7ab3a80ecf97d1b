"""The draws of a block of words at every setting, without a search for each draw.

For a word w, a direction X on the unit sphere and a radius Y, the noise is Z = (Y/ε)·T·X, and the answer is
the word u with the smallest D²(w, u) - 2(Y/ε)·(a_u - a_w), where a = Φ·T·X. The words of a block share their
directions: one matrix product gives all a, another gives all D², and a draw is a multiply-add and an argmin
over the vocabulary. Only a u with D² ≤ 2(Y/ε)·(max a - a_w) can win: few at a large ε. Every word and draw
has its own radius.
"""

import math
from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.embedding import Embedding
from wordveil.evaluation.grid import Grid
from wordveil.evaluation.mechanism_draws import BlockDraws, Counts, Floats, Ints
from wordveil.intervals import Share, clopper_pearson
from wordveil.mechanisms.places import first_equals, places_of
from wordveil.metric import Metric
from wordveil.nearest import AutomaticSearch
from wordveil.noise import draw_directions, draw_radii
from wordveil.randomness import insecure_key

__all__ = ["AdditiveDraws", "Counts", "Floats", "Ints"]

# One list of candidates serves a whole block if it has at most a 20th of the vocabulary, else each word gets
# its own. Those are used below a third of the vocabulary: gathering scattered entries is slower than
# reading all of them in order. Both affect speed only.
_SHARED_LIST: Final = 20
_OWN_LIST: Final = 3
# Bounds are widened for the rounding of float32 (6e-8 per operation, some 300 terms): a wider bound only
# keeps more candidates.
_SLACK: Final = 1.0 + 1e-4
_TINY: Final = 1e-5  # of the largest squared length: the same for bounds near zero
_PIECE: Final = 512  # draws at once: bounds memory to 70 MB per thread at the default vocabulary
_SAMPLE_BLOCK: Final = 1 << 30  # numbers of the blocks of the sample, far above those of any sweep
_SAMPLE: Final = 50_000  # draws compared with the exact search; no difference then means below 1 in 10,000


class AdditiveDraws(BlockDraws):
    """The places of the mechanism, centred, and the draws of a block of words.

    The mechanism answers with the first of several equal vectors, so only the first is stored here.
    """

    def __init__(self, embedding: Embedding, grid: Grid) -> None:
        super().__init__(grid)
        self._first, self._place = np.unique(first_equals(embedding), return_inverse=True)
        places = places_of(embedding)
        self._exact = places[self._first] - places[-1]
        self._rows = self._exact.astype(np.float32)
        self._squares = np.einsum("ij,ij->i", self._exact, self._exact)
        self._tiny = _TINY * float(self._squares.max())
        self._roots = [np.sqrt(Metric.from_embedding(embedding, lam).scales) for lam in grid.lams]
        self._key = insecure_key(grid.seed)  # the words are public

    def _draws(self, ids: Ints, number: int, draws: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the directions of a block, and the radii of its words for ε = 1."""
        stream, dim = self._key.stream("sweep", number), self._rows.shape[1]
        directions = draw_directions(dim, draws, stream)
        return directions, draw_radii(dim, len(ids) * draws, stream).reshape(len(ids), draws)

    def _answers(self, ids: Ints, number: int, draws: int) -> Iterator[tuple[int, int, Ints]]:
        """Yield the answers to that many draws of the words of a block, (words, draws), at each setting."""
        directions, radii = self._draws(ids, number, draws)
        own = self._place[ids]
        squares = self._distances(own)
        for lam, root in enumerate(self._roots):
            answers = np.empty((len(self._grid.epsilons), *radii.shape), np.int64)
            for start in range(0, draws, _PIECE):
                piece = slice(start, start + _PIECE)
                along = (directions[piece] * root).astype(np.float32) @ self._rows.T
                for epsilon, value in enumerate(self._grid.epsilons):
                    steps = (2.0 * radii[:, piece] / value).astype(np.float32)
                    nearest = _nearest(_Scores(own, squares, along, steps, self._tiny))
                    answers[epsilon, :, piece] = self._first[nearest]
            for epsilon in range(len(self._grid.epsilons)):
                yield lam, epsilon, answers[epsilon]

    def _distances(self, own: Ints) -> NDArray[np.float32]:
        """Return D² from some words to all: computed in float64, since near ones cancel, then rounded."""
        squares = self._squares[own][:, None] + self._squares - 2.0 * (self._exact[own] @ self._exact.T)
        squares[np.arange(len(own)), own] = 0.0
        return np.asarray(np.maximum(squares, 0.0), dtype=np.float32)

    def disagreement(self, ids: Ints, draws: int = 25) -> Share:
        """Return the share of draws for which the exact search has a different answer, with its interval.

        The sample is large enough that no difference in it means, with 97.5% confidence, fewer than one in
        ten thousand.
        """
        draws = min(draws, self._grid.draws)
        words = math.ceil(_SAMPLE / (len(self._grid.lams) * len(self._grid.epsilons) * draws))
        sample = ids[np.unique(np.linspace(0, len(ids) - 1, min(words, len(ids))).astype(np.int64))]
        search = AutomaticSearch(self._exact)
        wrong = total = 0
        for start in range(0, len(sample), self.largest_block):
            block, number = sample[start : start + self.largest_block], _SAMPLE_BLOCK + start
            for points, answers in self._sample(block, number, draws):
                nearest = search.nearest(points)
                wrong += int(np.count_nonzero(self._first[nearest] != answers))
                total += nearest.size
        return clopper_pearson(wrong, total)

    def _sample(self, ids: Ints, number: int, draws: int) -> Iterator[tuple[Floats, Ints]]:
        """Yield noisy points of some words and the answers to them, at each setting."""
        directions, radii = self._draws(ids, number, draws)
        for lam, epsilon, answers in self._answers(ids, number, draws):
            steps = radii[..., None] / self._grid.epsilons[epsilon]
            points = self._exact[self._place[ids]][:, None] + steps * directions * self._roots[lam]
            yield points.reshape(-1, points.shape[-1]), answers.ravel()


class _Scores(NamedTuple):
    """The parts of the scores of a block: word u scores squares[w, u] - steps[w, draw]·along[draw, u].

    `own` are the places of the words w, and `tiny` is the rounding that bounds must allow for.
    """

    own: Ints
    squares: NDArray[np.float32]
    along: NDArray[np.float32]
    steps: NDArray[np.float32]
    tiny: float


def _nearest(scores: _Scores) -> Ints:
    """Return the answers, (words, draws): the words u with the smallest scores, over those that can win.

    Let t be the word furthest along the direction of a draw. Another word u can win only if a_u is at least
    a_t - D²(w, t)/step. At a small ε few words are left, the same ones for the whole block.
    """
    squares, steps = scores.squares, scores.steps
    answers = np.empty(steps.shape, np.int64)
    unpruned: list[int] = []
    for draw, line in enumerate(scores.along):
        top = int(line.argmax())
        bound = float(line[top]) - float((squares[:, top] / steps[:, draw]).max()) * _SLACK
        candidates = np.flatnonzero(line >= bound - scores.tiny)
        if len(candidates) * _SHARED_LIST > len(line):
            unpruned.append(draw)
            continue
        values = squares[:, candidates] - steps[:, draw, None] * line[candidates]
        answers[:, draw] = candidates[values.argmin(axis=1)]
    if unpruned:
        _fill_by_word(answers, scores, np.array(unpruned))
    return answers


def _fill_by_word(answers: Ints, scores: _Scores, draws: Ints) -> None:
    """Fill in the answers to these draws, word by word: only a u with D² ≤ step·(max a - a_w) can win."""
    along = scores.along
    furthest = along[draws].max(axis=1)
    buffer = np.empty(along.shape[1], np.float32)
    for word, own in enumerate(scores.own.tolist()):
        steps, squares = scores.steps[word, draws], scores.squares[word]
        bound = float((steps * (furthest - along[draws, own])).max()) * _SLACK + scores.tiny
        candidates = np.flatnonzero(squares <= bound)
        if len(candidates) * _OWN_LIST < len(squares):
            values = squares[candidates] - steps[:, None] * along[draws[:, None], candidates]
            answers[word, draws] = candidates[values.argmin(axis=1)]
            continue
        for draw, step in zip(draws.tolist(), steps, strict=True):
            np.multiply(along[draw], -step, out=buffer)
            np.add(buffer, squares, out=buffer)
            answers[word, draw] = buffer.argmin()
