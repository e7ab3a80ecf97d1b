"""The mechanisms: each takes a word of the public vocabulary to another, at random."""

from wordveil.mechanisms.additive import Laplace, Mahalanobis
from wordveil.mechanisms.base import Mechanism

__all__ = ["Laplace", "Mahalanobis", "Mechanism"]
