"""Compiled loops for wordveil. `AVAILABLE` says whether they were built on this machine, and may be used.

The variable WORDVEIL_KERNELS forces other instructions, for tests: "avx512", "avx2" or "portable", if the
processor has them, or "none" for no compiled loops at all.
"""

import os
from typing import Final

__all__ = ["AVAILABLE", "LEVEL"]

try:
    if os.environ.get("WORDVEIL_KERNELS") == "none":
        raise ImportError("The compiled loops are switched off.")
    from wordveil_kernels import _kernels
except ImportError:
    LEVEL = "none"
else:
    LEVEL = _kernels.level()

AVAILABLE: Final = LEVEL != "none"
