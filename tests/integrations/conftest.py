"""Shared by the tests of integrations: no telemetry, and no connection to another machine."""

import os
import secrets
import socket
import tempfile
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import wordveil as wv

from .checks import DRAWN_KEYS, LOCAL_HOSTS, OFFLINE, small_perturber

os.environ.update(OFFLINE)  # before the libraries are imported, some of which read it then
# A list that was downloaded earlier would hide that a library asks for it.
os.environ["TLDEXTRACT_CACHE"] = str(Path(tempfile.gettempdir(), f"tldextract-{os.getpid()}"))


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test in which anything looks up the address of another machine."""
    hosts: list[str] = []
    look_up = socket.getaddrinfo

    def guarded(host: Any, *args: Any, **kwargs: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        if name not in (*LOCAL_HOSTS, socket.gethostname()):
            hosts.append(name)
            raise socket.gaierror("no network in tests")
        return look_up(host, *args, **kwargs)

    monkeypatch.setattr(socket, "getaddrinfo", guarded)
    yield
    assert not hosts


@pytest.fixture(autouse=True)
def _keys(monkeypatch: pytest.MonkeyPatch) -> None:
    """Record the keys that wordveil draws, so that `check_pickle` can look for them.

    No key is renewed because time has passed: on a busy machine that would hide that processes share one.
    """

    def recorded(count: int) -> bytes:
        DRAWN_KEYS.append(secrets.token_bytes(count))
        return DRAWN_KEYS[-1]

    monkeypatch.setattr("wordveil.randomness._SECONDS_PER_KEY", float("inf"))
    monkeypatch.setattr("wordveil.randomness.secrets", types.SimpleNamespace(token_bytes=recorded))


@pytest.fixture(scope="session")
def perturber() -> wv.Perturber:
    return small_perturber()


@pytest.fixture
def transformer(perturber: wv.Perturber) -> Any:
    return wv.sklearn.PerturbTransformer(0.01, embedding=perturber.mechanism.embedding)


@pytest.fixture
def watched() -> Iterator[Path]:
    """The only folder that a script in a process of its own writes to.

    Its name is short: some libraries have sockets in it, whose names are limited to 107 bytes.
    """
    with tempfile.TemporaryDirectory(prefix="w", ignore_cleanup_errors=True) as name:
        folder = Path(name, "w")
        folder.mkdir()
        yield folder
