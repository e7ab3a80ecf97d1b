"""Answers to a noisy point: the nearest word, the likeliest, or the closest in meaning on average.

Each is a function of the noisy point v and of public data only: positions, use of words, vectors. So whatever
is promised about v holds for the answer (post-processing): Pr[M(w) = u] is the integral of the density of v
over the points whose answer is u, and the density changes by a factor of at most exp(ε·d(w, w')). All three
have the same guarantee. None of them may look at the input word, or take its candidates from it.
"""

from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from wordveil.embedding import Embedding
from wordveil.embedding.arrays import locked, row_blocks, row_norms
from wordveil.embedding.catalog import load_parent
from wordveil.errors import parameter_error
from wordveil.kernels import kernels
from wordveil.nearest import NearestSearch
from wordveil.nearest.cells import LANES, Cells
from wordveil.prior import Prior
from wordveil.shared import PerEmbedding

__all__ = ["ANSWERS", "CANDIDATES", "PRIOR_POWER", "AnswerName", "PosteriorSearch", "check_answer"]

AnswerName = Literal["nearest", "likeliest", "closest"]
ANSWERS: Final[tuple[AnswerName, ...]] = ("nearest", "likeliest", "closest")

PRIOR_POWER: Final = 0.75
"""The power of a word's share in its score. At 1, rare words would hardly ever be answered."""

CANDIDATES: Final = 150  # of which `closest` chooses one: the words with the best scores
_LARGEST: Final = 1e18  # of a length times ε: the square of a difference must be a finite float32

_units: Final = PerEmbedding[NDArray[np.float32]](most=1)


def check_answer(answer: object, owner: str) -> AnswerName:
    """Return the name of an answer if it is one, else raise ParameterError."""
    if answer not in ANSWERS:
        raise parameter_error("answer", owner, f"be one of {', '.join(ANSWERS)}", answer)
    return answer


