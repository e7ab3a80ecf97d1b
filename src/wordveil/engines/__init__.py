"""Where the work is done: threads of this process, or a Spark cluster."""

from wordveil.engines.base import Engine, Perturbed
from wordveil.engines.local import LocalEngine

__all__ = ["Engine", "LocalEngine", "Perturbed"]
