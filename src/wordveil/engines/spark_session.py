"""A Spark session for one run: started without console output, and stopped with nothing left behind."""

import logging
import os
import re
import shutil
import signal
import socketserver
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any, Final

from wordveil.errors import MachineError, MissingExtraError, ParameterError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = [
    "LOG_HINT",
    "PYTHON",
    "check_java",
    "failures",
    "library",
    "silence_for_good",
    "silent_threads",
    "start_session",
    "url_of",
]

_OLDEST_JAVA: Final = 17  # Spark 4 does not start on an older one
_LOCAL: Final = re.compile(r"local(?:\[(\d+|\*)\])?")
_NEEDS_JAVA: Final = (
    f"Spark needs Java {_OLDEST_JAVA} or later, which was not found. "
    "Hint: install it (Debian: openjdk-17-jre-headless), or set JAVA_HOME."
)
PYTHON: Final = "PYSPARK_PYTHON"
_NULL_HANDLER: Final = logging.NullHandler()
_DEBUG: Final = "WORDVEIL_DEBUG"
LOG_HINT: Final = f"{_DEBUG}=1 shows its log"
_SETTINGS: Final = {
    "spark.io.encryption.enabled": "true",  # broadcasts are stored on disk during a run
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}


def url_of(master: str | None) -> str:
    """Return the URL of a Spark (default: all cores of this machine).

    A failed task is retried, up to four times in all, on this machine too, where Spark's default is not to.
    """
    url = master or "local[*]"
    if url.startswith("sc:"):
        raise ParameterError("Spark Connect has no broadcasts. Hint: use the URL of the cluster itself.")
    local = _LOCAL.fullmatch(url)
    return f"local[{local[1] or 1},4]" if local else url


def start_session(url: str) -> "SparkSession":
    """Start Spark. A Ctrl-C meanwhile is raised once it has started; then it is stopped again."""
    builder = library().sql.SparkSession.builder.appName("wordveil").master(url)
    for name, value in _SETTINGS.items():
        builder = builder.config(name, value)
    session: SparkSession | None = None
    try:
        with _ctrl_c_later(), _quiet(), _this_python(url.startswith("local[")):
            session = builder.getOrCreate()
    except BaseException as error:
        if session is not None:
            session.stop()
        if isinstance(error, failures()):
            raise MachineError(
                f"Spark did not start ({type(error).__name__}). Hint: {LOG_HINT}; local[*] is this machine."
            ) from None
        raise
    return session


@contextmanager
def _this_python(is_local: bool) -> Iterator[None]:
    """Run local workers on the Python of this process, unless the user has chosen another."""
    if not is_local or PYTHON in os.environ:
        yield
        return
    os.environ[PYTHON] = sys.executable
    try:
        yield
    finally:
        del os.environ[PYTHON]


@contextmanager
def silent_threads() -> Iterator[None]:
    """Keep PySpark's threads from printing tracebacks when Java dies: our one-line error is enough.

    They use the root logger, which prints to standard error only as long as it has no handler.
    """
    if os.environ.get(_DEBUG):
        yield
        return
    logging.getLogger().addHandler(_NULL_HANDLER)
    original = socketserver.BaseServer.handle_error
    socketserver.BaseServer.handle_error = lambda *_: None  # type: ignore[method-assign]  # restored below
    try:
        yield
    finally:
        socketserver.BaseServer.handle_error = original  # type: ignore[method-assign]  # the original
        logging.getLogger().removeHandler(_NULL_HANDLER)


def silence_for_good() -> None:
    """Keep PySpark from logging again, when the interpreter exits, that Java has died."""
    if not os.environ.get(_DEBUG):
        logging.getLogger().addHandler(_NULL_HANDLER)


@contextmanager
def _ctrl_c_later() -> Iterator[None]:
    """Hold Ctrl-C back until Spark has started, and raise it then.

    If PySpark is interrupted while it starts, it removes the folder that Java is about to write to. Java
    survives that error, but never starts to watch for the end of this process, and runs forever.
    """
    if threading.current_thread() is not threading.main_thread():  # only the main thread receives signals
        yield
        return
    pressed: list[tuple[int, FrameType | None]] = []
    original = signal.signal(signal.SIGINT, lambda number, frame: pressed.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, original)
    if pressed and callable(original):
        original(*pressed[0])


@contextmanager
def _quiet() -> Iterator[None]:
    """Discard standard error while Java starts: Java and its workers inherit it, and print a lot."""
    if os.environ.get(_DEBUG):
        yield
        return
    sys.stderr.flush()
    stderr = os.dup(2)
    devnull = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(devnull, 2)
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(devnull)


def failures() -> tuple[type[Exception], ...]:
    """Return the errors that PySpark raises when Spark or Java fails or has died."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    return Py4JError, PySparkException, OSError


def library() -> Any:
    """Return PySpark, or raise the error that names the extra."""
    try:
        import pyspark
        import pyspark.sql
        import pyspark.sql.types
    except ImportError:
        raise MissingExtraError("pyspark", "spark", "Spark") from None
    return pyspark


def check_java() -> None:
    """Refuse to start Spark without a Java that it can run on; its own error is a page long."""
    home = os.environ.get("JAVA_HOME")
    program = shutil.which("java", path=os.path.join(home, "bin") if home else None)  # noqa: PTH118  # a search path
    if program is None:
        raise MachineError(_NEEDS_JAVA)
    try:
        answer = subprocess.run(  # noqa: S603  # the Java that Spark would start
            [program, "-version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        raise MachineError(_NEEDS_JAVA) from None
    version = re.search(r'version "(\d+)', answer.stderr + answer.stdout)
    if version is None or int(version[1]) < _OLDEST_JAVA:
        raise MachineError(_NEEDS_JAVA)
