"""The Vickrey mechanism: noise on the vector of a word, and a choice between the two words nearest to it."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from wordveil.embedding import Embedding
from wordveil.errors import check_real
from wordveil.mechanisms.additive import Mahalanobis
from wordveil.mechanisms.base import JSON
from wordveil.mechanisms.channel import AdditiveChannel
from wordveil.mechanisms.options import Option, fraction_option
from wordveil.mechanisms.placed import LAM
from wordveil.nearest.threads import draw_in_slices
from wordveil.nearest.two import TableOfTwo, TwoNearest
from wordveil.randomness import Stream
from wordveil.shared import PerEmbedding

__all__ = ["Vickrey"]

_BLOCK: Final = 2048  # noisy points at a time
_tables: Final = PerEmbedding[TableOfTwo](most=1)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Vickrey(Mahalanobis):
    """Noise as in the Laplace or the Mahalanobis mechanism; the answer is the nearest word or the second.

    Guarantee: Pr[M(w) = u] ≤ exp(ε·‖φ(w) - φ(w')‖_RM)·Pr[M(w') = u] for all words w, w', u.

    Why: the density of the noisy point v changes by a factor of at most exp(ε·‖φ(w) - φ(w')‖_RM) between two
    words, as in the Mahalanobis mechanism. The answer is a random function of v and public data only: with u₁
    and u₂ the words nearest to v among all words, w included, it is u₁ with probability
    (1-t)·‖φ(u₂) - v‖ / (t·‖φ(u₁) - v‖ + (1-t)·‖φ(u₂) - v‖), else u₂. A choice that left w out of the
    candidates would not be private: its answers would never be w.

    Parameters
    ----------
    embedding, epsilon
        As in `Mahalanobis`.
    lam : float
        λ in [0, 1] of the noise: 0 is Euclidean, 1 is Mahalanobis.
    t : float
        In [0, 1]: 0 always answers the nearest word, 1 the second nearest.

    Examples
    --------
    >>> from wordveil.embedding import Embedding
    >>> emb = Embedding(["a", "b", "c"], [[0.0], [1.0], [9.0]], public=True)
    >>> Vickrey(emb, epsilon=1e6, t=1.0).perturb_words(["a", "b", "c"])
    ['b', 'a', 'b']
    """

    name: ClassVar = "vickrey"
    options: ClassVar[tuple[Option, ...]] = (
        LAM,
        fraction_option(
            "t",
            "0 answers the nearest word, 1 the second, between them one of the two by their distances",
            default=0.5,
        ),
    )
    paper: ClassVar = (
        "Xu, Aggarwal, Feyisetan and Teissier (2021): On a Utilitarian Approach to Privacy Preserving Text "
        "Generation"
    )
    takes_device: ClassVar = False

    t: float = 0.5

    def __init__(self, embedding: Embedding, epsilon: float, lam: float = 0.0, *, t: float = 0.5) -> None:
        super().__init__(embedding, epsilon, lam)
        object.__setattr__(self, "t", check_real(t, "t", "Vickrey", "be in [0, 1]", 0.0, 1.0))

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"t": self.t}

    def parameters(self) -> dict[str, JSON]:
        """Return ε, λ and t."""
        return {"epsilon": self.epsilon, "lam": self.lam, "t": self.t}

    @cached_property
    def _two(self) -> TwoNearest:
        table = _tables.get(self.embedding, None, lambda: TableOfTwo(self._places[:-1]))
        return TwoNearest(self._search.prepare(1 << 20), table)

    def _chosen(self, points: NDArray[np.float64], uniforms: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the answer to each noisy point, with one uniform number each."""
        result = self._two.find(points)
        near, far = self.t * result.distance, (1.0 - self.t) * result.second_distance
        total = near + far
        # Two words with the vector v itself, or t = 1 and the nearest word at v: then t decides alone.
        share = np.divide(far, total, out=np.full(len(points), 1.0 - self.t), where=total > 0.0)
        return np.where(uniforms < share, result.first, result.second)

    def _perturb(self, ids: NDArray[np.int64], stream: Stream) -> NDArray[np.int64]:
        answers = np.empty(len(ids), np.int64)

        def draw(block: slice) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
            points = self._noisy_points(ids[block], stream)
            return points, stream.uniforms((len(points),))

        def answer(block: slice, drawn: tuple[NDArray[np.float64], NDArray[np.float64]]) -> None:
            answers[block] = self._chosen(*drawn)

        if len(ids) > _BLOCK:
            self._two.find(self._places[:1])  # prepared once, not by each thread
        draw_in_slices(len(ids), _BLOCK, draw, answer)
        return answers

    def channel(self) -> "VickreyChannel":
        """Return what an attacker who sees the noisy vectors knows."""
        return VickreyChannel(self)


class VickreyChannel(AdditiveChannel):
    """An attacker who sees the noisy vector v, and the number that chooses between the two words.

    The number is the last column of what is seen. It tells nothing about the word.
    """

    _mechanism: Vickrey

    @property
    def answers_nearest(self) -> bool:
        """False: the answer may be the second nearest word."""
        return False

    def observe(self, ids: NDArray[np.int64], stream: Stream) -> NDArray[np.float64]:
        """Return a noisy vector for each word id, and a uniform number."""
        return np.column_stack((super().observe(ids, stream), stream.uniforms((len(ids),))))

    def log_likelihoods(self, seen: NDArray[np.float64], words: slice) -> NDArray[np.float64]:
        """Return -ε·‖φ(u) - v‖_RM for each noisy vector v and each word u."""
        return super().log_likelihoods(seen[:, :-1], words)

    def answers(self, seen: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the answer to each noisy vector and number."""
        return self._mechanism._chosen(np.ascontiguousarray(seen[:, :-1]), seen[:, -1])

    def of_answers(self, answers: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return the vectors of the answers."""
        return np.column_stack((super().of_answers(answers), np.zeros(len(answers))))
