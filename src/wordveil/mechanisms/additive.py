"""Mechanisms that add noise to the vector of a word and answer with a function of the noisy point."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray

from wordveil.block_list import BlockList
from wordveil.embedding import Embedding, load_parent
from wordveil.errors import IntegrityError, check_real, parameter_error
from wordveil.guarantee import MetricGuarantee
from wordveil.mechanisms.answers import ANSWERS, AnswerName, PosteriorSearch, check_answer, units_of
from wordveil.mechanisms.base import JSON, Mechanism
from wordveil.mechanisms.channel import AdditiveChannel
from wordveil.mechanisms.options import Option, fraction_option
from wordveil.mechanisms.places import allowed_search_of, places_of, search_of
from wordveil.metric import Metric
from wordveil.nearest import NearestSearch
from wordveil.nearest.allowed import AllowedSearch
from wordveil.nearest.devices import DeviceName, check_device
from wordveil.noise import check_epsilon, eigen_noise
from wordveil.prior import default_prior
from wordveil.randomness import Stream

__all__ = ["Laplace", "Mahalanobis"]

_PAPER: Final = (
    "Xu, Aggarwal, Feyisetan and Teissier (2020): A Differentially Private Text Perturbation Method Using a "
    "Regularized Mahalanobis Metric"
)

_ANSWER: Final = Option(
    "answer",
    str,
    "which word is answered: the nearest, the likeliest, or the closest in meaning",
    default="nearest",
    choices=ANSWERS,
)


@dataclass(frozen=True, eq=False, repr=False)
class Mahalanobis(Mechanism):
    """The regularized Mahalanobis mechanism of Xu, Aggarwal, Feyisetan and Teissier (2020).

    Guarantee: Pr[M(w) = u] ≤ exp(ε·‖φ(w) - φ(w')‖_RM)·Pr[M(w') = u] for all words w, w', u.

    Why: the density of the noise at z is c·exp(-ε‖z‖_RM), so by the triangle inequality moving its centre
    from φ(w) to φ(w') changes the density at any point by a factor of at most exp(ε‖φ(w) - φ(w')‖_RM). The
    nearest word is a function of the noisy point only, over candidates that do not depend on w.

    Parameters
    ----------
    embedding : Embedding
        Public words and vectors, fixed before the private text is read.
    epsilon : float
        ε, finite and positive, per unit of distance: smaller is more private. It has no default.
    lam : float
        λ in [0, 1]: how far the noise follows the shape of the vectors. 0 is the Laplace mechanism.
    device : str
        Where the nearest word is searched for: "cpu", "cuda", or "auto" for a GPU if there is one. The device
        changes no answer; the noise always comes from the CPU.
    answer : str
        Which word is answered: "nearest", as in the paper, "likeliest" under a public prior, or "closest" in
        meaning on average (see `wordveil.mechanisms.answers`). The guarantee is the same for all three.
    blocked : BlockList, optional
        Words that are never answered: the answer is the best allowed word for the noisy point. This is a
        function of that point and of public data, like the answer without it, so the guarantee is the same.

    Examples
    --------
    >>> from wordveil.embedding import load_embedding
    >>> from wordveil.randomness import insecure_stream
    >>> mechanism = Mahalanobis(load_embedding(), epsilon=10.0, lam=1.0)
    >>> answers = mechanism.perturb_words(["flight", "boston"], stream=insecure_stream(7))
    >>> len(answers), all(word in mechanism.embedding for word in answers)
    (2, True)
    """

    name: ClassVar = "mahalanobis"
    options: ClassVar[tuple[Option, ...]] = (
        fraction_option(
            "lam",
            "λ, how far the noise follows the shape of the vectors; 0 is the Laplace mechanism",
            default=1.0,
        ),
        _ANSWER,
    )
    paper: ClassVar = _PAPER
    takes_device: ClassVar = True

    embedding: Embedding
    epsilon: float
    lam: float = 1.0
    device: DeviceName = field(default="cpu", kw_only=True, repr=False)
    answer: AnswerName = field(default="nearest", kw_only=True)
    blocked: BlockList | None = field(default=None, kw_only=True)
    metric: Metric = field(init=False, repr=False)

    def __post_init__(self) -> None:
        epsilon = check_epsilon(self.epsilon, type(self).__name__)
        lam = check_real(self.lam, "lam", type(self).__name__, "be in [0, 1]", 0.0, 1.0)
        check_device(self.device, type(self).__name__)
        check_answer(self.answer, type(self).__name__)
        if not isinstance(self.blocked, BlockList | None):
            raise parameter_error("blocked", type(self).__name__, "be a BlockList or None", self.blocked)
        metric = Metric.from_embedding(self.embedding, lam)
        for name, value in {"epsilon": epsilon, "lam": metric.lam, "metric": metric}.items():
            object.__setattr__(self, name, value)

    def __getstate__(self) -> dict[str, Any]:
        # The eigenbasis is included as numbers: computed on another machine, it may differ. Where the vectors
        # are referred to by name, they are rotated again, by that eigenbasis.
        names = ("embedding", "epsilon", "lam", "device", "answer", "metric")
        rows = None if self.embedding.pickles_by_name else self._places
        parent = load_parent(self.embedding) if self.answer == "closest" else None
        prior = self.parameters().get("answer_prior")
        return {name: getattr(self, name) for name in names} | {
            "rows": rows,
            "parent": parent,
            "pickled_prior": prior,
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        rows, parent = state.pop("rows"), state.pop("parent")
        vars(self).update(state)
        if parent is not None and parent is not self.embedding:
            vars(self.embedding).setdefault("_parent", parent)
        if rows is not None:
            places_of(self.embedding, rows)

    @property
    def _places(self) -> NDArray[np.float64]:
        """The position of each word in the eigenbasis; the last row, row -1, is the centroid."""
        return places_of(self.embedding)

    @property
    def _search(self) -> NearestSearch:
        return search_of(self.embedding, self.device) if self.answer == "nearest" else self._posterior_search

    @property
    def _answer_search(self) -> NearestSearch | AllowedSearch:
        """The search that answers: without the blocked words."""
        if self.answer == "nearest" and self.blocked is not None:
            return allowed_search_of(self.embedding, self.device, self.blocked)
        return self._search

    @cached_property
    def _posterior_search(self) -> PosteriorSearch:
        stretch = self.epsilon / np.sqrt(self.metric.scales)
        units = units_of(self.embedding) if self.answer == "closest" else None
        prior = default_prior(self.embedding)
        if vars(self).get("pickled_prior") not in (None, prior.fingerprint[:16]):
            raise IntegrityError(
                "The use of words on this machine is not that of the pickle. Hint: install the same version "
                "of wordveil-english on both."
            )
        is_blocked = None if self.blocked is None else self.blocked.mask(self.embedding)
        return PosteriorSearch(self._places[:-1], stretch, prior, units, is_blocked)

    def parameters(self) -> dict[str, JSON]:
        """Return ε, λ and the answer, and for an answer that uses it the prior."""
        parameters: dict[str, JSON] = {"epsilon": self.epsilon, "lam": self.lam, "answer": self.answer}
        if self.answer != "nearest":
            parameters["answer_prior"] = default_prior(self.embedding).fingerprint[:16]
        if self.answer == "closest":
            parameters["answer_vectors"] = load_parent(self.embedding).fingerprint[:16]
        return parameters

    def _noisy_points(self, ids: NDArray[np.int64], stream: Stream) -> NDArray[np.float64]:
        """Return φ(w) + Z for each id, in float64 and in the eigenbasis."""
        noise = eigen_noise(self.metric.scales, self.epsilon, len(ids), stream)
        noise += self._places[ids]
        return noise

    def _nearest(self, points: NDArray[np.float64]) -> NDArray[np.int64]:
        """Return the answer to each point, by whatever search is ready: measuring prepares none."""
        return self._answer_search.prepare(0).nearest(points)

    def channel(self) -> AdditiveChannel:
        """Return what an attacker who sees the noisy vectors knows."""
        return AdditiveChannel(self)

    def _perturb(self, ids: NDArray[np.int64], stream: Stream) -> NDArray[np.int64]:
        return self._answer_search.nearest_of(len(ids), lambda block: self._noisy_points(ids[block], stream))

    @cached_property
    def guarantee(self) -> MetricGuarantee:
        """What is promised, in numbers and in sentences."""
        return MetricGuarantee(self.epsilon, self.metric, self._verified)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Laplace(Mahalanobis):
    """The multivariate Laplace mechanism: spherical noise, the Mahalanobis mechanism at λ = 0.

    Guarantee: Pr[M(w) = u] ≤ exp(ε·‖φ(w) - φ(w')‖₂)·Pr[M(w') = u], for the same reason.

    Examples
    --------
    >>> from wordveil.embedding import load_embedding
    >>> Laplace(load_embedding(), epsilon=10.0).lam
    0.0
    """

    name: ClassVar = "laplace"
    options: ClassVar[tuple[Option, ...]] = (_ANSWER,)
    paper: ClassVar = (
        "Feyisetan, Balle, Drake and Diethe (2020): Privacy- and Utility-Preserving Textual Analysis via "
        "Calibrated Multivariate Perturbations"
    )

    def __init__(
        self,
        embedding: Embedding,
        epsilon: float,
        *,
        device: DeviceName = "cpu",
        answer: AnswerName = "nearest",
        blocked: BlockList | None = None,
    ) -> None:
        super().__init__(embedding, epsilon, 0.0, device=device, answer=answer, blocked=blocked)
