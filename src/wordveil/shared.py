"""Results that are computed once per embedding, for all mechanisms and threads."""

import os
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from wordveil.embedding import Embedding

__all__ = ["PerEmbedding"]

Value = TypeVar("Value")


class PerEmbedding(Generic[Value]):
    """Results by embedding and key, freed with the embedding; the last `most` of each embedding are kept.

    Safe to share between threads, and after a fork. A result must not refer to its embedding, which could
    then never be freed.

    Examples
    --------
    >>> emb = Embedding(["a", "b"], [[0.0], [1.0]], public=True)
    >>> lengths = PerEmbedding[int](most=2)
    >>> lengths.get(emb, "words", lambda: len(emb)), lengths.get(emb, "words", lambda: 0)
    (2, 2)
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._results: weakref.WeakKeyDictionary[Embedding, OrderedDict[Hashable, Value]]
        self._results = weakref.WeakKeyDictionary()
        self._lock = threading.RLock()
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=self._forget_lock)

    def _forget_lock(self) -> None:
        self._lock = threading.RLock()  # it may be held by a thread that does not exist in the child

    def get(self, embedding: Embedding, key: Hashable, compute: Callable[[], Value]) -> Value:
        """Return the result for that key, computed on the first call."""
        with self._lock:
            results = self._results.setdefault(embedding, OrderedDict())
            if key not in results:
                results[key] = compute()
                while len(results) > self._most:
                    results.popitem(last=False)
            results.move_to_end(key)
            return results[key]
