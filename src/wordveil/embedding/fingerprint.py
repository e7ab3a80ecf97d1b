"""The identity of an embedding: SHA-256 over its words and little-endian float32 vectors."""

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from wordveil.embedding.arrays import row_blocks

__all__ = ["fingerprint_of", "fingerprint_of_projection", "pack_words"]


def pack_words(words: Iterable[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the words as one UTF-8 blob, and the offset where each ends, preceded by a 0."""
    encoded = [word.encode("utf-8") for word in words]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(word) for word in encoded], out=offsets[1:])
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets


def fingerprint_of(blob: NDArray[np.uint8], offsets: NDArray[np.int64], vectors: NDArray[np.floating]) -> str:
    """Return the fingerprint, in hexadecimal, of packed words and their vectors.

    The hash covers, in this order: the tag `wordveil-embedding-1`; a zero byte; the number of words, the
    number of dimensions and the offsets, as little-endian int64; the blob; and the vectors as little-endian
    float32, row by row.
    """
    digest = hashlib.sha256(b"wordveil-embedding-1\0")
    digest.update(np.array(vectors.shape, dtype="<i8").tobytes())
    digest.update(offsets.astype("<i8").tobytes())
    digest.update(blob.tobytes())
    for block in row_blocks(len(vectors)):
        digest.update(np.ascontiguousarray(vectors[block], dtype="<f4").data)
    return digest.hexdigest()


def fingerprint_of_projection(parent: str, k: int) -> str:
    """Return the fingerprint of a projection.

    It covers the fingerprint of the parent and `k`, not the projected vectors: their last bits depend on the
    BLAS library.
    """
    return hashlib.sha256(f"wordveil-projection-1\0{parent}\0{k}".encode()).hexdigest()
