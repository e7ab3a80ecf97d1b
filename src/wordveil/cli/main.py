"""The command line: errors are one line on standard error, and the exit code says whose fault they are.

0 is success, 1 the environment (disk, permission, a missing extra), 2 bad input and bad usage, 3 a failed
audit or a setting that `tune` did not find, 130 Ctrl-C.
"""

import io
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import Annotated, Final

import typer

import wordveil
from wordveil.cli import stopping
from wordveil.cli.config import refused_setting
from wordveil.cli.console import note
from wordveil.cli.lazy import LazyGroup, add_commands
from wordveil.errors import MachineError, ParameterError, PrivacyWarning, WordveilError

__all__ = ["app", "main"]

app: Final = typer.Typer(
    cls=LazyGroup,
    help="Differentially private text, word by word.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
add_commands(app)


def _search_in_words() -> str:
    """Say which search runs, without importing NumPy."""
    from wordveil.kernels import level

    return "search without compiled loops" if level == "none" else f"compiled search, {level}"


def _print_version(value: bool) -> None:
    if value:
        typer.echo(f"wordveil {wordveil.__version__} ({_search_in_words()})")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[  # handled by its callback
        bool,
        typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    pass


def main(arguments: Sequence[str] | None = None, interrupted: Callable[[], bool] = lambda: False) -> int:
    """Run the command line and return its exit code; `interrupted` says whether Ctrl-C was pressed."""
    stopping.interrupted = interrupted
    if sys.stdout is None:
        return _fail("standard output is closed.", 1)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a word that can't be shown is not an error
    try:
        code, message = _run(arguments)
    except KeyboardInterrupt:
        code, message = _INTERRUPTED, ""
    if code == _INTERRUPTED or interrupted():  # whatever else was reported, this is the cause
        code, message = _INTERRUPTED, "stopped."
    return _fail(message, code) if message else code


def _run(arguments: Sequence[str] | None) -> tuple[int, str]:
    """Return an exit code and an error message; it is empty if there is nothing to add."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("always", PrivacyWarning)
            warnings.showwarning = _warn
            code = app(args=arguments, prog_name="wordveil", standalone_mode=False)
        sys.stdout.flush()
    except typer.Abort:  # what Typer makes of Ctrl-C
        return _INTERRUPTED, ""
    except (BrokenPipeError, SystemExit):  # Typer exits on a broken pipe
        # The reader of our output has gone: end as quietly as other programs do.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _BROKEN_PIPE, ""
    except _UsageError as error:
        return 2, _usage(error)
    except MachineError as error:
        return 1, str(error)
    except ParameterError as error:
        return 2, _as_option(error)
    except WordveilError as error:
        return 2, str(error)
    except OSError as error:
        return 2 if isinstance(error, _WRONG_PATH) else 1, _path_and_reason(error)
    except MemoryError:
        return 1, "there is not enough memory for this."
    except Exception as error:
        return 1, _bug(error)
    return code if isinstance(code, int) else 0, ""


_INTERRUPTED: Final = 130
_BROKEN_PIPE: Final = 141
_WRONG_PATH: Final = (FileNotFoundError, IsADirectoryError, NotADirectoryError)
# What Typer raises for a wrong command line. It has no public name before Typer 0.28, but its subclass
# BadParameter has one in every version.
_UsageError: "Final[type[typer.TyperException]]" = typer.BadParameter.__mro__[1]


def _usage(error: "typer.TyperException") -> str:
    message = refused_setting(error) or error.format_message().strip()
    message = message.replace(": Value error, ", ": ")  # from the library that Typer checks choices with
    if not message:  # a group without a command: Typer has shown its help already
        return ""
    end = "" if message.endswith((".", "?")) else "."
    return f"{message}{end} Hint: see --help."


# Parameters whose option has another name.
_OPTIONS: Final = {"k": "--dims", "source": "IN", "target": "OUT"}


def _as_option(error: ParameterError) -> str:
    """Return the error in terms of what the user wrote: `--dims`, not 'k' of Embedding.project."""
    if not error.parameter:
        return str(error)
    option = _OPTIONS.get(error.parameter, f"--{error.parameter.replace('_', '-')}")
    return f"{option} {error.complaint}"


def _path_and_reason(error: OSError) -> str:
    place = f"{error.filename}: " if error.filename is not None else ""
    return f"{place}{error.strerror or type(error).__name__}."


def _bug(error: Exception) -> str:
    # The message of an unforeseen exception could contain private text, so only its type is shown.
    if os.environ.get("WORDVEIL_DEBUG"):
        traceback.print_exc()
    from wordveil.mechanisms.registry import foreign_mechanism  # most commands have loaded it by now

    name = foreign_mechanism(error)
    blame = f"in the mechanism '{name}', which is not wordveil's" if name else "this is a bug in wordveil"
    return f"an unforeseen {type(error).__name__}; {blame}. Hint: WORDVEIL_DEBUG=1 shows where."


def _warn(message: Warning | str, *_: object, **__: object) -> None:
    note(f"wordveil: warning: {message}")


def _fail(message: str, code: int) -> int:
    note(f"wordveil: {message}")
    return code
