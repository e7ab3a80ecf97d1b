"""A mechanism of your own: a softened exponential mechanism, Pr[M(w) = u] ∝ exp(-(ε/2)·s·‖φ(w) - φ(u)‖₂)."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

import wordveil as wv


@dataclass(frozen=True, eq=False, repr=False)
class Softened(wv.Mechanism):
    """Answers with word u with probability ∝ exp(-(ε/2)·s·d(w, u)). A sharpness s below 1 adds noise.

    Guarantee: Pr[M(w) = u] ≤ exp(ε·d(w, w'))·Pr[M(w') = u]. Between two input words w and w', each weight
    changes by a factor of at most exp((ε/2)·d(w, w')), and so does the sum of all weights.
    """

    options: ClassVar = (wv.Option("sharpness", float, "s; 0 is uniform", default=1.0, low=0.0, high=1.0),)
    paper: ClassVar = "McSherry and Talwar (2007): Mechanism Design via Differential Privacy"
    embedding: wv.Embedding
    epsilon: float
    sharpness: float = 1.0

    def __post_init__(self) -> None:
        wv.check_epsilon(self.epsilon, "Softened")
        self.options[0].check(self.sharpness, "Softened")

    def parameters(self) -> dict[str, Any]:
        """Return ε and the sharpness."""
        return {"epsilon": self.epsilon, "sharpness": self.sharpness}

    @property
    def guarantee(self) -> wv.MetricGuarantee:
        """What is promised: ε times the Euclidean distance."""
        return wv.MetricGuarantee(self.epsilon, wv.Metric.from_embedding(self.embedding, 0.0), self.embedding)

    def _perturb(self, ids: NDArray[np.int64], stream: wv.Stream) -> NDArray[np.int64]:
        points = np.vstack((self.embedding.vectors, self.embedding.centroid))  # row -1 is the centroid
        rate = -self.epsilon / 2 * self.sharpness
        scores = (rate * cdist(points[[word_id]], points[:-1])[0] for word_id in ids)
        return np.array([(row + stream.gumbels(row.shape)).argmax() for row in scores], dtype=np.int64)


wv.register_mechanism(Softened)
