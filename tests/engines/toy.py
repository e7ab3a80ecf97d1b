"""The least that an engine can be."""

from collections.abc import Iterable, Iterator

import wordveil as wv
from wordveil.engines import Engine, Perturbed
from wordveil.engines.base import perturbed_texts
from wordveil.tables import Chunk


class OneByOne(Engine):
    """One chunk at a time, in the thread that asks for it."""

    def __init__(self, perturber: wv.Perturber, key: wv.RunKey) -> None:
        self._perturber, self._key = perturber, key

    def perturb(self, chunks: Iterable[Chunk], *, waits: bool = False) -> Iterator[Perturbed]:
        for ordinal, chunk in enumerate(chunks):
            yield Perturbed(chunk, *perturbed_texts(self._perturber, self._key, 0, ordinal, chunk.texts))
