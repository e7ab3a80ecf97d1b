"""The entry point of the command `wordveil`: small, so Ctrl-C is handled while everything else loads."""

import os
import signal
import sys
import time
from contextlib import suppress
from types import FrameType

__all__ = ["main"]

_INTERRUPTED = 130  # the convention of shells: 128 plus the number of SIGINT
# Longer than cleaning up takes; shorter than a person waits before concluding that the first Ctrl-C was lost.
_AGAIN_SECONDS = 5.0


def main() -> int:
    """Load the command line and run it."""
    _replace_closed_standard_files()
    pressed: list[float] = []

    def stop(*_: int | FrameType | None) -> None:
        now = time.monotonic()
        # A second Ctrl-C shortly after the first would interrupt the cleanup; a later one is a new request.
        if not pressed or now - pressed[-1] > _AGAIN_SECONDS:
            pressed.append(now)
            raise KeyboardInterrupt

    if (
        signal.getsignal(signal.SIGINT) is signal.default_int_handler
    ):  # otherwise the caller chose to ignore Ctrl-C
        signal.signal(signal.SIGINT, stop)
    try:
        from wordveil.cli.main import main as run

        code = run(interrupted=lambda: bool(pressed))
    except KeyboardInterrupt:
        code = _INTERRUPTED
        _say_stopped()
    finally:
        # While the interpreter shuts down, Ctrl-C would only print a traceback.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return code


def _replace_closed_standard_files() -> None:
    """Open the null device in place of a closed standard input, output or error.

    Otherwise the next file to be opened would get that number, and whatever a library writes there.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDONLY if number == 0 else os.O_WRONLY), True)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)


def _say_stopped() -> None:
    with suppress(OSError, ValueError):  # standard error may be closed
        sys.stderr.write("wordveil: stopped.\n")
        sys.stderr.flush()
