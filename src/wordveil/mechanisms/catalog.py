"""The mechanisms by name."""

from typing import Literal

from wordveil.embedding import Embedding
from wordveil.errors import ParameterError
from wordveil.mechanisms.additive import Laplace, Mahalanobis
from wordveil.mechanisms.base import Mechanism
from wordveil.nearest.devices import DeviceName

__all__ = ["MechanismName", "make_mechanism"]

MechanismName = Literal["mahalanobis", "laplace"]


def make_mechanism(
    name: MechanismName,
    embedding: Embedding,
    epsilon: float,
    lam: float | None = None,
    *,
    device: DeviceName = "cpu",
) -> Mechanism:
    """Return the mechanism of that name; `lam` is the Mahalanobis mechanism's, and 1 by default.

    Examples
    --------
    >>> from wordveil.embedding import load_embedding
    >>> make_mechanism("laplace", load_embedding(), 5.0).guarantee.metric.lam
    0.0
    """
    match name:
        case "mahalanobis":
            return Mahalanobis(embedding, epsilon, 1.0 if lam is None else lam, device=device)
        case "laplace":
            if lam:
                raise ParameterError(
                    "The Laplace mechanism has no lam. Hint: the Mahalanobis mechanism does."
                )
            return Laplace(embedding, epsilon, device=device)
        case _:
            raise ParameterError("The name of a mechanism must be 'mahalanobis' or 'laplace'.")
