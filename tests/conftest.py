"""Shared by all tests: the default vectors, an empty user's folder, and the real data where it is there."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

import wordveil as wv

# In CI the same examples every time; on a desk new ones, which is how new mistakes are found.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("desk", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "desk")


@pytest.fixture(autouse=True)
def _home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path_factory.mktemp("home")
    for name in ("HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(name, str(home))
    monkeypatch.delenv("WORDVEIL_DEBUG", raising=False)


@pytest.fixture(scope="session")
def glove() -> wv.Embedding:
    return wv.load_embedding()


@pytest.fixture(scope="session")
def real_data() -> Path:
    folder = os.environ.get("WORDVEIL_TEST_DATA")
    if not folder:
        pytest.skip("WORDVEIL_TEST_DATA is not set: the real data sets are not shipped with the project")
    return Path(folder)
