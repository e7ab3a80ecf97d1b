"""The engines that perturb chunks: threads of this process, or a Spark cluster."""

from wordveil.engines.base import Engine, EngineMaker, Perturbed, complete_answers
from wordveil.engines.local import LocalEngine
from wordveil.engines.registry import EngineKind, engine_kinds, engine_maker, register_engine

__all__ = [
    "Engine",
    "EngineKind",
    "EngineMaker",
    "LocalEngine",
    "Perturbed",
    "complete_answers",
    "engine_kinds",
    "engine_maker",
    "register_engine",
]
