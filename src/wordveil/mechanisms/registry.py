"""The mechanisms by name: those of wordveil, and those of other packages.

A package registers a class through the entry point `wordveil.mechanisms`:

    [project.entry-points."wordveil.mechanisms"]
    softened = "my_package:Softened"

The class is imported when its name is first used.
"""

import difflib
import inspect
import threading
import traceback
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Final

from wordveil.block_list import BlockList
from wordveil.embedding import Embedding
from wordveil.errors import MachineError, ParameterError, UnknownNameError
from wordveil.mechanisms.additive import Laplace, Mahalanobis
from wordveil.mechanisms.base import Mechanism
from wordveil.mechanisms.clustered import Clustered
from wordveil.mechanisms.custext import CusText
from wordveil.mechanisms.exponential import Exponential
from wordveil.mechanisms.options import REQUIRED, Option
from wordveil.mechanisms.truncated import TruncatedExponential
from wordveil.mechanisms.vickrey import Vickrey
from wordveil.nearest.devices import DeviceName
from wordveil.noise import check_epsilon

__all__ = [
    "checked_options",
    "foreign_mechanism",
    "make_mechanism",
    "mechanism_class",
    "mechanism_names",
    "needed_options",
    "parsed_options",
    "register_mechanism",
]

_GROUP: Final = "wordveil.mechanisms"
_FAMILY: Final[tuple[type[Mechanism], ...]] = (
    Mahalanobis,
    Laplace,
    Clustered,
    Vickrey,
    Exponential,
    TruncatedExponential,
    CusText,
)
# Other arguments of mechanisms and of `make_mechanism`, and keys that are added to parameters.
_RESERVED: Final = frozenset(
    {"name", "device", "blocked", "embedding", "epsilon", "block_list", "mechanism", "dims"}
)
_registered: dict[str, type[Mechanism]] = {mechanism.registered_name(): mechanism for mechanism in _FAMILY}
_lock = threading.Lock()


def register_mechanism(mechanism: type[Mechanism]) -> type[Mechanism]:
    """Register a class under its name, for this process; also works as a decorator.

    Examples
    --------
    >>> register_mechanism(Mahalanobis) is Mahalanobis
    True
    """
    if not (isinstance(mechanism, type) and issubclass(mechanism, Mechanism)):
        raise ParameterError("Only a subclass of wv.Mechanism can be registered.")
    name = mechanism.registered_name()
    if not all(isinstance(option, Option) for option in mechanism.options):
        raise ParameterError(f"The options of the mechanism '{name}' must be a tuple of wv.Option.")
    names = [option.name for option in mechanism.options]
    if len(set(names)) < len(names):
        raise ParameterError(f"The options of the mechanism '{name}' must have different names.")
    if reserved := _RESERVED.intersection(names):
        raise ParameterError(f"An option of a mechanism must not be called '{min(reserved)}'.")
    if mechanism.make.__func__ is Mechanism.make.__func__:  # type: ignore[attr-defined]  # both are class methods
        _check_arguments(mechanism, name, names)
    with _lock:
        registered = _registered.setdefault(name, mechanism)
    if registered is not mechanism:
        raise ParameterError(f"There is already a mechanism '{name}', in {registered.__module__}.")
    return mechanism


def _check_arguments(mechanism: type[Mechanism], name: str, options: list[str]) -> None:
    """Refuse a class that does not take the arguments which it would get."""
    device = ["device"] if mechanism.takes_device else []
    try:
        inspect.signature(mechanism).bind(None, 1.0, **dict.fromkeys([*options, *device]))
    except TypeError:
        arguments = ", ".join(["embedding", "epsilon", *(f"{option}=…" for option in [*options, *device])])
        raise ParameterError(f"The class of the mechanism '{name}' must take ({arguments}).") from None


def mechanism_names() -> list[str]:
    """Return the names of all mechanisms, including those of other packages.

    Examples
    --------
    >>> mechanism_names()[:2]
    ['mahalanobis', 'laplace']
    """
    others = {point.name for point in entry_points(group=_GROUP)} - _registered.keys()
    return [*_registered, *sorted(others)]


def mechanism_class(name: str) -> type[Mechanism]:
    """Return the class of the mechanism of that name.

    Examples
    --------
    >>> mechanism_class("laplace").__name__
    'Laplace'
    """
    registered = _registered.get(name)
    if registered in _FAMILY:
        return registered
    points = _points(str(name))  # also where the module of one of them has registered its class already
    if registered is not None:
        return registered
    if points:
        return register_mechanism(_loaded(points[0]))
    names = mechanism_names()
    close = difflib.get_close_matches(str(name), names, 1)
    hint = f"did you mean '{close[0]}'?" if close else f"there are {', '.join(names)}."
    raise UnknownNameError(f"There is no mechanism of that name. Hint: {hint}")


