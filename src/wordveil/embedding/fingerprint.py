"""The identity of an embedding: SHA-256 over its words and little-endian float32 vectors."""

import hashlib
from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

__all__ = ["fingerprint_of", "fingerprint_of_projection", "pack_words"]

_BLOCK_ROWS = 4096


def pack_words(words: Iterable[str]) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the words as one UTF-8 blob and the offsets of their ends, the first offset 0."""
    encoded = [word.encode("utf-8") for word in words]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(word) for word in encoded], out=offsets[1:])
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets


def fingerprint_of(blob: NDArray[np.uint8], offsets: NDArray[np.int64], vectors: NDArray[np.floating]) -> str:
    """Return the fingerprint, in hexadecimal, of packed words and their vectors.

    Hashed: the tag `wordveil-embedding-1`, a zero byte, the number of words and of dimensions and the
    offsets as little-endian int64, the blob, and the vectors as little-endian float32 row by row.
    """
    digest = hashlib.sha256(b"wordveil-embedding-1\0")
    digest.update(np.array(vectors.shape, dtype="<i8").tobytes())
    digest.update(offsets.astype("<i8").tobytes())
    digest.update(blob.tobytes())
    for start in range(0, len(vectors), _BLOCK_ROWS):
        block = vectors[start : start + _BLOCK_ROWS]
        digest.update(np.ascontiguousarray(block, dtype="<f4").data)
    return digest.hexdigest()


def fingerprint_of_projection(parent: str, k: int) -> str:
    """Return the fingerprint of a projection: of its parent's and k, since its bytes depend on the BLAS."""
    return hashlib.sha256(f"wordveil-projection-1\0{parent}\0{k}".encode()).hexdigest()
