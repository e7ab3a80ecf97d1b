"""A Spark session of the command's own: started without noise, and ended with nothing left behind."""

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

_LEAST_JAVA: Final = 17
_LOCAL: Final = re.compile(r"local(?:\[(\d+|\*)\])?")
_NEEDS_JAVA: Final = (
    f"Spark needs Java {_LEAST_JAVA} or later, which was not found. "
    "Hint: install it (Debian: openjdk-17-jre-headless), or set JAVA_HOME."
)
PYTHON: Final = "PYSPARK_PYTHON"
_NOWHERE: Final = logging.NullHandler()
_DEBUG: Final = "WORDVEIL_DEBUG"
LOG_HINT: Final = f"{_DEBUG}=1 shows its log"
_SETTINGS: Final = {
    "spark.io.encryption.enabled": "true",  # broadcasts lie on disk while a run lasts
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "ERROR",
}


def url_of(master: str | None) -> str:
    """Return the URL of a Spark; by default all cores of this machine.

    A task that fails is tried again, up to four times in all; also on this machine, where Spark by itself
    would not.
    """
    url = master or "local[*]"
    if url.startswith("sc:"):
        raise ParameterError("Spark Connect has no broadcasts. Hint: give the URL of the cluster itself.")
    here = _LOCAL.fullmatch(url)
    return f"local[{here[1] or 1},4]" if here else url


def start_session(url: str) -> "SparkSession":
    """Start Spark. Ctrl-C meanwhile is raised when it has started, and then it is stopped again."""
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
                f"Spark did not start there ({type(error).__name__}). Hint: {LOG_HINT}; local[*] runs here."
            ) from None
        raise
    return session


@contextmanager
def _this_python(here: bool) -> Iterator[None]:
    """Let the workers of this machine run on the Python that runs here, unless something else was chosen."""
    if not here or PYTHON in os.environ:
        yield
        return
    os.environ[PYTHON] = sys.executable
    try:
        yield
    finally:
        del os.environ[PYTHON]


@contextmanager
def silent_threads() -> Iterator[None]:
    """Keep PySpark's threads from printing tracebacks when Java dies: the one line of ours says it all.

    They log by the root logger, which prints to standard error only as long as it has no handler.
    """
    if os.environ.get(_DEBUG):
        yield
        return
    logging.getLogger().addHandler(_NOWHERE)
    usual = socketserver.BaseServer.handle_error
    socketserver.BaseServer.handle_error = lambda *_: None  # type: ignore[method-assign]  # for as long as it runs
    try:
        yield
    finally:
        socketserver.BaseServer.handle_error = usual  # type: ignore[method-assign]  # as it was
        logging.getLogger().removeHandler(_NOWHERE)


def silence_for_good() -> None:
    """Keep PySpark from logging once more, when the interpreter ends, that Java is dead."""
    if not os.environ.get(_DEBUG):
        logging.getLogger().addHandler(_NOWHERE)


@contextmanager
def _ctrl_c_later() -> Iterator[None]:
    """Hold Ctrl-C back until Spark has started, and raise it then.

    Interrupted while it starts, PySpark removes the folder that Java is about to write to; Java survives the
    error, never gets to the point where it would hear of our end, and lives for ever.
    """
    if threading.current_thread() is not threading.main_thread():  # only the main thread is ever interrupted
        yield
        return
    pressed: list[tuple[int, FrameType | None]] = []
    usual = signal.signal(signal.SIGINT, lambda number, frame: pressed.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
    if pressed and callable(usual):
        usual(*pressed[0])


@contextmanager
def _quiet() -> Iterator[None]:
    """Start Java with nowhere to complain to: it and the workers are loud, and nobody needs to hear it."""
    if os.environ.get(_DEBUG):
        yield
        return
    sys.stderr.flush()
    loud = os.dup(2)
    silence = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(silence, 2)
        yield
    finally:
        os.dup2(loud, 2)
        os.close(loud)
        os.close(silence)


def failures() -> tuple[type[Exception], ...]:
    """Return what PySpark raises when Spark or Java fails or is gone."""
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
    """Refuse to start Spark without a Java that it can run on; its own complaint is a page long."""
    home = os.environ.get("JAVA_HOME")
    program = shutil.which("java", path=os.path.join(home, "bin") if home else None)  # noqa: PTH118  # a search path
    if program is None:
        raise MachineError(_NEEDS_JAVA)
    try:
        told = subprocess.run(  # noqa: S603  # the Java that Spark would start
            [program, "-version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        raise MachineError(_NEEDS_JAVA) from None
    found = re.search(r'version "(\d+)', told.stderr + told.stdout)
    if found is None or int(found[1]) < _LEAST_JAVA:
        raise MachineError(_NEEDS_JAVA)
