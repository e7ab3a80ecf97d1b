"""How a perturber and the chunks of a file are sent to other processes: as bytes, checked on arrival."""

import hashlib
import json
import pickle
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import asdict
from typing import Any

from wordveil.embedding import pickled_vectors
from wordveil.engines.base import Perturbed, perturbed_texts
from wordveil.errors import IntegrityError
from wordveil.nearest.threads import one_thread
from wordveil.perturber import Perturber, PrivateReport
from wordveil.randomness import RunKey
from wordveil.tables.base import Chunk

__all__ = ["SentPerturber", "answer_row", "chunk_row", "perturbed_chunk"]

SentRow = dict[str, Any]
"""A chunk or its answers: `ordinal`, `columns` (JSON: names; of answers also the counts), `texts` (bytes)."""


class SentPerturber:
    """A perturber that is pickled to a single bytes object, with a fingerprint that is checked on arrival.

    Bytes, because Spark can't encrypt a broadcast that holds arrays. Workers `here`, on the machine that
    sends it, have its vectors; others receive them.
    """

    def __init__(self, perturber: Perturber, *, here: bool = False) -> None:
        self.perturber, self._here = perturber, here

    def __reduce__(self) -> tuple[Callable[[bytes, str], "SentPerturber"], tuple[bytes, str]]:
        with nullcontext() if self._here else pickled_vectors():
            data = pickle.dumps(self.perturber, protocol=5)
        return self._received, (data, hashlib.sha256(data).hexdigest())

    @classmethod
    def _received(cls, data: bytes, fingerprint: str) -> "SentPerturber":
        if hashlib.sha256(data).hexdigest() != fingerprint:
            raise IntegrityError("The vectors that a worker received differ from those that were sent.")
        return cls(pickle.loads(data))  # noqa: S301  # from the driver of the same run


def chunk_row(ordinal: int, chunk: Chunk) -> SentRow:
    """Return the texts of a chunk as a row to send."""
    return {
        "ordinal": ordinal,
        "columns": json.dumps(list(chunk.texts)),
        "texts": [_encoded(texts) for texts in chunk.texts.values()],
    }


def answer_row(perturber: Perturber, key: RunKey, row: SentRow) -> SentRow:
    """Return the answers to a received row, as a row to send back; runs in this thread only."""
    names = json.loads(row["columns"])
    texts = dict(zip(names, map(_decoded, row["texts"]), strict=True))
    with one_thread():  # there is one worker per core
        answers, report = perturbed_texts(perturber, key, 0, row["ordinal"], texts)
    return {
        "ordinal": row["ordinal"],
        "columns": json.dumps([names, asdict(report)]),
        "texts": [_encoded(answers[name]) for name in names],
    }


def perturbed_chunk(chunk: Chunk, row: SentRow) -> Perturbed:
    """Return a chunk with the answers that were sent back for it."""
    names, report = json.loads(row["columns"])
    answers = dict(zip(names, map(_decoded, row["texts"]), strict=True))
    return Perturbed(chunk, answers, PrivateReport(**report))


def _encoded(texts: list[str | None]) -> list[bytes | None]:
    return [None if text is None else text.encode("utf-8", "surrogatepass") for text in texts]


def _decoded(texts: list[bytes | None]) -> list[str | None]:
    return [None if text is None else text.decode("utf-8", "surrogatepass") for text in texts]
