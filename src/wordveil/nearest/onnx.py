"""Writes small ONNX models without a library: only the few fields of the format that are needed."""

from typing import Any, Final

import numpy as np
from numpy.typing import DTypeLike, NDArray

__all__ = ["Model"]

_TYPES: Final = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7}
# Old enough for every onnxruntime that pyproject.toml allows; MatMulInteger exists since opset 10.
_IR_VERSION: Final = 9
_OPSET: Final = 18


class Model:
    """An ONNX model, built part by part.

    Examples
    --------
    >>> model = Model()
    >>> model.input("left", np.float32, ("rows", 2))
    >>> model.constant("matrix", np.ones((2, 3), dtype=np.float32))
    >>> model.node("MatMul", ("left", "matrix"), "product")
    >>> model.output("product", np.float32, ("rows", 3))
    >>> len(model.packed())
    152
    """

    def __init__(self) -> None:
        self._graph = _field(2, "graph")

    def constant(self, name: str, array: NDArray[Any]) -> None:
        """Add a constant."""
        dims = b"".join(_field(1, size) for size in array.shape)
        kind = _field(2, _TYPES[array.dtype.name])
        self._graph += _field(5, dims + kind + _field(8, name) + _field(9, array.tobytes()))

    def input(self, name: str, dtype: DTypeLike, shape: tuple[int | str, ...]) -> None:
        """Add an input. A str in `shape` is a size that may differ between runs."""
        self._graph += _field(11, _value(name, dtype, shape))

    def output(self, name: str, dtype: DTypeLike, shape: tuple[int | str, ...]) -> None:
        """Add an output."""
        self._graph += _field(12, _value(name, dtype, shape))

    def node(self, operation: str, names: tuple[str, ...], result: str) -> None:
        """Add an operation on tensors that already have names."""
        inputs = b"".join(_field(1, name) for name in names)
        self._graph += _field(1, inputs + _field(2, result) + _field(4, operation))

    def packed(self) -> bytes:
        """Return the model as bytes."""
        opset = _field(1, "") + _field(2, _OPSET)
        return _field(1, _IR_VERSION) + _field(8, opset) + _field(7, self._graph)


def _value(name: str, dtype: DTypeLike, shape: tuple[int | str, ...]) -> bytes:
    sizes = (_field(1 if isinstance(size, int) else 2, size) for size in shape)
    dims = b"".join(_field(1, size) for size in sizes)
    tensor = _field(1, _TYPES[np.dtype(dtype).name]) + _field(2, dims)
    return _field(1, name) + _field(2, _field(1, tensor))


def _field(number: int, value: int | str | bytes) -> bytes:
    """Return a protocol buffers field: an integer, or bytes preceded by their length."""
    if isinstance(value, int):
        return _varint(number << 3) + _varint(value)
    data = value.encode() if isinstance(value, str) else value
    return _varint(number << 3 | 2) + _varint(len(data)) + data


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes([*out, value])
