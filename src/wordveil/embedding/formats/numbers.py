"""Decimal numbers from bytes: by pyarrow if it is installed, else by NumPy.

Both round correctly to float64, to the last bit, so a fingerprint does not depend on whether pyarrow is
installed.
"""

import functools
import importlib.util
import re
import warnings
from typing import Final

import numpy as np
from numpy.typing import NDArray

__all__ = ["is_number", "is_space", "parse_numbers"]

_NUMBER: Final = re.compile(rb"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|nan|inf|infinity)", re.IGNORECASE)


def is_number(field: bytes) -> bool:
    """Return whether a field is a decimal number in ASCII, as vector files write them.

    Examples
    --------
    >>> is_number(b"-1.5e-3"), is_number(b"1_0"), is_number("٣".encode())
    (True, False, False)
    """
    return _NUMBER.fullmatch(field) is not None


def is_space(data: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Return which bytes are white space by the rule of `bytes.split`."""
    return np.asarray((data == 32) | ((data >= 9) & (data <= 13)))


def parse_numbers(data: NDArray[np.uint8]) -> NDArray[np.float64] | None:
    """Return the numbers in `data`, which white space separates, or None if any is malformed."""
    return _by_arrow(data) if _has_arrow() else _by_numpy(data)


@functools.cache
def _has_arrow() -> bool:
    return importlib.util.find_spec("pyarrow") is not None


def _by_arrow(data: NDArray[np.uint8]) -> NDArray[np.float64] | None:
    import pyarrow as pa
    from pyarrow import csv

    column = np.where(is_space(data), np.uint8(10), data)
    try:
        table = csv.read_csv(
            pa.py_buffer(column),
            read_options=csv.ReadOptions(column_names=["x"]),
            parse_options=csv.ParseOptions(quote_char=False, delimiter=";"),
            convert_options=csv.ConvertOptions(
                column_types={"x": pa.float64()}, null_values=[], check_utf8=False
            ),
        )
    except pa.ArrowInvalid:
        return None
    numbers: NDArray[np.float64] = table["x"].to_numpy()
    return numbers


def _by_numpy(data: NDArray[np.uint8]) -> NDArray[np.float64] | None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", DeprecationWarning)  # NumPy warns about malformed text
        try:
            return np.fromstring(data.tobytes(), dtype=np.float64, sep=" ")
        except (DeprecationWarning, ValueError):
            return None
