"""The exponential mechanism on words, as in SanText."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordveil.guarantee import MetricGuarantee
from wordveil.mechanisms.answer_channel import AnswerChannel, most_words
from wordveil.mechanisms.base import JSON
from wordveil.mechanisms.exponential_law import ExponentialLaw
from wordveil.mechanisms.options import Option
from wordveil.mechanisms.placed import LAM, PlacedMechanism
from wordveil.randomness import Stream

__all__ = ["Exponential"]


@dataclass(frozen=True, eq=False, repr=False)
class Exponential(PlacedMechanism):
    """The exponential mechanism with the distance as its cost, SanText's formula: Pr ∝ exp(-(ε/2)·d).

    Guarantee: Pr[M(w) = u] ≤ exp(ε·d(w, w'))·Pr[M(w') = u] for all words w, w', u.

    Why: by the triangle inequality each weight exp(-(ε/2)·d(w, u)) changes by a factor of at most
    exp((ε/2)·d(w, w')) between w and w', and so does the sum of all weights that it is divided by.

    Parameters
    ----------
    embedding, epsilon
        As in `Mahalanobis`.
    lam : float
        λ in [0, 1] of the distance: 0, as in SanText, is Euclidean.

    Examples
    --------
    >>> from wordveil.embedding import Embedding
    >>> emb = Embedding(["a", "b", "c"], [[0.0], [1.0], [3.0]], public=True)
    >>> mechanism = Exponential(emb, epsilon=2.0)
    >>> mechanism.probabilities(0).round(3).tolist()
    [0.705, 0.259, 0.035]
    """

    name: ClassVar = "exponential"
    options: ClassVar[tuple[Option, ...]] = (LAM,)
    paper: ClassVar = (
        "Yue, Du, Wang, Li, Sun and Chow (2021): Differential Privacy for Text Analytics via Natural Text "
        "Sanitization"
    )

    def parameters(self) -> dict[str, JSON]:
        """Return ε and λ."""
        return {"epsilon": self.epsilon, "lam": self.lam}

    @cached_property
    def guarantee(self) -> MetricGuarantee:
        """What is promised, in numbers and in sentences."""
        return MetricGuarantee(self.epsilon, self.metric, self._verified)

    @property
    def law(self) -> ExponentialLaw:
        """The law of the answers."""
        return ExponentialLaw(self._white, self.epsilon / 2.0)

    def probabilities(self, ids: ArrayLike) -> NDArray[np.float64]:
        """Return Pr[M(w) = u] for each word id w (-1 is the centroid) and all words u: exact, in O(V·m)."""
        checked = self._checked(ids)
        shares = self._cleaned_shares(self.law.probabilities(checked.ravel()))
        return shares.reshape(*checked.shape, len(self.embedding))

    def channel(self) -> AnswerChannel | None:
        """Return what an attacker who sees the answers knows; None for more words than can be summed over."""
        return AnswerChannel(self) if len(self.embedding) <= most_words() else None

    def _perturb(self, ids: NDArray[np.int64], stream: Stream) -> NDArray[np.int64]:
        return self.law.draw(ids, stream)
