"""The contract of all engines: chunks in, answers out, in order; and how each chunk gets its noise."""

import hashlib
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, Self

import numpy as np

from wordveil.errors import IntegrityError
from wordveil.perturber import Perturber, PrivateReport
from wordveil.randomness import RunKey, Stream
from wordveil.tables.base import Chunk, Columns

__all__ = ["Engine", "EngineMaker", "Perturbed", "complete_answers", "perturbed_texts", "stream_of"]


class Perturbed(NamedTuple):
    """A chunk with the answers to its texts, and counts that are not for release."""

    chunk: Chunk
    answers: Columns
    report: PrivateReport


class Engine(ABC):
    """Perturbs chunks, a bounded number of them at a time. A context manager: leaving it stops the work."""

    @abstractmethod
    def perturb(self, chunks: Iterable[Chunk], *, waits: bool = False) -> Iterator[Perturbed]:
        """Yield each chunk with its answers, in the order of the chunks.

        Set `waits` if the next chunk may take long to arrive, as from a pipe: then `close` does not wait for
        the thread that reads it.
        """

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the work and free its resources; the answers of unfinished chunks are dropped."""
        return


def complete_answers(engine: Engine, chunks: Iterable[Chunk], *, waits: bool = False) -> Iterator[Perturbed]:
    """Yield what an engine returns; IntegrityError unless that is all chunks in order, with all answers.

    A text without an answer would be published as it is.
    """
    pending: deque[Chunk | None] = deque()

    def remembered() -> Iterator[Chunk]:
        for chunk in chunks:
            pending.append(chunk)
            yield chunk
        pending.append(None)  # the end

    for done in engine.perturb(remembered(), waits=waits):
        chunk = pending.popleft() if pending else None
        if chunk is None or done.chunk is not chunk or not _is_answered(chunk, done.answers):
            raise _incomplete(engine)
        yield done
    if [*pending] != [None]:
        raise _incomplete(engine)


def _is_answered(chunk: Chunk, answers: Columns) -> bool:
    return answers.keys() == chunk.texts.keys() and all(
        len(answers[name]) == len(texts) for name, texts in chunk.texts.items()
    )


def _incomplete(engine: Engine) -> IntegrityError:
    return IntegrityError(
        f"The engine {type(engine).__name__} did not answer every text, in order. "
        "Hint: use --engine local, and report this to the author of the engine."
    )


EngineMaker = Callable[[Perturber, RunKey], Engine]
"""Creates the engine of a run from a perturber and the key of the run."""


def stream_of(
    perturber: Perturber,
    key: RunKey,
    partition: int,
    ordinal: int,
    column: str,
    texts: Iterable[str | None],
) -> Stream:
    """Return the noise for the texts of one column of one batch.

    It is derived from the setting, the position of the batch and its content. So a batch that is perturbed
    again gets the same answers, and no two settings, batches, columns or contents share noise.
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
    """Return the answers for each column of one batch, and the counts."""
    answers: Columns = {}
    total = PrivateReport()
    for column, values in texts.items():
        stream = stream_of(perturber, key, partition, ordinal, column, values)
        answers[column], report = perturber.perturb_column(values, stream)
        total.add(report)
    return answers, total
