"""What every engine does: chunks in, answers out, in the same order; and how each chunk gets its noise."""

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Self

import numpy as np

from wordveil.perturber import Perturber, PrivateReport
from wordveil.randomness import RunKey, Stream
from wordveil.tables.base import Chunk, Columns

__all__ = ["Engine", "EngineMaker", "Perturbed", "perturbed_texts", "stream_of"]


class Perturbed(NamedTuple):
    """A chunk with the answers to its texts, and counts that are not for release."""

    chunk: Chunk
    answers: Columns
    report: PrivateReport


class Engine(ABC):
    """Perturbs chunks, with a bounded number of them under way. A context manager: leaving ends the work."""

    @abstractmethod
    def perturb(self, chunks: Iterable[Chunk], *, waits: bool = False) -> Iterator[Perturbed]:
        """Yield each chunk with its answers, in the order of the chunks.

        `waits` says that the next chunk may be long in coming, as from a pipe: then nobody waits for the one
        who reads it when the work is ended.
        """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the work and let go of what it needed; what is under way is not used any more."""
        return


EngineMaker = Callable[[Perturber, RunKey], Engine]
"""What makes the engine of a run, given what perturbs and where the noise comes from."""


def stream_of(
    perturber: Perturber,
    key: RunKey,
    partition: int,
    ordinal: int,
    column: str,
    texts: Iterable[str | None],
) -> Stream:
    """Return the noise for the texts of one column of one batch.

    It is derived from the setting, from where the batch is and from what it holds: done again, it gives the
    same answers, and no two settings, batches, columns or contents share noise.
    """
    return perturber.derive_stream(key, partition, ordinal, column, _content(list(texts)))


def _content(texts: list[str | None]) -> bytes:
    lengths = np.array([-1 if text is None else len(text) for text in texts], dtype="<i8")
    joined = "".join(text for text in texts if text is not None)
    digest = hashlib.blake2b(lengths.tobytes(), digest_size=32)
    digest.update(joined.encode("utf-8", "surrogatepass"))
    return digest.digest()


def perturbed_texts(
    perturber: Perturber, key: RunKey, partition: int, ordinal: int, texts: Columns
) -> tuple[Columns, PrivateReport]:
    """Return the answers to the texts of each column of one batch, and the counts."""
    answers: Columns = {}
    total = PrivateReport()
    for column, values in texts.items():
        stream = stream_of(perturber, key, partition, ordinal, column, values)
        answers[column], report = perturber.perturb_column(values, stream)
        total.add(report)
    return answers, total
