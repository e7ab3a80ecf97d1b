"""A mechanism of one's own: the exponential mechanism, Pr[u | w] ∝ exp(-(ε/2)·‖φ(w) - φ(u)‖₂)."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

import wordveil as wv
from wordveil.noise import check_epsilon


@dataclass(frozen=True, eq=False, repr=False)
class Exponential(wv.Mechanism):
    """Draws each word u with a weight of exp(-(ε/2)·s·d(w, u)); s, the sharpness, can only weaken it.

    Guarantee: Pr[M(w) = u] ≤ exp(ε·d(w, w'))·Pr[M(w') = u]. Each weight changes by at most
    exp((ε/2)·d(w, w')), and so does their sum.
    """

    name: ClassVar = "exponential"
    options: ClassVar = (wv.Option("sharpness", float, "s, in (0, 1]", default=1.0, low=1e-6, high=1.0),)

    embedding: wv.Embedding
    epsilon: float
    sharpness: float = 1.0

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon, "Exponential")
        self.options[0].check(self.sharpness, "Exponential")

    def parameters(self) -> dict[str, Any]:
        """Return ε and the sharpness."""
        return {"epsilon": self.epsilon, "sharpness": self.sharpness}

    @property
    def guarantee(self) -> wv.MetricGuarantee:
        """What is promised: ε times the Euclidean distance."""
        return wv.MetricGuarantee(self.epsilon, wv.Metric.from_embedding(self.embedding, 0.0), self.embedding)

    def _perturb(self, ids: NDArray[np.int64], stream: wv.Stream) -> NDArray[np.int64]:
        points = np.vstack((self.embedding.vectors, self.embedding.centroid))  # row -1 is the centroid
        answers = np.empty_like(ids)
        for start in range(0, len(ids), 64):
            scores = cdist(points[ids[start : start + 64]], points[:-1]) * (
                -self.epsilon * self.sharpness / 2.0
            )
            answers[start : start + 64] = (scores + stream.gumbels(scores.shape)).argmax(axis=1)
        return answers
