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
    """A driver that knows of so many devices, or fails."""

    def __init__(self, count: int, failure: int = 0) -> None:
        self.count, self.failure = count, failure

    def cuInit(self, _: int) -> int:  # noqa: N802  # the driver's own name
        return self.failure

    def cuDeviceGetCount(self, count: Any) -> int:  # noqa: N802  # the driver's own name
        count._obj.value = self.count
        return 0


@pytest.mark.parametrize(
    ("driver", "installed", "usable", "found"),
    [
        (None, True, True, False),
        (Driver(0), True, True, False),
        (Driver(1, failure=100), True, True, False),
        (Driver(1), False, True, False),
        (Driver(1), True, False, False),
        (Driver(2), True, True, True),
    ],
)
def test_a_gpu_is_looked_for(
    driver: Driver | None, installed: bool, usable: bool, found: bool, monkeypatch: pytest.MonkeyPatch
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
    assert has_gpu() is found
    has_gpu.cache_clear()


@pytest.mark.parametrize("there", [True, False])
def test_what_is_asked_for_and_what_is_there(
    there: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(options, "has_gpu", lambda: there)
    assert options.chosen_device("cpu") == "cpu"
    assert options.chosen_device("auto") == "auto"
    assert capsys.readouterr().err == ""
    assert options.chosen_device("cuda") == ("cuda" if there else "cpu")
    told = capsys.readouterr().err
    assert told.count("\n") == (0 if there else 1)


def test_a_gpu_is_used_where_it_is(glove: wv.Embedding, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    monkeypatch.setattr(automatic, "has_gpu", lambda: True)

    class OnGpu(BruteSearch):
        def __init__(self, rows: Any) -> None:
            made.append(rows)

    monkeypatch.setattr(automatic, "TorchSearch", OnGpu)
    rows = glove.vectors[:2000].astype(float)
    assert isinstance(AutomaticSearch(rows, "auto").prepare(10**6), OnGpu)
    assert isinstance(AutomaticSearch(rows, "cuda").prepare(10**6), OnGpu)
    assert not isinstance(AutomaticSearch(rows, "cpu").prepare(10**6), OnGpu)
    assert len(made) == 2


def test_other_devices_are_refused(glove: wv.Embedding) -> None:
    assert check_device("auto", "Mahalanobis") == "auto"
    with pytest.raises(
        wv.ParameterError, match="'device' parameter of Mahalanobis must be one of auto, cpu, cuda"
    ):
        wv.Mahalanobis(glove, 1.0, device="tpu")  # type: ignore[arg-type]  # that is the point
