import ctypes
import importlib.util
import sys
from types import SimpleNamespace
from typing import Any

import pytest

import wordveil as wv
from wordveil.cli import options
from wordveil.nearest import AutomaticSearch, BruteSearch, automatic
from wordveil.nearest.devices import check_device, has_gpu


class Driver:
    """A driver that reports that many devices, or fails."""

    def __init__(self, count: int, failure: int = 0) -> None:
        self.count, self.failure = count, failure

    def cuInit(self, _: int) -> int:  # noqa: N802  # the driver's own name
        return self.failure

    def cuDeviceGetCount(self, count: Any) -> int:  # noqa: N802  # the driver's own name
        count._obj.value = self.count
        return 0


@pytest.mark.parametrize(
    ("driver", "installed", "usable", "expected"),
    [
        (None, True, True, False),
        (Driver(0), True, True, False),
        (Driver(1, failure=100), True, True, False),
        (Driver(1), False, True, False),
        (Driver(1), True, False, False),
        (Driver(2), True, True, True),
    ],
)
def test_whether_there_is_a_gpu(
    driver: Driver | None, installed: bool, usable: bool, expected: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def load(_: str) -> Driver:
        if driver is None:
            raise OSError("no such library")
        return driver

    torch = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: usable))
    monkeypatch.setattr(ctypes, "CDLL", load)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: object() if installed else None)
    monkeypatch.setitem(sys.modules, "torch", torch)
    has_gpu.cache_clear()
    assert has_gpu() is expected
    has_gpu.cache_clear()


@pytest.mark.parametrize("available", [True, False])
def test_the_command_says_if_there_is_no_gpu(
    available: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(options, "has_gpu", lambda: available)
    assert options.chosen_device("cpu") == "cpu"
    assert options.chosen_device("auto") == "auto"
    assert capsys.readouterr().err == ""
    assert options.chosen_device("cuda") == ("cuda" if available else "cpu")
    message = capsys.readouterr().err
    assert message.count("\n") == (0 if available else 1)


def test_a_gpu_is_used_if_there_is_one(glove: wv.Embedding, monkeypatch: pytest.MonkeyPatch) -> None:
    searched_rows: list[Any] = []
    monkeypatch.setattr(automatic, "has_gpu", lambda: True)

    class OnGpu(BruteSearch):
        def __init__(self, rows: Any) -> None:
            searched_rows.append(rows)

    monkeypatch.setattr(automatic, "TorchSearch", OnGpu)
    rows = glove.vectors[:2000].astype(float)
    assert isinstance(AutomaticSearch(rows, "auto").prepare(10**6), OnGpu)
    assert isinstance(AutomaticSearch(rows, "cuda").prepare(10**6), OnGpu)
    assert not isinstance(AutomaticSearch(rows, "cpu").prepare(10**6), OnGpu)
    assert len(searched_rows) == 2


def test_other_devices_are_refused(glove: wv.Embedding) -> None:
    assert check_device("auto", "Mahalanobis") == "auto"
    with pytest.raises(
        wv.ParameterError, match="'device' parameter of Mahalanobis must be one of auto, cpu, cuda"
    ):
        wv.Mahalanobis(glove, 1.0, device="tpu")  # type: ignore[arg-type]  # that is the test
