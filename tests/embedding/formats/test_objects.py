"""Tests with real gensim and spaCy objects, not mocks."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import spacy
from gensim.models import KeyedVectors

import wordveil as wv

WORDS = ["the", "naïve", "don't"]
VECTORS = np.random.default_rng(3).normal(size=(3, 4)).astype(np.float32)


def keyed() -> Any:
    vectors = KeyedVectors(4)
    vectors.add_vectors(WORDS, VECTORS)
    return vectors


def test_gensim() -> None:
    emb = wv.from_gensim(keyed())
    assert emb.words == tuple(WORDS)
    np.testing.assert_array_equal(emb.vectors, VECTORS)


@pytest.mark.parametrize("binary", [False, True])
def test_files_that_gensim_writes(binary: bool, tmp_path: Path) -> None:
    keyed().save_word2vec_format(str(tmp_path / "v"), binary=binary)
    emb, _ = wv.read_embedding(tmp_path / "v")
    assert emb.words == tuple(WORDS)
    np.testing.assert_array_equal(emb.vectors, VECTORS)


def test_spacy() -> None:
    pipeline = spacy.blank("en")
    for word, vector in zip(WORDS, VECTORS, strict=True):
        pipeline.vocab.set_vector(word, vector)
    for source in (pipeline, pipeline.vocab):
        emb = wv.from_spacy(source)
        assert set(emb.words) == set(WORDS)
        np.testing.assert_array_equal(np.stack([emb.vector(word) for word in WORDS]), VECTORS)


def test_objects_without_vectors_are_refused() -> None:
    with pytest.raises(wv.ParameterError, match="KeyedVectors"):
        wv.from_gensim([1, 2])
    with pytest.raises(wv.ParameterError, match="with vectors"):
        wv.from_spacy(spacy.blank("en"))
