"""The compiled loops of the package wordveil-kernels, if this machine has them."""

from typing import Any

__all__ = ["has_codes", "kernels", "level"]

kernels: Any = None
level = "none"

try:
    import wordveil_kernels
except ImportError:
    pass
else:
    level = wordveil_kernels.LEVEL
    if wordveil_kernels.AVAILABLE:
        from wordveil_kernels import _kernels as kernels


def has_codes() -> bool:
    """Return whether there are fast products of small integers: with AVX2 or AVX-512.

    Examples
    --------
    >>> has_codes() in (True, False)
    True
    """
    return level in ("avx2", "avx512")
