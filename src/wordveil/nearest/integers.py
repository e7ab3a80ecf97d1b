"""Products of small integers, many times as fast as those of floats: onnxruntime's, checked before use.

On processors without the right instructions its sums of two products saturate at 16 bits; whether they do is
found out with extreme numbers, never assumed.
"""

import os
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wordveil.nearest.onnx import Model

__all__ = ["ZERO", "IntegerProduct", "SingleProduct", "largest_code"]

ZERO: Final = 128
"""What stands for 0 in the left operand."""

_MOST_DIMS: Final = 60_000  # so that no sum of products leaves int32
_LIMITS: Final = (127, 63)
_QUIET: Final = 3

Codes = NDArray[np.int8]
Floats = NDArray[np.float32]


def _onnxruntime() -> Any:
    """Return the library, with its telemetry switched off: it reads the variable while it is loaded.

    Versions from 1.29 on write a permanent device id and a queue of events to the user's cache otherwise.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    onnxruntime.disable_telemetry_events()  # for a program that had loaded it before us
    return onnxruntime


class _Session:
    """A model that runs in the calling thread, from and to arrays that are given."""

    def __init__(self, model: bytes) -> None:
        onnxruntime = _onnxruntime()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = _QUIET
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def run(self, left: NDArray[Any], out: NDArray[Any]) -> None:
        left = np.ascontiguousarray(left)  # bare addresses are handed over
        binding = self._session.io_binding()
        binding.bind_input("left", "cpu", 0, left.dtype, left.shape, left.ctypes.data)
        binding.bind_output("product", "cpu", 0, out.dtype, out.shape, out.ctypes.data)
        self._session.run_with_iobinding(binding)


class IntegerProduct:
    """Σᵢ(left_i - 128)·codes_ij, exactly.

    Parameters
    ----------
    codes : array of int8, (dims, columns)
    """

    def __init__(self, codes: Codes) -> None:
        dims, self.columns = codes.shape
        model = Model()
        model.constant("codes", codes)
        model.constant("zero", np.array(ZERO, dtype=np.uint8))
        model.input("left", np.uint8, ("rows", dims))
        model.node("MatMulInteger", ("left", "codes", "zero"), "product")
        model.output("product", np.int32, ("rows", self.columns))
        self._session = _Session(model.packed())

    def fill(self, left: NDArray[np.uint8], out: NDArray[np.int32]) -> None:
        """Write the products to `out`, a contiguous array of as many numbers."""
        if not out.flags.c_contiguous:  # a reshaped copy would be filled, and lost
            raise ValueError("The array to write to must be contiguous.")
        self._session.run(left, out.reshape(len(left), -1))


class SingleProduct:
    """A product with a constant matrix, in the calling thread."""

    def __init__(self, matrix: Floats) -> None:
        model = Model()
        model.constant("matrix", matrix)
        model.input("left", np.float32, ("rows", len(matrix)))
        model.node("MatMul", ("left", "matrix"), "product")
        model.output("product", np.float32, ("rows", matrix.shape[1]))
        self._session = _Session(model.packed())
        self._columns = matrix.shape[1]

    def of(self, left: Floats) -> Floats:
        """Return the product."""
        out = np.empty((len(left), self._columns), dtype=np.float32)
        self._session.run(left, out)
        return out


@cache
def largest_code(dims: int) -> int:
    """Return how large the codes may be for their sums to be exact: 127, 63, or 0 if nothing is.

    0 also where onnxruntime is not installed.
    """
    if dims > _MOST_DIMS:
        return 0
    try:
        return next((limit for limit in _LIMITS if _exact(dims, limit)), 0)
    except ImportError:
        return 0


def _exact(dims: int, limit: int, columns: int = 264) -> bool:
    """Return whether the product is right at its extremes, for one row, few and as many as there will be."""
    random = np.random.default_rng(dims)
    codes = random.choice(np.array([-limit, limit], dtype=np.int8), (dims, columns))
    codes[:, 0], codes[:, 1] = limit, -limit
    product = IntegerProduct(codes)
    for rows in (1, 5, 384):
        left = random.choice(np.array([0, 255], dtype=np.uint8), (rows, dims))
        left[0] = 255
        left[-1, : dims // 2] = 0
        found = np.empty((rows, columns), dtype=np.int32)
        product.fill(left, found)
        # Float64 holds these sums exactly.
        if not np.array_equal(found, (left.astype(np.float64) - ZERO) @ codes.astype(np.float64)):
            return False
    return True
