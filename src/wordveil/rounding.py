"""Numbers for readers: an upper bound is rounded up, a lower bound down."""

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Final

from wordveil.intervals import Share

__all__ = [
    "at_least",
    "at_most",
    "factor",
    "has_limit",
    "odds_limit",
    "percent",
    "percent_range",
    "significant_above",
    "significant_below",
    "strength",
]


_NO_PROTECTION: Final = math.log(10.0) * 300.0  # odds of 10^300 to 1: a number that nobody reads
# An exponent of 1e200 stands for "nothing is promised". So do multiples of it, and a quantile that is
# interpolated between it and an exponent that is promised, by a weight as small as a rounding error.
_UNCOVERED: Final = 1e150
_STRONG: Final = 1.1  # odds of 3 to 1: a convention of ours, as is the next
_MODERATE: Final = 5.0  # odds of 150 to 1


def at_most(number: float, digits: int = 1) -> str:
    """Return the number rounded up.

    Examples
    --------
    >>> at_most(142.726), at_most(1234.01, 0), at_most(1.0014, 2), at_most(2.5), at_most(5e199)
    ('142.8', '1,235', '1.01', '2.5', '∞')
    """
    return _rounded(number, digits, ROUND_CEILING)


def at_least(number: float, digits: int = 1) -> str:
    """Return the number rounded down.

    Examples
    --------
    >>> at_least(142.79), at_least(0.19, 1)
    ('142.7', '0.1')
    """
    return _rounded(number, digits, ROUND_FLOOR)


def _rounded(number: float, digits: int, direction: str) -> str:
    if number >= _UNCOVERED:
        return "∞"
    if not math.isfinite(number):
        return str(number)
    # The largest float has 309 digits, and a context with fewer would refuse it.
    exact = Decimal(number).quantize(Decimal(1).scaleb(-digits), direction, Context(prec=400))
    return f"{exact:,}"


def significant_above(number: float) -> str:
    """Return the number rounded up to three significant digits."""
    return _significant(number, ROUND_CEILING)


def significant_below(number: float) -> str:
    """Return the number rounded down to three significant digits."""
    return _significant(number, ROUND_FLOOR)


def _significant(number: float, direction: str) -> str:
    return f"{float(Context(prec=3, rounding=direction).create_decimal_from_float(number)):g}"


def factor(exponent: float) -> str:
    """Return exp(exponent) in readable form, rounded up.

    Examples
    --------
    >>> factor(0.5), factor(3.0), factor(41.0), factor(1e9)
    ('1.7', '21', '10^17.9', 'no protection')
    """
    if exponent < math.log(100.0):
        value = math.exp(exponent)
        return at_most(value, 1 if value < 10.0 else 0)
    if exponent < math.log(1e6):
        return at_most(math.exp(exponent), 0)
    return f"10^{at_most(exponent / math.log(10.0))}" if has_limit(exponent) else "no protection"


def has_limit(exponent: float) -> bool:
    """Say whether exp(exponent) is a limit that means anything."""
    return exponent < _NO_PROTECTION


def odds_limit(exponent: float) -> str:
    """Return by how much odds can change, as the end of a sentence.

    Examples
    --------
    >>> odds_limit(3.0), odds_limit(41.0)
    ('by a factor of 21 at most', 'by a factor of over a million: taken alone, no protection')
    >>> odds_limit(1e200)
    'without any limit'
    """
    if exponent >= _UNCOVERED:
        return "without any limit"
    if exponent < math.log(1e6):
        return f"by a factor of {factor(exponent)} at most"
    return "by a factor of over a million: taken alone, no protection"


def strength(exponent: float) -> str:
    """Return what an exponent between close words is worth, as a sentence.

    Examples
    --------
    >>> strength(0.7)
    'That is strong: close words are hard to tell apart.'
    """
    if exponent <= _STRONG:
        return "That is strong: close words are hard to tell apart."
    if exponent <= _MODERATE:
        return "That is moderate: close words are hard to tell apart, distant ones are not."
    return (
        "On its own, that is too weak to rely on: the word may be recognised. A smaller ε promises more. How "
        "often a guess is right can be measured (wordveil explain), but is not promised."
    )


def percent(share: float, *, down: bool = False) -> str:
    """Return a share in percent with one digit: rounded to nearest, or down for a lower bound.

    Examples
    --------
    >>> percent(0.3125), percent(0.4399, down=True), percent(0.0004)
    ('31.2%', '43.9%', '0.04%')
    """
    if down:
        return f"{at_least(100.0 * share)}%"
    return f"{100.0 * share:.1f}%" if share >= 0.001 or share == 0.0 else f"{100.0 * share:.1g}%"


def percent_range(share: Share) -> str:
    """Return the interval of a share in percent: its lower end rounded down, its upper end up.

    Examples
    --------
    >>> percent_range(Share(0.3, 0.2799, 0.3211))
    '27.9% to 32.2%'
    """
    return f"{at_least(100.0 * share.low)}% to {at_most(100.0 * share.high)}%"
