"""Small things that are done to tables of vectors."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["first_not_finite", "locked", "row_norms"]

_BLOCK_ROWS: Final = 4096


def locked(array: NDArray[Any]) -> NDArray[Any]:
    """Return the same numbers as an array that can't be written to, not even by asking for it."""
    return np.asarray(array.data.toreadonly())


def row_norms(matrix: NDArray[np.float32]) -> NDArray[np.float64]:
    """Return the Euclidean norm of each row, in float64, where no square of a float32 overflows."""
    return np.asarray(np.sqrt(np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64)))


def first_not_finite(matrix: NDArray[np.floating]) -> int | None:
    """Return the first row that holds NaN or infinity, None if there is none."""
    for start in range(0, len(matrix), _BLOCK_ROWS):
        finite = np.isfinite(matrix[start : start + _BLOCK_ROWS]).all(axis=1)
        if not finite.all():
            return start + int(finite.argmin())
    return None
