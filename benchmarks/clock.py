"""Time and memory of this process. It needs nothing but Python, so scripts of peers can use it too."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple


def seconds(act: Callable[[], object]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


class Seconds(NamedTuple):
    """How long a call takes, and how long all threads of this process were computing meanwhile."""

    wall: float
    processor: float


def both_clocks(act: Callable[[], object]) -> Seconds:
    """Return the wall time and the processor time of a call."""
    processor, wall = time.process_time(), time.perf_counter()
    act()
    return Seconds(time.perf_counter() - wall, time.process_time() - processor)


def memory(kind: str) -> int:
    """Return a field of the process's status in bytes, such as VmRSS (now) or VmHWM (peak).

    Linux keeps ru_maxrss of the parent across fork and exec; this counts the process alone.
    """
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith(kind)) * 1024
