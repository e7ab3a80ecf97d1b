"""Time and memory of this process. It needs nothing but Python, so scripts of peers can use it too."""

import time
from collections.abc import Callable
from pathlib import Path


def seconds(act: Callable[[], object]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def memory(kind: str) -> int:
    """Return a field of the process's status in bytes, such as VmRSS (now) or VmHWM (peak).

    Linux keeps ru_maxrss of the parent across fork and exec; this counts the process alone.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(kind)) * 1024
