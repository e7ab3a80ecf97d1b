"""Products of small integers by onnxruntime: several times as fast as products of floats, checked before use.

On processors without the right instructions, its sums of two products saturate at 16 bits. Whether they do is
tested with extreme numbers, never assumed.
"""

import os
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wordveil.nearest.onnx import Model

__all__ = ["ZERO", "IntegerProduct", "SingleProduct", "largest_code"]

ZERO: Final = 128
"""The code for 0 in the left operand."""

_MOST_DIMS: Final = 60_000  # with more, a sum of products could leave int32
_LIMITS: Final = (127, 63)  # 8 bits; or 7, with which the sum of two products fits into 16 bits
_ERRORS_ONLY: Final = 3

Codes = NDArray[np.int8]
Floats = NDArray[np.float32]


def _onnxruntime() -> Any:
    """Return the library with its telemetry switched off; it reads the variable while it is loaded.

    Otherwise versions from 1.29 on write a permanent device id and a queue of events to the user's cache.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    onnxruntime.disable_telemetry_events()  # in case the program loaded it earlier
    return onnxruntime


class _Session:
    """A model that runs in the calling thread, on arrays of the caller."""

    def __init__(self, model: bytes) -> None:
        onnxruntime = _onnxruntime()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = _ERRORS_ONLY
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def run(self, left: NDArray[Any], out: NDArray[Any]) -> None:
        left = np.ascontiguousarray(left)  # only its address is passed on
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
        """Write the products to `out`, a contiguous array of the right size."""
        if not out.flags.c_contiguous:  # the products would go to a copy, and be lost
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
    """Return the largest code with which sums are exact: 127, 63, or 0 if there is none.

    It is also 0 if onnxruntime is not installed.
    """
    if dims > _MOST_DIMS:
        return 0
    try:
        return next((limit for limit in _LIMITS if _is_exact(dims, limit)), 0)
    except ImportError:
        return 0


def _is_exact(dims: int, limit: int, columns: int = 264) -> bool:
    """Return whether products of extreme numbers are correct, for one row, a few rows and a full batch."""
    random = np.random.default_rng(dims)
    codes = random.choice(np.array([-limit, limit], dtype=np.int8), (dims, columns))
    codes[:, 0], codes[:, 1] = limit, -limit
    product = IntegerProduct(codes)
    for rows in (1, 5, 384):
        left = random.choice(np.array([0, 255], dtype=np.uint8), (rows, dims))
        left[0] = 255
        left[-1, : dims // 2] = 0
        result = np.empty((rows, columns), dtype=np.int32)
        product.fill(left, result)
        # Float64 represents these sums exactly.
        if not np.array_equal(result, (left.astype(np.float64) - ZERO) @ codes.astype(np.float64)):
            return False
    return True
