from pathlib import Path

import pytest

import wordveil as wv
from wordveil.embedding.store import save_store

from .commands import CSV


@pytest.fixture
def vectors(tmp_path: Path, small: wv.Embedding) -> str:
    path = tmp_path / "vectors.safetensors"
    save_store(small, path)
    return str(path)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    place = tmp_path / "work"
    place.mkdir()
    (place / "in.csv").write_text(CSV)
    monkeypatch.chdir(place)
    return place
