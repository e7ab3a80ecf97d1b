"""Tests with a small real fastText model, trained here with the fastText library."""

import gzip
import struct
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import fasttext
import numpy as np
import pytest

import wordveil as wv


@pytest.fixture(scope="module")
def model_path(tmp_path_factory: pytest.TempPathFactory, train_fasttext: Callable[..., None]) -> Path:
    folder = tmp_path_factory.mktemp("fasttext")
    text = folder / "text.txt"
    words = ["monday", "tuesday", "naïve", "flight", "boston", "ticket", "delay"]
    draws = np.random.default_rng(1)
    text.write_text("\n".join(" ".join(draws.choice(words, 8)) for _ in range(200)))
    path = folder / "model.bin"
    train_fasttext(text, path, dim=10, bucket=1000)
    return path


def test_own_words(model_path: Path) -> None:
    model = fasttext.load_model(str(model_path))
    emb, _ = wv.read_embedding(model_path)
    assert emb.dim == 10
    assert {"monday", "naïve"} <= set(emb.words)
    np.testing.assert_array_equal(emb.vector("monday"), model.get_word_vector("monday"))


def test_a_word_list_gets_vectors_from_n_grams(model_path: Path) -> None:
    model = fasttext.load_model(str(model_path))
    only = frozenset({"mondayy", "bostn", "flight"})
    emb, summary = wv.read_embedding(model_path, options=wv.ReadOptions(only=only))
    assert set(emb.words) == only
    assert summary.missing == 0
    np.testing.assert_array_equal(emb.vector("bostn"), model.get_word_vector("bostn"))


@pytest.mark.parametrize("kept", [3, 20, 60, 100, 160, 300, 0.5, 0.999])
def test_a_model_that_is_cut_short_is_refused(kept: float, model_path: Path, tmp_path: Path) -> None:
    data = model_path.read_bytes()
    cut = int(kept * len(data)) if kept < 1 else int(kept)
    path = tmp_path / "cut.bin"
    path.write_bytes(data[:cut])
    with pytest.raises(
        wv.FormatError, match=r"cut short|format is not recognised|no numbers|not valid UTF-8"
    ):
        wv.read_embedding(path)


def test_a_model_that_states_a_wrong_size_is_refused(model_path: Path, tmp_path: Path) -> None:
    data = bytearray(model_path.read_bytes())
    data[64:68] = (2**31 - 1).to_bytes(4, "little")
    (tmp_path / "lie.bin").write_bytes(data)
    with pytest.raises(wv.FormatError, match="cut short"):
        wv.read_embedding(tmp_path / "lie.bin")


def test_a_packed_model(model_path: Path, tmp_path: Path) -> None:
    (tmp_path / "m.bin.gz").write_bytes(gzip.compress(model_path.read_bytes()))
    with zipfile.ZipFile(tmp_path / "m.zip", "w") as archive:
        archive.write(model_path)
    plain, _ = wv.read_embedding(model_path)
    for name in ("m.bin.gz", "m.zip"):
        assert wv.read_embedding(tmp_path / name)[0].fingerprint == plain.fingerprint


# The offsets of the fields of the header. The fastText library checks none of them.
FIELDS = {"dim": 8, "loss": 32, "model": 36, "bucket": 40, "entries": 64, "words": 68, "labels": 72}


@pytest.mark.parametrize("value", [-1, 0, 1, 9, 100_000, 2**31 - 1])
@pytest.mark.parametrize("field", FIELDS)
def test_a_header_that_does_not_match_its_tables(
    field: str, value: int, model_path: Path, tmp_path: Path
) -> None:
    data = bytearray(model_path.read_bytes())
    place = slice(FIELDS[field], FIELDS[field] + 4)
    same_meaning = field in ("loss", "model") and value == 1
    if data[place] == struct.pack("<i", value) or same_meaning:
        return
    data[place] = struct.pack("<i", value)
    (tmp_path / "lie.bin").write_bytes(data)
    with pytest.raises(wv.FormatError, match="cut short, damaged"):
        wv.read_embedding(tmp_path / "lie.bin")


def test_a_word_that_is_not_utf8(model_path: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.bin").write_bytes(model_path.read_bytes().replace(b"monday", b"\xff\xfenday"))
    with pytest.raises(wv.FormatError, match="not valid UTF-8"):
        wv.read_embedding(tmp_path / "bad.bin")


def test_without_the_extra_one_line_says_what_to_install(
    model_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "fasttext", None)
    with pytest.raises(wv.MissingExtraError, match=r"pip install 'wordveil\[fasttext\]'"):
        wv.read_embedding(model_path)