def _points(name: str) -> list[EntryPoint]:
    """Return the entry point of that name, if there is one; refuse several."""
    points = {(_package_of(point), point.value): point for point in entry_points(group=_GROUP, name=name)}
    if len(points) > 1:
        packages = ", ".join(sorted({package for package, _ in points}))
        raise MachineError(
            f"Several packages have a mechanism '{name}': {packages}. Hint: uninstall all but one of them."
        )
    return list(points.values())


def _package_of(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.module


def _loaded(point: EntryPoint) -> type[Mechanism]:
    package = _package_of(point)
    try:
        loaded = point.load()
    except (Exception, SystemExit) as error:  # code of another package can raise anything
        raise MachineError(
            f"The mechanism '{point.name}' of the package {package} can't be imported "
            f"({type(error).__name__}). Hint: install a compatible version of it."
        ) from None
    if (
        not (isinstance(loaded, type) and issubclass(loaded, Mechanism))
        or loaded.registered_name() != point.name
    ):
        raise MachineError(
            f"The entry point '{point.name}' of the package {package} is not a mechanism of that name. "
            "Hint: it must name a subclass of wv.Mechanism whose 'name' is the same."
        )
    return loaded


def foreign_mechanism(error: BaseException) -> str:
    """Return the name of the mechanism of another package whose code an exception went through, or ""."""
    modules = {frame.f_globals.get("__name__") for frame, _ in traceback.walk_tb(error.__traceback__)}
    names = [
        name
        for name, mechanism in _registered.items()
        if mechanism not in _FAMILY and mechanism.__module__ in modules
    ]
    return names[-1] if names else ""


def make_mechanism(
    name: str,
    embedding: Embedding,
    epsilon: float,
    *,
    device: DeviceName = "cpu",
    blocked: BlockList | None = None,
    **options: Any,
) -> Mechanism:
    """Return the mechanism of that name, with its options as keyword arguments.

    With `blocked`, it never answers a word of that list.

    Examples
    --------
    >>> from wordveil.embedding import load_embedding
    >>> make_mechanism("mahalanobis", load_embedding(), 5.0, lam=0.5).parameters()
    {'epsilon': 5.0, 'lam': 0.5, 'answer': 'nearest'}
    """
    mechanism = mechanism_class(name)
    epsilon = check_epsilon(epsilon, mechanism.__name__)
    unblocked = mechanism.make(embedding, epsilon, checked_options(mechanism, options), device)
    if missing := {option.name for option in mechanism.options} - unblocked.parameters().keys():
        raise ParameterError(
            f"{mechanism.__name__}.parameters() must have every option: '{min(missing)}' is missing, so a "
            "stopped run could be resumed with another value of it."
        )
    return unblocked if blocked is None else unblocked.blocking(blocked)


def needed_options(name: str) -> list[str]:
    """Return the unsafe options that the mechanism of that name can't be made without.

    Examples
    --------
    >>> needed_options("custext"), needed_options("laplace")
    (['unsafe_no_uniform_guarantee'], [])
    """
    return [option.name for option in mechanism_class(name).options if option.needed]


def checked_options(mechanism: type[Mechanism], options: Mapping[str, Any]) -> dict[str, Any]:
    """Return a checked value for every option of a mechanism, with defaults for those not in `options`."""
    name = mechanism.registered_name()
    for option_name in options:
        _option_of(mechanism, option_name)
    values = {}
    for option in mechanism.options:
        if option.name in options:
            values[option.name] = option.check(options[option.name], mechanism.__name__)
        elif option.default is REQUIRED:
            raise ParameterError(
                f"The mechanism '{name}' needs the option '{option.name}': {option.help}. "
                f"Hint: {option.name}=…, or --option {option.name}=… on the command line."
            )
        else:
            values[option.name] = option.default
    return values


def parsed_options(mechanism: type[Mechanism], texts: Mapping[str, str]) -> dict[str, Any]:
    """Return the values of options from the command line."""
    return {name: _option_of(mechanism, name).parse(text, mechanism.__name__) for name, text in texts.items()}


def _option_of(mechanism: type[Mechanism], name: str) -> Option:
    for option in mechanism.options:
        if option.name == name:
            return option
    names = [option.name for option in mechanism.options]
    close = difflib.get_close_matches(name, names, 1)
    hint = f"did you mean '{close[0]}'?" if close else f"it has {', '.join(names) or 'none'}."
    raise ParameterError(
        f"The mechanism '{mechanism.registered_name()}' has no option '{name}'. Hint: {hint}"
    )
