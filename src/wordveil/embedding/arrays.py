"""Small operations on tables of vectors."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["cosines_with", "first_not_finite", "locked", "row_blocks", "row_norms"]

# How many rows are processed at a time. At 300 dimensions a block is 10 MB in float64: little beside a table
# of a whole vocabulary, and enough work per call that the loop in Python costs nothing.
_BLOCK_ROWS: Final = 4096


def locked(array: NDArray[Any]) -> NDArray[Any]:
    """Return the same memory as an array that can't be made writeable again."""
    return np.asarray(array.data.toreadonly())


def row_blocks(rows: int) -> Iterator[slice]:
    """Yield slices that together cover `rows` rows, so large tables can be processed in bounded memory.

    Examples
    --------
    >>> list(row_blocks(5000))
    [slice(0, 4096, None), slice(4096, 5000, None)]
    """
    for start in range(0, rows, _BLOCK_ROWS):
        yield slice(start, min(start + _BLOCK_ROWS, rows))


def row_norms(matrix: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the Euclidean norm of each row in float64, where the square of a float32 can't overflow."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64)))


def cosines_with(matrix: NDArray[np.float32], row: int) -> NDArray[np.float64]:
    """Return the cosine of each row with one of them; 0 with a row of zeros."""
    norms = row_norms(matrix)
    scale = norms * norms[row]
    products = np.einsum("ij,j->i", matrix, matrix[row], dtype=np.float64)
    return np.asarray(np.divide(products, scale, out=np.zeros(len(matrix)), where=scale > 0.0))


def first_not_finite(matrix: NDArray[np.floating]) -> int | None:
    """Return the first row that contains NaN or infinity, or None."""
    for block in row_blocks(len(matrix)):
        finite = np.isfinite(matrix[block]).all(axis=1)
        if not finite.all():
            return int(block.start + finite.argmin())
    return None
