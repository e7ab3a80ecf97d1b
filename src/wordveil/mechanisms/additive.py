"""Noise added to the vector of a word, then the nearest word: the Mahalanobis and the Laplace mechanism."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wordveil.embedding import Embedding
from wordveil.embedding.arrays import locked
from wordveil.errors import check_real
from wordveil.guarantee import MetricGuarantee
from wordveil.mechanisms.base import Mechanism
from wordveil.metric import Metric
from wordveil.nearest import AutomaticSearch, NearestSearch
from wordveil.nearest.devices import DeviceName, check_device
from wordveil.nearest.threads import in_threads
from wordveil.noise import check_epsilon, eigen_noise
from wordveil.randomness import Stream

__all__ = ["Laplace", "Mahalanobis"]

_BLOCK_ROWS: Final = 4096
_making = threading.RLock()


@dataclass(frozen=True, eq=False)
class Mahalanobis(Mechanism):
    """The regularized Mahalanobis mechanism of Xu, Aggarwal, Feyisetan and Teissier (2020).

    Guarantee: Pr[M(w) = u] ≤ exp(ε·‖φ(w) - φ(w')‖_RM)·Pr[M(w') = u] for all words w, w', u.

    Why: the density of the noise at z is c·exp(-ε‖z‖_RM), so by the triangle inequality moving its centre
    from φ(w) to φ(w') changes the density at any point by a factor of at most exp(ε‖φ(w) - φ(w')‖_RM). The
    nearest word is a function of the noisy point alone, over candidates that do not depend on w.

    Parameters
    ----------
    embedding : Embedding
        Public words and vectors, fixed before the private text is read.
    epsilon : float
        ε, finite and positive, per unit of distance: smaller is more private. It has no default.
    lam : float
        λ in [0, 1]: how far the noise follows the shape of the vectors. 0 is the Laplace mechanism.
    device : str
        Where the nearest word is searched for: "cpu", "cuda" or "auto", a GPU if there is one. It changes no
        answer; the noise always comes from the CPU.

    Examples
    --------
    >>> from wordveil.embedding import load_embedding
    >>> from wordveil.randomness import insecure_stream
    >>> mechanism = Mahalanobis(load_embedding(), epsilon=10.0, lam=1.0)
    >>> answers = mechanism.perturb_words(["flight", "boston"], stream=insecure_stream(7))
    >>> len(answers), all(word in mechanism.embedding for word in answers)
    (2, True)
    """

    embedding: Embedding
    epsilon: float
    lam: float = 1.0
    device: DeviceName = field(default="cpu", kw_only=True, repr=False)
    metric: Metric = field(init=False, repr=False)

    def __post_init__(self) -> None:
        epsilon = check_epsilon(self.epsilon, type(self).__name__)
        lam = check_real(self.lam, "lam", type(self).__name__, "be in [0, 1]", 0.0, 1.0)
        check_device(self.device, type(self).__name__)
        metric = Metric.from_embedding(self.embedding, lam)
        for name, value in {"epsilon": epsilon, "lam": metric.lam, "metric": metric}.items():
            object.__setattr__(self, name, value)

    def __getstate__(self) -> dict[str, Any]:
        # The rotated vectors travel as numbers: an eigenbasis that is computed again may differ.
        kept = ("embedding", "epsilon", "lam", "device", "metric")
        return {name: getattr(self, name) for name in kept} | {"_made_places": self._places}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state | {"_made_places": locked(state["_made_places"])})

    @property
    def _places(self) -> NDArray[np.float64]:
        """Where each word stands in the eigenbasis, in float64; the last row, row -1, is the centroid."""
        places: NDArray[np.float64] = self._once("_made_places", self._make_places)
        return places

    @property
    def _search(self) -> NearestSearch:
        search: NearestSearch = self._once(
            "_made_search", lambda: AutomaticSearch(self._places[:-1], self.device)
        )
        return search

    def _once(self, name: str, make: Callable[[], Any]) -> Any:
        """Return what is made once, however many threads ask for it first."""
        if name not in vars(self):
            with _making:
                if name not in vars(self):
                    vars(self)[name] = make()
        return vars(self)[name]

    def _make_places(self) -> NDArray[np.float64]:
        self.embedding.verify()
        vectors, axes = self.embedding.vectors, self.metric.axes
        places = np.empty((len(vectors) + 1, self.metric.dim))
        for start in range(0, len(vectors), _BLOCK_ROWS):
            stop = min(start + _BLOCK_ROWS, len(vectors))
            places[start:stop] = vectors[start:stop].astype(np.float64) @ axes
        # A product may round equal rows differently in different blocks; equal words must stay equal.
        firsts: dict[bytes, int] = {}
        for row, vector in enumerate(vectors + np.float32(0.0)):  # so that -0.0 is 0.0
            first = firsts.setdefault(vector.tobytes(), row)
            if first != row:
                places[row] = places[first]
        places[-1] = self.embedding.centroid @ axes
        return locked(places)

    def _noisy_points(self, ids: NDArray[np.int64], stream: Stream) -> NDArray[np.float64]:
        """Return φ(w) + Z for each id, in float64 and in the eigenbasis."""
        noise = eigen_noise(self.metric.scales, self.epsilon, len(ids), stream)
        noise += self._places[ids]
        return noise

    def _perturb(self, ids: NDArray[np.int64], stream: Stream) -> NDArray[np.int64]:
        answers = np.empty(len(ids), dtype=np.int64)
        search = self._search.prepare(len(ids))
        size = search.block
        starts, turn = iter(range(0, len(ids), size)), threading.Lock()

        def work() -> bool:
            with turn:  # so that blocks get their noise in their order, whatever thread draws it
                start = next(starts, None)
                if start is None:
                    return False
                block = slice(start, start + size)
                points = self._noisy_points(ids[block], stream)
            answers[block] = search.nearest(points)
            return True

        in_threads(work, -(-len(ids) // size) if search.threaded else 1)
        return answers

    @cached_property
    def guarantee(self) -> MetricGuarantee:
        """What is promised, in numbers and in words."""
        self.embedding.verify()
        return MetricGuarantee(self.epsilon, self.metric, self.embedding)


@dataclass(frozen=True, eq=False, init=False)
class Laplace(Mahalanobis):
    """The multivariate Laplace mechanism: spherical noise, the Mahalanobis mechanism at λ = 0.

    Guarantee: Pr[M(w) = u] ≤ exp(ε·‖φ(w) - φ(w')‖₂)·Pr[M(w') = u], for the same reason.

    Examples
    --------
    >>> from wordveil.embedding import load_embedding
    >>> Laplace(load_embedding(), epsilon=10.0).lam
    0.0
    """

    def __init__(self, embedding: Embedding, epsilon: float, *, device: DeviceName = "cpu") -> None:
        super().__init__(embedding, epsilon, 0.0, device=device)
