"""Where the search runs: on the CPU or on a GPU. The answers are the same."""

import ctypes
import importlib.util
from functools import cache
from typing import Final, Literal, get_args

from wordveil.errors import parameter_error

__all__ = ["DeviceName", "check_device", "has_gpu"]

DeviceName = Literal["auto", "cpu", "cuda"]
_DRIVERS: Final = ("libcuda.so.1", "nvcuda.dll")


def check_device(device: DeviceName, owner: str) -> DeviceName:
    """Return `device` if it is the name of a device, else raise ParameterError."""
    if device not in get_args(DeviceName):
        raise parameter_error("device", owner, f"be one of {', '.join(get_args(DeviceName))}", device)
    return device


@cache
def has_gpu() -> bool:
    """Return whether PyTorch can use a GPU. The driver is asked first, since loading PyTorch is slow."""
    if importlib.util.find_spec("torch") is None or not _driver_has_gpu():
        return False
    import torch

    return bool(torch.cuda.is_available())


def _driver_has_gpu() -> bool:
    for name in _DRIVERS:
        try:
            driver = ctypes.CDLL(name)
        except OSError:
            continue
        count = ctypes.c_int()
        return driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0 and count.value > 0
    return False
