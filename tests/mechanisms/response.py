"""A mechanism whose promise is no distance."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import wordveil as wv
from wordveil.metric import Bracket

__all__ = ["Response", "ResponseGuarantee"]


@dataclass(frozen=True, eq=False, repr=False)
class Response(wv.Mechanism):
    """Randomised response: another kind of promise, which is no distance."""

    embedding: wv.Embedding
    epsilon: float
    extra: tuple[tuple[str, Any], ...] = ()
    worst: float | None = None

    def parameters(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon, **dict(self.extra)}

    @property
    def guarantee(self) -> "ResponseGuarantee":
        return ResponseGuarantee(self.embedding, self.epsilon, self.worst)

    def _perturb(self, ids: NDArray[np.int64], stream: wv.Stream) -> NDArray[np.int64]:
        stays = stream.uniforms(ids.shape) < 1.0 - len(self.embedding) / (
            len(self.embedding) - 1 + np.exp(self.epsilon)
        )
        return np.where(stays & (ids >= 0), ids, stream.integers(len(self.embedding), ids.shape))


@dataclass(frozen=True, eq=False)
class ResponseGuarantee(wv.Guarantee):
    embedding: wv.Embedding
    epsilon: float
    worst: float | None = None

    def exponents(self, ids: ArrayLike, others: ArrayLike) -> NDArray[np.float64]:
        return np.where(np.asarray(ids) != np.asarray(others), self.epsilon, 0.0)

    @property
    def worst_case(self) -> Bracket:
        worst = self.epsilon if self.worst is None else self.worst
        return Bracket(worst, worst)
