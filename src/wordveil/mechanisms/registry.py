"""The mechanisms by name: those of wordveil, and those that other packages bring along.

A package registers a class by the entry point `wordveil.mechanisms`:

    [project.entry-points."wordveil.mechanisms"]
    exponential = "my_package:Exponential"

It is imported when somebody asks for its name, or for the list of all.
"""

import difflib
import threading
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from wordveil.embedding import Embedding
from wordveil.errors import MachineError, ParameterError, UnknownNameError
from wordveil.mechanisms.additive import Laplace, Mahalanobis
from wordveil.mechanisms.base import Mechanism
from wordveil.mechanisms.options import REQUIRED, Option
from wordveil.nearest.devices import DeviceName

__all__ = [
    "checked_options",
    "make_mechanism",
    "mechanism_class",
    "mechanism_names",
    "parsed_options",
    "register_mechanism",
]

_GROUP: Final = "wordveil.mechanisms"
_registered: dict[str, type[Mechanism]] = {"mahalanobis": Mahalanobis, "laplace": Laplace}
_lock = threading.Lock()


def register_mechanism(mechanism: type[Mechanism]) -> type[Mechanism]:
    """Register a class under its name, for this process; can be used as a decorator.

    Examples
    --------
    >>> register_mechanism(Mahalanobis) is Mahalanobis
    True
    """
    if not (isinstance(mechanism, type) and issubclass(mechanism, Mechanism)):
        raise ParameterError("Only a subclass of wv.Mechanism can be registered.")
    name = mechanism.called()
    if not name.replace("-", "").replace("_", "").isalnum() or not name.isascii() or name != name.lower():
        raise ParameterError("The name of a mechanism must be made of lower-case letters, digits, - and _.")
    with _lock:
        known = _registered.setdefault(name, mechanism)
    if known is not mechanism:
        raise ParameterError(f"There is already a mechanism called '{name}', {known.__module__}'s.")
    return mechanism


def mechanism_names() -> list[str]:
    """Return the names of all mechanisms, also of those that other packages bring along.

    Examples
    --------
    >>> mechanism_names()[:2]
    ['mahalanobis', 'laplace']
    """
    others = sorted(point.name for point in entry_points(group=_GROUP) if point.name not in _registered)
    return [*_registered, *others]


def mechanism_class(name: str) -> type[Mechanism]:
    """Return the class of the mechanism of that name.

    Examples
    --------
    >>> mechanism_class("laplace").__name__
    'Laplace'
    """
    if name in _registered:
        return _registered[name]
    for point in entry_points(group=_GROUP):
        if point.name == name:
            return register_mechanism(_loaded(point))
    known = mechanism_names()
    close = difflib.get_close_matches(str(name), known, 1)
    hint = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(known)}."
    raise UnknownNameError(f"There is no mechanism of that name. Hint: {hint}")


def _loaded(point: EntryPoint) -> type[Mechanism]:
    package = point.dist.name if point.dist is not None else point.module
    try:
        loaded = point.load()
    except Exception as error:  # whatever the code of somebody else raises
        raise MachineError(
            f"The mechanism '{point.name}' of the package {package} can't be imported "
            f"({type(error).__name__}). Hint: install a version of it that fits."
        ) from None
    if not (isinstance(loaded, type) and issubclass(loaded, Mechanism)) or loaded.called() != point.name:
        raise MachineError(
            f"The entry point '{point.name}' of the package {package} is no mechanism of that name. "
            "Hint: it must name a subclass of wv.Mechanism whose 'name' is the same."
        )
    return loaded


def make_mechanism(
    name: str, embedding: Embedding, epsilon: float, *, device: DeviceName = "cpu", **options: Any
) -> Mechanism:
    """Return the mechanism of that name; what can be chosen depends on it.

    Examples
    --------
    >>> from wordveil.embedding import load_embedding
    >>> make_mechanism("mahalanobis", load_embedding(), 5.0, lam=0.5).parameters()
    {'epsilon': 5.0, 'lam': 0.5}
    """
    chosen = mechanism_class(name)
    return chosen.make(embedding, epsilon, checked_options(chosen, options), device)


def checked_options(mechanism: type[Mechanism], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return a value for every option of a mechanism: the given ones, and defaults for the rest."""
    name = mechanism.called()
    for given in options:
        _option_of(mechanism, given)
    values = {}
    for option in mechanism.options:
        if option.name in options:
            values[option.name] = option.check(options[option.name], mechanism.__name__)
        elif option.default is REQUIRED:
            raise ParameterError(
                f"The mechanism '{name}' needs the option '{option.name}': {option.help}. "
                f"Hint: --option {option.name}=…."
            )
        else:
            values[option.name] = option.default
    return values


def parsed_options(mechanism: type[Mechanism], written: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of options as they stand on a command line."""
    return {
        name: _option_of(mechanism, name).parse(text, mechanism.__name__) for name, text in written.items()
    }


def _option_of(mechanism: type[Mechanism], name: str) -> Option:
    for option in mechanism.options:
        if option.name == name:
            return option
    known = [option.name for option in mechanism.options]
    close = difflib.get_close_matches(name, known, 1)
    hint = f"did you mean '{close[0]}'?" if close else f"it has {', '.join(known) or 'none'}."
    raise ParameterError(f"The mechanism '{mechanism.called()}' has no option '{name}'. Hint: {hint}")
