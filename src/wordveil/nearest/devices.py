"""Where the search runs: on the CPU or on a GPU. It changes no answer."""

import ctypes
import importlib.util
from functools import cache
from typing import Final, Literal, get_args

from wordveil.errors import parameter_error

__all__ = ["DeviceName", "check_device", "has_gpu"]

DeviceName = Literal["auto", "cpu", "cuda"]
_DRIVERS: Final = ("libcuda.so.1", "nvcuda.dll")


def check_device(device: DeviceName, owner: str) -> DeviceName:
    """Return the name of a device if it is one, else raise ParameterError."""
    if device not in get_args(DeviceName):
        raise parameter_error("device", owner, f"be one of {', '.join(get_args(DeviceName))}", device)
    return device


@cache
def has_gpu() -> bool:
    """Return whether there is a GPU that PyTorch can use; asks the driver first, which is quick."""
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