class PosteriorSearch(NearestSearch):
    """Finds the likeliest word of a point, or the closest one, in place of the nearest.

    The score of a word u at a point v is β·log p(u) - ε·‖φ(u) - v‖_RM, with β = 0.75. `likeliest` answers the
    word with the best score. `closest` takes the 150 words with the best scores, weighs them by exp(score),
    and answers the one of them that has the largest mean cosine with all of them, in the vectors that the
    space was made from.

    Parameters
    ----------
    places : array of float64
        The positions of the words in the eigenbasis, without the centroid.
    stretch : array of float64
        ε / sqrt(A) for each axis.
    prior : Prior
        How often words are used.
    units : array of float32, optional
        The unit vectors for `closest`; None for `likeliest`.
    is_blocked : array of bool, optional
        For each word whether it must not be answered. Scores and weights stay those of all words. Of the
        words that `closest` chooses from, it answers the best allowed one; if none of them is allowed, the
        allowed word with the best score.
    """

    threaded = True
    block = 256

    def __init__(
        self,
        places: NDArray[np.float64],
        stretch: NDArray[np.float64],
        prior: Prior,
        units: NDArray[np.float32] | None,
        is_blocked: NDArray[np.bool_] | None = None,
    ) -> None:
        super().__init__(places)
        self._is_blocked = is_blocked
        self._centre = places.mean(axis=0)
        reach = float(np.abs((places - self._centre) * stretch).max())
        self._largest_coordinate = _LARGEST / np.sqrt(places.shape[1])
        self._stretch = stretch * min(1.0, self._largest_coordinate / max(reach, 1e-200))
        rows = ((places - self._centre) * self._stretch).astype(np.float32)
        self._scaled, self._log_shares = rows, (PRIOR_POWER * np.log(prior.shares[:-1])).astype(np.float32)
        self._units = units
        self._compiled = _CompiledAnswers(rows, self._log_shares, units) if kernels is not None else None

    def _find(self, points: NDArray[np.float64], norms: NDArray[np.float64]) -> NDArray[np.int64]:  # noqa: ARG002  # of the contract
        limit = self._largest_coordinate
        scaled = np.clip((points - self._centre) * self._stretch, -limit, limit).astype(np.float32)
        if self._compiled is None:
            return self._find_slowly(scaled)
        answers = self._compiled.find(scaled)
        if self._is_blocked is not None:
            # An answer that is the best of all words is also the best allowed one, if it is allowed.
            again = np.flatnonzero(self._is_blocked[answers])
            answers[again] = self._find_slowly(scaled[again])
        return answers

    def _find_slowly(self, points: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return the same answers by NumPy, point by point in a few vector operations each."""
        answers = np.empty(len(points), np.int64)
        for row, point in enumerate(points):
            differences = self._scaled - point
            scores = self._log_shares - np.sqrt(np.einsum("ij,ij->i", differences, differences))
            answers[row] = self._best(scores) if self._units is None else self._closest(scores, self._units)
        return answers

    def _best(self, scores: NDArray[np.float32]) -> np.int64:
        """Return the allowed word with the best score."""
        return (scores if self._is_blocked is None else np.where(self._is_blocked, -np.inf, scores)).argmax()

    def _closest(self, scores: NDArray[np.float32], all_units: NDArray[np.float32]) -> np.int64:
        """Return the allowed word among the best scores with the largest mean cosine."""
        order = _largest(scores, CANDIDATES)
        units = all_units[order]
        cosines = units @ (np.exp(scores[order] - scores[order[0]]) @ units)
        if self._is_blocked is not None:
            if self._is_blocked[order].all():
                return self._best(scores)
            cosines[self._is_blocked[order]] = -np.inf
        return np.int64(order[cosines.argmax()])


class _CompiledAnswers:
    """The tables of the compiled loops: words in boxes, with their biases in that order."""

    def __init__(
        self,
        rows: NDArray[np.float32],
        log_shares: NDArray[np.float32],
        units: NDArray[np.float32] | None,
    ) -> None:
        self._cells = Cells(rows)
        order = self._cells.words
        self._biases = np.where(order < 0, np.float32(-np.inf), log_shares[order])
        self._leaves = self._biases.reshape(-1, LANES).max(axis=1)
        self._nodes = self._leaves.reshape(-1, LANES).max(axis=1)
        self._units = np.zeros((0, 0), np.float32) if units is None else _padded(units)

    def find(self, points: NDArray[np.float32]) -> NDArray[np.int64]:
        """Return the answer to each point."""
        cells, answers = self._cells, np.empty(len(points), np.int64)
        kernels.answer_in_cells(
            cells.dims, self._units.shape[1], CANDIDATES if self._units.shape[1] else 1, cells.nodes,
            cells.leaves, cells.places, cells.words, self._nodes, self._leaves, self._biases, self._units,
            points, answers,
        )  # fmt: skip
        return answers


def _largest(values: NDArray[np.float32], count: int) -> NDArray[np.int64]:
    """Return where the largest values are, in descending order, and of equals the first."""
    last = max(0, len(values) - count)
    among = np.flatnonzero(values >= np.partition(values, last)[last])
    return np.asarray(among[np.argsort(-values[among], kind="stable")[:count]])


def units_of(embedding: Embedding) -> NDArray[np.float32]:
    """Return the unit vectors of the words in the space that an embedding was made from, or in its own.

    Zeros pad them to a multiple of 16 columns, as the compiled loops read them.
    """
    parent = load_parent(embedding)
    return _units.get(parent, None, lambda: locked(_normalised(parent)))


def _normalised(embedding: Embedding) -> NDArray[np.float32]:
    vectors = embedding.vectors
    lengths = np.maximum(row_norms(vectors), 1e-30)[:, None]
    units = np.zeros((len(vectors), _width(vectors.shape[1])), np.float32)
    for block in row_blocks(len(vectors)):
        units[block, : vectors.shape[1]] = vectors[block] / lengths[block]
    return units


def _padded(units: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return unit vectors as the compiled loops read them; those of `units_of` are so already."""
    missing = _width(units.shape[1]) - units.shape[1]
    return np.pad(units, ((0, 0), (0, missing))) if missing else units


def _width(dims: int) -> int:
    return -(-dims // LANES) * LANES
