"""Whether pickles include vectors that have a name."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

__all__ = ["includes_vectors", "pickled_vectors"]

_include: Final = ContextVar("include", default=False)


def includes_vectors() -> bool:
    """Say whether a pickle that is made now includes all vectors."""
    return _include.get()


@contextmanager
def pickled_vectors() -> Iterator[None]:
    """Let pickles include all vectors, for machines where vectors with a name are not installed.

    Examples
    --------
    >>> import pickle
    >>> import wordveil as wv
    >>> len(pickle.dumps(wv.load_embedding())) < 10_000
    True
    >>> with pickled_vectors():
    ...     len(pickle.dumps(wv.load_embedding())) > 20_000_000
    True
    """
    token = _include.set(True)
    try:
        yield
    finally:
        _include.reset(token)
