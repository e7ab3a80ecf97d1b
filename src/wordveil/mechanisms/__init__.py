"""The mechanisms: each takes a word of the public vocabulary to another, at random."""

from wordveil.mechanisms.additive import Laplace, Mahalanobis
from wordveil.mechanisms.base import Mechanism
from wordveil.mechanisms.channel import Channel
from wordveil.mechanisms.clustered import Clustered
from wordveil.mechanisms.custext import CusText
from wordveil.mechanisms.exponential import Exponential
from wordveil.mechanisms.options import REQUIRED, Option
from wordveil.mechanisms.registry import make_mechanism, mechanism_class, mechanism_names, register_mechanism
from wordveil.mechanisms.truncated import TruncatedExponential
from wordveil.mechanisms.vickrey import Vickrey

__all__ = [
    "REQUIRED",
    "Channel",
    "Clustered",
    "CusText",
    "Exponential",
    "Laplace",
    "Mahalanobis",
    "Mechanism",
    "Option",
    "TruncatedExponential",
    "Vickrey",
    "make_mechanism",
    "mechanism_class",
    "mechanism_names",
    "register_mechanism",
]
