"""The engines by name. To add one, write an `Engine` and call `register_engine`."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from wordveil.engines.base import EngineMaker
from wordveil.engines.local import LocalEngine, checked_workers
from wordveil.errors import ParameterError

__all__ = ["EngineKind", "engine_kinds", "engine_maker", "register_engine"]


@dataclass(frozen=True, slots=True)
class EngineKind:
    """An engine that can be chosen by its name.

    Attributes
    ----------
    name : str
        The name, as in `--engine NAME`.
    help : str
        A short description.
    make : callable
        Takes the options in `takes` as keyword arguments, and returns an `EngineMaker`.
    takes : frozenset of str
        Which of the options "workers" and "master" it has.
    """

    name: str
    help: str
    make: Callable[..., EngineMaker]
    takes: frozenset[str] = frozenset()


_kinds: Final[dict[str, EngineKind]] = {}


def register_engine(kind: EngineKind) -> None:
    """Register an engine under its name; it replaces any other engine of that name."""
    _kinds[kind.name] = kind


def engine_kinds() -> dict[str, EngineKind]:
    """Return all engines by name.

    Examples
    --------
    >>> list(engine_kinds())
    ['local', 'spark']
    """
    return dict(_kinds)


def engine_maker(name: str, *, workers: int | None = None, master: str | None = None) -> EngineMaker:
    """Return the maker of the engine of that name; an option that it does not have is refused.

    Examples
    --------
    >>> callable(engine_maker("local", workers=2))
    True
    """
    if name not in _kinds:
        error = ParameterError(f"The engine must be one of {', '.join(_kinds)}.")
        error.parameter, error.complaint = "engine", f"must be one of {', '.join(_kinds)}."
        raise error
    kind = _kinds[name]
    options = {"workers": workers, "master": master}
    for option, value in options.items():
        if value is not None and option not in kind.takes:
            others = [other.name for other in _kinds.values() if option in other.takes]
            raise ParameterError(
                f"--{option} is not for --engine {name}. Hint: --engine {' or '.join(others)} takes it."
            )
    return kind.make(**{option: options[option] for option in kind.takes})


def _local(workers: int | None = None) -> EngineMaker:
    checked_workers(workers)
    return lambda perturber, key: LocalEngine(perturber, key, workers)


def _spark(master: str | None = None) -> EngineMaker:
    from wordveil.engines.spark import spark_engine  # a heavy import that may not be installed

    return spark_engine(master)


register_engine(EngineKind("local", "threads of this machine", _local, frozenset({"workers"})))
register_engine(EngineKind("spark", "a Spark cluster", _spark, frozenset({"master"})))
