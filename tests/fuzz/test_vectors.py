"""Stored embeddings, and every other file that vectors come in."""

import gzip
import io
import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import strategies as st

import wordveil as wv
from wordveil.embedding.formats import archives
from wordveil.embedding.formats.reading import FORMATS
from wordveil.embedding.store import save_store

from .budget import Budget
from .mutations import altered, as_json, damaged
from .rules import SECRET, Rules

pytestmark = pytest.mark.fuzz

_WORDS: Final = ("cat", "dog", SECRET, "new york")
_VECTORS: Final = np.arange(12, dtype=np.float32).reshape(4, 3) - 5.5
_HINTED: Final = ("name", "source")  # the names of vectors may be reported


def text_file(header: str = "") -> bytes:
    lines = [f"{word} {' '.join(map(str, row))}" for word, row in zip(_WORDS, _VECTORS.tolist(), strict=True)]
    return (header + "\n".join(lines) + "\n").encode()


def word2vec_binary() -> bytes:
    rows = [
        word.replace(" ", "_").encode() + b" " + row.tobytes()
        for word, row in zip(_WORDS, _VECTORS, strict=True)
    ]
    return b"4 3\n" + b"\n".join(rows)


def npy(array: Any) -> bytes:
    out = io.BytesIO()
    np.save(out, array)
    return out.getvalue()


def npz() -> bytes:
    out = io.BytesIO()
    np.savez(out, words=np.array(_WORDS), vectors=_VECTORS)
    return out.getvalue()


def zipped(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def bombs() -> list[bytes]:
    """Return what expands to many times its size."""
    zeros = (b"a 0." + b"0" * 3000 + b"\n") * 700
    return [zipped(a=zeros), gzip.compress(zeros)]


def store(path: Path, dtype: Any) -> bytes:
    save_store(wv.Embedding(_WORDS, _VECTORS, public=True), path, dtype=dtype, force=True)
    return path.read_bytes()


def headers(data: bytes) -> st.SearchStrategy[bytes]:
    """A store whose header says something else, and is as long as it says."""
    size = int.from_bytes(data[:8], "little")

    def written(header: Any) -> bytes:
        if isinstance(header, dict) and isinstance(about := header.get("__metadata__"), dict):
            about.update((name, "") for name in _HINTED if name in about)
        text = as_json(header)
        text += b" " * (-len(text) % 8)
        return struct.pack("<Q", len(text)) + text + data[8 + size :]

    return altered(json.loads(data[8 : 8 + size])).map(written)


@st.composite
def tensors(draw: st.DrawFn, data: bytes) -> bytes:
    """A sound safetensors file with the metadata of a store, and tensors of any type and shape."""
    size = int.from_bytes(data[:8], "little")
    about = json.loads(data[8 : 8 + size])["__metadata__"]
    kinds = st.sampled_from(["float32", "float16", "float64", "int64", "int32", "uint8", "bool"])
    arrays = {}
    for name, usual, ndim in (("vectors", "float32", 2), ("offsets", "int64", 1), ("words", "uint8", 1)):
        kind = draw(st.sampled_from([usual] * 6) | kinds)
        lengths = st.lists(st.integers(0, 4), max_size=3) | st.lists(
            st.integers(0, 4), min_size=ndim, max_size=ndim
        )
        shape = draw(lengths)
        values = draw(st.lists(st.integers(0, 5), min_size=1, max_size=5))
        arrays[name] = np.resize(np.array(values, kind), shape)
    return bytes(safetensors.numpy.save(arrays, about))


@pytest.fixture(scope="module")
def fasttext_model(tmp_path_factory: pytest.TempPathFactory, train_fasttext: Callable[..., None]) -> bytes:
    folder = tmp_path_factory.mktemp("fasttext")
    (folder / "in.txt").write_text(f"cat dog {SECRET} cat dog\n" * 20)
    train_fasttext(folder / "in.txt", folder / "model.bin", dim=3, bucket=5, minn=2, maxn=3)
    return (folder / "model.bin").read_bytes()


def use(embedding: wv.Embedding) -> None:
    """Read what was only mapped, as whatever uses vectors does."""
    embedding.verify()
    embedding.id_of("cat")
    wv.Mahalanobis(embedding, 1.0)


def test_vectors(
    budget: Budget, rules: Rules, folder: Path, fasttext_model: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "_BOMB_FLOOR", 1 << 20)  # to unpack 64 MiB takes long
    stores = [store(folder / "store", "float32"), store(folder / "store", "float16")]
    others = [
        text_file(),
        text_file("4 3\n"),
        word2vec_binary(),
        npy(_VECTORS),
        npz(),
        fasttext_model,
        zipped(vectors=text_file()),
        zipped(a=text_file(), b=text_file()),
        zipped(**{"two\nlines": text_file()}),
    ]
    valid_list = "\n".join(_WORDS).encode()
    path, words = folder / "vectors", folder / "vectors.words.txt"

    def example(case: tuple[bytes, bytes, Any]) -> str:
        data, listed, kind = case
        path.write_bytes(data)
        words.write_bytes(listed)
        loaded = rules.call(lambda: wv.load_embedding(path, public=True))
        if not isinstance(loaded, wv.WordveilError):
            rules.call(lambda: use(loaded))
        read = rules.call(lambda: wv.read_embedding(path, public=True, format=kind))
        if not isinstance(read, wv.WordveilError):
            rules.call(lambda: use(read[0]))
        return "refused" if isinstance(loaded, wv.WordveilError) else "read"

    files = st.one_of(
        *[damaged([data]) for data in (*stores, *others)],
        damaged([gzip.compress(data) for data in others]),
        st.sampled_from(bombs()),
        damaged(others, edits=2).map(lambda data: gzip.compress(data, 1)),
        *[headers(data) for data in stores],
        tensors(stores[0]),
    )
    lists = st.just(valid_list) | damaged([valid_list])
    budget.spend(st.tuples(files, lists, st.none() | st.sampled_from(FORMATS)), example)
