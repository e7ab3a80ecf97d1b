"""What all integrations share: importing their library, checking their perturber, and private noise."""

import importlib
from collections.abc import Sequence
from typing import Any

from wordveil.errors import MissingExtraError, parameter_error
from wordveil.perturber import Perturber
from wordveil.randomness import thread_stream

__all__ = ["checked_perturber", "library", "perturbed_column"]


def library(module: str, extra: str, purpose: str) -> Any:
    """Return an imported module; if its package is not installed, raise an error that names the extra."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        package = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != package:
            raise  # the package is there, but something that it needs is not
        raise MissingExtraError(package, extra, purpose) from None


def checked_perturber(perturber: object, owner: str) -> Perturber:
    """Return `perturber` if it is a Perturber, else raise ParameterError."""
    if not isinstance(perturber, Perturber):
        raise parameter_error("perturber", owner, "be a Perturber", perturber)
    return perturber


def perturbed_column(perturber: Perturber, texts: Sequence[str | None]) -> list[str | None]:
    """Return private texts, with noise of the calling thread and process; nulls as the policy says.

    No key is passed around: every process that runs this draws its own from the operating system.
    """
    private, _ = perturber.perturb_column(texts, thread_stream())
    return private
