"""Mechanisms as users write them."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

import wordveil as wv
from wordveil.metric import Bracket

__all__ = ["RandomisedResponse", "WithoutGuarantee"]


class WithoutGuarantee(wv.Mechanism):
    """For tests that never ask what is promised."""

    @property
    def guarantee(self) -> wv.Guarantee:
        raise NotImplementedError


class SameExponent(wv.Guarantee):
    """The same exponent for any two words."""

    def __init__(self, embedding: wv.Embedding, exponent: float) -> None:
        self.embedding, self._exponent = embedding, exponent

    def exponents(self, ids: ArrayLike, others: ArrayLike) -> NDArray[np.float64]:
        return np.where(np.asarray(ids) != np.asarray(others), self._exponent, 0.0)

    @property
    def worst_case(self) -> Bracket:
        return Bracket(self._exponent, self._exponent)


@dataclass(frozen=True, eq=False, repr=False)
class RandomisedResponse(wv.Mechanism):
    """Warner (1965): the word itself, or any word; ε is at least `least`."""

    name: ClassVar = "randomised-response"
    embedding: wv.Embedding
    epsilon: float
    least: float = 0.0

    def __post_init__(self) -> None:
        if self.epsilon < self.least:
            raise wv.ParameterError("ε is too small.")

    def parameters(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon}

    @property
    def guarantee(self) -> SameExponent:
        return SameExponent(self.embedding, self.epsilon)

    def _perturb(self, ids: NDArray[np.int64], stream: wv.Stream) -> NDArray[np.int64]:
        size, factor = len(self.embedding), np.exp(self.epsilon)
        stays = (stream.uniforms(ids.shape) < (factor - 1.0) / (factor + size - 1.0)) & (ids >= 0)
        return np.where(stays, ids, stream.integers(size, ids.shape))
