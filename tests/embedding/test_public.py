"""Vectors must be declared public, wherever they come from; otherwise there is a warning."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

import wordveil as wv
from wordveil.cli.main import main
from wordveil.embedding.catalog import import_embedding

WARNING = "Nobody has declared that these vectors are public"
VECTORS = "cat 1.0 0.5\ndog 0.9 0.4\ncar 0.1 0.9\n"


def arrays(folder: Path, *, public: bool) -> wv.Embedding:
    return wv.Embedding(["a", "b"], [[0.0], [1.0]], public=public)


def read(folder: Path, *, public: bool) -> wv.Embedding:
    (folder / "v.txt").write_text(VECTORS)
    return wv.read_embedding(folder / "v.txt", public=public)[0]


def load(folder: Path, *, public: bool) -> wv.Embedding:
    (folder / "v.txt").write_text(VECTORS)
    return wv.load_embedding(folder / "v.txt", public=public)


def gensim(folder: Path, *, public: bool) -> wv.Embedding:
    from gensim.models import KeyedVectors

    vectors = KeyedVectors(2)
    vectors.add_vectors(["a", "b"], np.eye(2, dtype=np.float32))
    return wv.from_gensim(vectors, public=public)


WAYS = [arrays, read, load, gensim]


@pytest.mark.parametrize("way", WAYS)
def test_without_the_declaration_there_is_a_warning(
    way: object, tmp_path: Path, recwarn: pytest.WarningsRecorder
) -> None:
    assert callable(way)
    with pytest.warns(wv.PrivacyWarning, match=WARNING):
        emb = way(tmp_path, public=False)
    assert not emb.public
    recwarn.clear()
    emb = way(tmp_path, public=True)
    assert not [warning for warning in recwarn if WARNING in str(warning.message)]
    assert emb.public
    assert emb.project(1).public
    assert pickle.loads(pickle.dumps(emb)).public


def test_a_store_keeps_the_declaration(tmp_path: Path, recwarn: pytest.WarningsRecorder) -> None:
    (tmp_path / "v.txt").write_text(VECTORS)
    for name, options, expected in (("declared", ["--public"], 0), ("undeclared", [], 1)):
        recwarn.clear()
        assert main(["embedding", "import", str(tmp_path / "v.txt"), "--name", name, *options]) == 0
        emb = wv.load_embedding(name)
        assert emb.public == (not expected)
        assert len([warning for warning in recwarn if WARNING in str(warning.message)]) == expected
        assert wv.load_embedding(name, public=True).public


def test_the_command_warns_without_the_declaration(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "v.txt").write_text(VECTORS)
    assert main(["embedding", "import", str(tmp_path / "v.txt"), "--name", "undeclared"]) == 0
    assert WARNING in capsys.readouterr().err


def test_shipped_vectors_are_public(glove: wv.Embedding) -> None:
    assert glove.public


def test_a_store_of_version_0_1_has_no_declaration(tmp_path: Path) -> None:
    path = import_embedding(wv.Embedding(["a", "b"], [[0.0], [1.0]], public=True), "old")
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    del header["__metadata__"]["public"]
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(len(text).to_bytes(8, "little") + text + data[8 + size :])
    with pytest.warns(wv.PrivacyWarning, match=WARNING):
        emb = wv.load_embedding("old")
    emb.verify()
    assert not emb.public


def test_the_declaration_is_a_bool() -> None:
    with pytest.raises(wv.ParameterError, match="'public' parameter of Embedding must be True or False"):
        wv.Embedding(["a", "b"], [[0.0], [1.0]], public="yes")  # type: ignore[arg-type]  # that is the test
