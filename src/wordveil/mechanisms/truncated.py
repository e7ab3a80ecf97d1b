"""The truncated exponential mechanism (TEM): all words further away than γ are equally likely."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordveil.errors import check_real
from wordveil.guarantee import Exponents, MetricGuarantee
from wordveil.mechanisms.answer_channel import AnswerChannel
from wordveil.mechanisms.base import JSON
from wordveil.mechanisms.exponential import Exponential
from wordveil.mechanisms.exponential_law import ExponentialLaw
from wordveil.mechanisms.options import Option
from wordveil.mechanisms.placed import LAM
from wordveil.metric import Bracket

__all__ = ["TruncatedExponential", "TruncatedGuarantee"]

_LEAST_BETA = 1e-12  # by judgement: an answer beyond γ is then practically never seen
_MOST_BETA = 0.5  # where γ is still not negative for two words


@dataclass(frozen=True, eq=False)
class TruncatedGuarantee(MetricGuarantee):
    """Pr[M(w) = u] ≤ exp(ε·min(d(w, w'), γ))·Pr[M(w') = u] for all words w, w', u.

    Examples
    --------
    >>> from wordveil.embedding import Embedding
    >>> from wordveil.metric import Metric
    >>> emb = Embedding(["a", "b", "c"], [[0.0], [1.0], [9.0]], public=True)
    >>> promise = TruncatedGuarantee(2.0, Metric.from_embedding(emb, 0.0), emb, 3.0)
    >>> promise.exponents(0, [1, 2]).tolist()
    [2.0, 6.0]
    """

    gamma: float = math.inf

    @property
    def _most(self) -> float:
        return self.epsilon * self.gamma

    def exponents(self, ids: ArrayLike, others: ArrayLike) -> NDArray[np.float64]:
        """Return ε·min(d, γ) of each pair of word ids; -1 is the centroid. Shapes broadcast as in NumPy."""
        return np.asarray(np.minimum(super().exponents(ids, others), self._most))

    @cached_property
    def neighbours(self) -> dict[int, Exponents]:
        """ε·min(d, γ) to the 1st, 10th and 100th neighbour, over a fixed public sample of 1,000 words."""
        # A quantile of numbers that are cut off is the quantile, cut off (or less, between two of them).
        untruncated = MetricGuarantee(self.epsilon, self.metric, self.embedding).neighbours
        return {
            rank: Exponents(*(min(value, self._most) for value in row)) for rank, row in untruncated.items()
        }

    @property
    def worst_case(self) -> Bracket:
        """A bracket of ε·min(diameter, γ); its upper end is the ε of ordinary local DP for one word."""
        return Bracket(*(min(end, self._most) for end in super().worst_case))

    @property
    def distance(self) -> tuple[float, str]:
        """ε and the name of the distance min(d, γ)."""
        epsilon, name = super().distance
        return epsilon, f"{name} gamma={self.gamma:.17g}"

    def projection_factor(self, original: object) -> None:  # noqa: ARG002  # of the contract
        """Return None: a truncated distance is not bounded by that of the original vectors in both ways."""
        return

    def to_dict(self) -> dict[str, Any]:
        """Return the same facts as plain JSON values."""
        return {"gamma": self.gamma} | super().to_dict()

    def _title(self) -> str:
        return super()._title().replace(" dimensions\n", f" dimensions, d at most γ = {self.gamma:.4g}\n")


@dataclass(frozen=True, eq=False, repr=False)
class TruncatedExponential(Exponential):
    """TEM, the truncated exponential mechanism: Pr ∝ exp(-(ε/2)·min(d, γ)).

    Guarantee: Pr[M(w) = u] ≤ exp(ε·min(d(w, w'), γ))·Pr[M(w') = u] for all words w, w', u.

    Why: min(d, γ) obeys the triangle inequality like d, and the rest is the proof of the exponential
    mechanism. γ = (2/ε)·log((1 - β)(V - 1)/β), so that even if all other words are further away than γ, w
    itself is answered with probability at least 1 - β: γ depends on public numbers only.

    Parameters
    ----------
    embedding, epsilon, lam
        As in `Exponential`.
    beta : float
        β: how likely an answer further away than γ may be.

    Examples
    --------
    >>> from wordveil.embedding import load_embedding
    >>> mechanism = TruncatedExponential(load_embedding(), epsilon=4.0)
    >>> round(mechanism.gamma, 2), round(mechanism.guarantee.worst_case.upper, 2)
    (8.67, 34.67)
    """

    name: ClassVar = "tem"
    options: ClassVar[tuple[Option, ...]] = (
        LAM,
        Option(
            "beta",
            float,
            "β, how likely an answer further away than γ may be: γ = (2/ε)·log((1-β)(V-1)/β)",
            default=0.001,
            low=_LEAST_BETA,
            high=_MOST_BETA,
        ),
    )
    paper: ClassVar = (
        "Carvalho, Vasiloudis, Feyisetan and Wang (2023): "
        "TEM: High Utility Metric Differential Privacy on Text"
    )

    beta: float = 0.001

    def __post_init__(self) -> None:
        super().__post_init__()
        owner, must = type(self).__name__, f"be in [{_LEAST_BETA:g}, {_MOST_BETA:g}]"
        beta = check_real(self.beta, "beta", owner, must, _LEAST_BETA, _MOST_BETA)
        object.__setattr__(self, "beta", beta)

    @property
    def gamma(self) -> float:
        """γ, beyond which all words are equally likely."""
        others = len(self.embedding) - 1
        return 2.0 / self.epsilon * math.log((1.0 - self.beta) * others / self.beta)

    def parameters(self) -> dict[str, JSON]:
        """Return ε, λ and β."""
        return super().parameters() | {"beta": self.beta}

    @cached_property
    def guarantee(self) -> TruncatedGuarantee:
        """What is promised, in numbers and in sentences."""
        return TruncatedGuarantee(self.epsilon, self.metric, self._verified, self.gamma)

    @property
    def law(self) -> ExponentialLaw:
        """The law of the answers."""
        return ExponentialLaw(self._white, self.epsilon / 2.0, self.gamma)

    def channel(self) -> AnswerChannel | None:
        """Return what an attacker who sees the answers knows; None for more words than can be summed over."""
        return super().channel()
