"""The mechanisms: each takes a word of the public vocabulary to another, at random."""

from wordveil.mechanisms.additive import Laplace, Mahalanobis
from wordveil.mechanisms.base import Mechanism
from wordveil.mechanisms.channel import Channel
from wordveil.mechanisms.options import REQUIRED, Option
from wordveil.mechanisms.registry import make_mechanism, mechanism_class, mechanism_names, register_mechanism

__all__ = [
    "REQUIRED",
    "Channel",
    "Laplace",
    "Mahalanobis",
    "Mechanism",
    "Option",
    "make_mechanism",
    "mechanism_class",
    "mechanism_names",
    "register_mechanism",
]
