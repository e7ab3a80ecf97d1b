"""What several releases of the same texts promise together."""

import re
from typing import Any, Final

from wordveil.mechanisms.base import MECHANISM_NAME
from wordveil.rounding import at_most

__all__ = ["ReleaseSetting", "in_words", "is_void", "readable", "together"]

ReleaseSetting = dict[str, Any]
"""A release's mechanism, parameters and worst exponent, whether its noise was secure, and unsafe choices."""

_LARGEST: Final = 1e300  # far above any real exponent, and sums of such numbers are still finite
_CHOICE: Final = re.compile("unsafe_[a-z0-9_]+")
_FLAT: Final = ("epsilon", "lam", "dims")  # the only parameters of wordveil 0.1, stored beside the mechanism
_SYMBOLS: Final = {"epsilon": "ε", "lam": "λ"}


def readable(setting: object) -> bool:
    """Return whether a stored value is a setting of this version or of wordveil 0.1."""
    return (
        isinstance(setting, dict)
        and _is_number(setting.get("worst_case_exponent"))
        and isinstance(setting.get("vectors"), str)
        and isinstance(setting.get("unsafe"), list)
        and all(isinstance(name, str) and _CHOICE.fullmatch(name) for name in setting["unsafe"])
        and isinstance(setting.get("secure"), bool | None)
        and isinstance(setting.get("mechanism"), str)
        and MECHANISM_NAME.fullmatch(setting["mechanism"]) is not None
        and (_has_parameters(setting) if "parameters" in setting else _has_numbers(setting))
    )


def _has_parameters(setting: ReleaseSetting) -> bool:
    epsilon, distance = setting.get("epsilon"), setting.get("distance")
    return (
        isinstance(setting["parameters"], dict)
        and (epsilon is None or _is_number(epsilon))
        and (distance is None or isinstance(distance, str))
        and (epsilon is None) == (distance is None)
    )


def _has_numbers(setting: ReleaseSetting) -> bool:
    return all(_is_number(setting.get(name)) for name in _FLAT)


def _is_number(value: object) -> bool:
    return type(value) in (int, float) and 0 <= value <= _LARGEST  # type: ignore[operator]  # it is a number here


def in_words(setting: ReleaseSetting) -> str:
    """Return the mechanism and its parameters in readable form.

    Examples
    --------
    >>> in_words({"mechanism": "laplace", "parameters": {"epsilon": 2.0, "lam": 0.0, "dims": 3}})
    'laplace, ε 2, λ 0, dims 3'
    """
    values = setting.get("parameters", {name: setting[name] for name in _FLAT if name in setting})
    shown = [_shown(name, value) for name, value in values.items() if name != "mechanism"]
    return ", ".join([setting["mechanism"], *shown])


def _shown(name: str, value: object) -> str:
    if name == "block_list":  # its fingerprint is for machines
        return "a block list"
    return f"{_SYMBOLS.get(name, name)} {f'{value:g}' if isinstance(value, float) else value}"


def is_void(setting: ReleaseSetting) -> str:
    """Return why a release promises nothing; empty if it does promise something."""
    if setting["unsafe"]:
        return f"made unsafe choices ({', '.join(setting['unsafe'])})"
    match setting.get("secure"):
        case True:
            return ""
        case False:
            return "drew its noise from a seed"
    return "was made by a version that did not record whether its noise was secure"


def together(now: ReleaseSetting, before: list[ReleaseSetting]) -> str:
    """Return one sentence on what several releases of the same texts promise together.

    Examples
    --------
    >>> first = {"mechanism": "laplace", "parameters": {"epsilon": 2.0, "lam": 0.0}, "epsilon": 2.0,
    ...          "distance": "lam=0 dims=3", "vectors": "f", "worst_case_exponent": 7.26, "secure": True,
    ...          "unsafe": []}
    >>> print(together(first, [first]))
    All releases together promise, for a word, at most exp(14.6) (7.3 + 7.3),
    as one release at ε = 2 + 2 = 4 would.
    >>> together(first | {"secure": False}, [first])
    'All releases together promise nothing: release 2 of 2 drew its noise from a seed.'
    """
    settings = [*before, now]
    for number, setting in enumerate(settings, 1):
        if reason := is_void(setting):
            return f"All releases together promise nothing: release {number} of {len(settings)} {reason}."
    worst = [setting["worst_case_exponent"] for setting in settings]
    promise = (
        f"All releases together promise, for a word, at most exp({at_most(sum(worst))}) "
        f"({' + '.join(map(at_most, worst))})"
    )
    distances = {_distance(setting) for setting in settings}
    if len(distances) == 1 and None not in distances:
        epsilons = [setting["epsilon"] for setting in settings]
        terms = " + ".join(f"{epsilon:g}" for epsilon in epsilons)
        return f"{promise}, as one release at ε = {terms} = {sum(epsilons):g} would."
    return f"{promise}; their exponents add up, each by its own rule."


def _distance(setting: ReleaseSetting) -> tuple[str, str] | None:
    """Return the vectors and the distance that ε multiplies; None if the promise has no such distance."""
    if "parameters" not in setting:
        return setting["vectors"], f"lam={setting['lam']:.17g} dims={setting['dims']}"
    return (setting["vectors"], setting["distance"]) if setting["distance"] is not None else None
