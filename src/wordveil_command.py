"""The entry of the command `wordveil`: so small that Ctrl-C is heard while all else is loading."""

import os
import signal
import sys
import time
from contextlib import suppress
from types import FrameType

__all__ = ["main"]

_INTERRUPTED = 130
_AGAIN_SECONDS = 5.0


def main() -> int:
    """Load the command line and run it."""
    _fill_standard_files()
    pressed: list[float] = []

    def stop(*_: int | FrameType | None) -> None:
        now = time.monotonic()
        # Pressed again at once, it would interrupt the cleaning up; later, the first was not heard.
        if not pressed or now - pressed[-1] > _AGAIN_SECONDS:
            pressed.append(now)
            raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else somebody chose to ignore Ctrl-C
        signal.signal(signal.SIGINT, stop)
    try:
        from wordveil.cli.main import main as run

        code = run(interrupted=lambda: bool(pressed))
    except KeyboardInterrupt:
        code = _INTERRUPTED
        _say_stopped()
    finally:
        # What is left is the end of the interpreter, in which Ctrl-C would only make a noise.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return code


def _fill_standard_files() -> None:
    """Put something harmless where standard input, output or error was closed.

    Otherwise the next file that is opened would get its number, and what a library writes there with it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDONLY if number == 0 else os.O_WRONLY), True)
    if sys.stderr is None:
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False)


def _say_stopped() -> None:
    with suppress(OSError, ValueError):  # nobody may listen
        sys.stderr.write("wordveil: stopped.\n")
        sys.stderr.flush()
