"""The compiled loops of the package wordveil-kernels, if this machine has them. Does not import NumPy."""

import os
import warnings
from typing import Any, Final

from wordveil.errors import MachineError

__all__ = ["has_codes", "kernels", "level"]

_LEVELS: Final = ("avx512", "avx2", "portable", "none")
_LAYOUT: Final = (
    1  # of the tables that the loops are called with: other loops would read them as something else
)

kernels: Any = None
level = "none"

if os.environ.get("WORDVEIL_KERNELS") not in (None, "", *_LEVELS):
    raise MachineError(f"The variable WORDVEIL_KERNELS must be one of {', '.join(_LEVELS)}.")

try:
    import wordveil_kernels
except ImportError:
    pass
else:
    if wordveil_kernels.AVAILABLE:
        from wordveil_kernels import _kernels

        if getattr(_kernels, "LAYOUT", None) == _LAYOUT:
            kernels, level = _kernels, _kernels.level()
        else:
            warnings.warn(
                "The installed wordveil-kernels is of another version, so the search runs without compiled "
                "loops. Hint: install both again.",
                RuntimeWarning,
                stacklevel=2,
            )


def has_codes() -> bool:
    """Return whether there are fast products of small integers: with AVX2 or AVX-512.

    Examples
    --------
    >>> has_codes() in (True, False)
    True
    """
    return level in ("avx2", "avx512")
