"""The entry point of the command `wordveil`: tiny, so Ctrl-C is handled while everything else loads."""

import os
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any

__all__ = ["main"]

_INTERRUPTED = 130
# A second Ctrl-C within this time is ignored: it would interrupt the cleaning up. A later one counts, since
# the first may have been lost. Longer protects slow cleaning up; shorter lets people repeat a lost Ctrl-C.
_AGAIN_SECONDS = 5.0


def main() -> int:
    """Load the command line and run it."""
    _fill_standard_files()
    sys.unraisablehook = _quiet_about_stops(sys.unraisablehook)
    pressed: list[float] = []

    def stop(*_: int | FrameType | None) -> None:
        now = time.monotonic()
        if not pressed or now - pressed[-1] > _AGAIN_SECONDS:
            pressed.append(now)
            raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # unless the caller ignores Ctrl-C
        signal.signal(signal.SIGINT, stop)
    try:
        from wordveil.cli.main import main as run

        code = run(interrupted=lambda: bool(pressed))
    except KeyboardInterrupt:
        code = _INTERRUPTED
        _report_stop()
    finally:
        # Only the interpreter's shutdown is left, where Ctrl-C would just print a traceback.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return code


def _quiet_about_stops(report: Callable[[Any], object]) -> Callable[[Any], None]:
    """Return a hook that reports what can't be raised, but not Ctrl-C in a finalizer: it has been counted."""

    def hook(unraisable: Any) -> None:
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            report(unraisable)

    return hook


def _fill_standard_files() -> None:
    """Open /dev/null in place of a closed standard input, output or error.

    Otherwise the next file that is opened would get that number, and whatever a library prints there.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDONLY if number == 0 else os.O_WRONLY), True)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)


def _report_stop() -> None:
    with suppress(OSError, ValueError):  # standard error may be closed
        sys.stderr.write("wordveil: stopped.\n")
        sys.stderr.flush()
