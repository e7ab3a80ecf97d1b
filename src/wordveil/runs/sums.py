"""What several releases of the same texts promise together, if they promise anything."""

import re
from typing import Any, Final

from wordveil.guarantee import at_most

__all__ = ["Setting", "is_void", "readable", "together"]

Setting = dict[str, Any]
"""What a release was made with: mechanism, parameters, worst exponent, and whether it was secure and safe."""

_LARGEST: Final = 1e300  # far beyond any real one, and sums of them are still numbers
_CHOICE: Final = re.compile("unsafe_[a-z_]+")
_NUMBERS: Final = ("epsilon", "lam", "dims", "worst_case_exponent")


def readable(setting: object) -> bool:
    """Tell whether something that was stored is a setting, of this version or of wordveil 0.1."""
    return (
        isinstance(setting, dict)
        and all(
            type(setting.get(name)) in (int, float) and 0 <= setting[name] <= _LARGEST for name in _NUMBERS
        )
        and isinstance(setting.get("vectors"), str)
        and isinstance(setting.get("unsafe"), list)
        and all(isinstance(name, str) and _CHOICE.fullmatch(name) for name in setting["unsafe"])
        and isinstance(setting.get("secure"), bool | None)
    )


def is_void(setting: Setting) -> str:
    """Return why a release promises nothing that could be added up; empty if it promises something."""
    if setting["unsafe"]:
        return f"made unsafe choices ({', '.join(setting['unsafe'])})"
    match setting.get("secure"):
        case True:
            return ""
        case False:
            return "drew its noise from a seed"
    return "was made by a version that did not note whether its noise was secure"


def together(now: Setting, before: list[Setting]) -> str:
    """Return, in a sentence, what several releases of the same texts promise together.

    Examples
    --------
    >>> first = {"epsilon": 2.0, "lam": 0.0, "dims": 3, "vectors": "f", "worst_case_exponent": 7.26,
    ...          "secure": True, "unsafe": []}
    >>> print(together(first, [first]))
    All releases together promise, for a word, at most exp(14.6) (7.3 + 7.3),
    as one release at ε = 2 + 2 = 4 would.
    >>> together(first | {"secure": False}, [first])
    'All releases together promise nothing: release 2 of 2 drew its noise from a seed.'
    """
    settings = [*before, now]
    for number, setting in enumerate(settings, 1):
        if why := is_void(setting):
            return f"All releases together promise nothing: release {number} of {len(settings)} {why}."
    worst = [setting["worst_case_exponent"] for setting in settings]
    promise = (
        f"All releases together promise, for a word, at most exp({at_most(sum(worst))}) "
        f"({' + '.join(at_most(each) for each in worst)})"
    )
    metrics = {(setting["vectors"], setting["lam"], setting["dims"]) for setting in settings}
    if len(metrics) == 1:
        epsilons = [setting["epsilon"] for setting in settings]
        sums = " + ".join(f"{each:g}" for each in epsilons)
        return f"{promise}, as one release at ε = {sums} = {sum(epsilons):g} would."
    return f"{promise}; their exponents ε·d add up, each in its own metric."
