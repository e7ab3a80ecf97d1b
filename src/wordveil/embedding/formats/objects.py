"""Vectors that are already in memory: gensim's KeyedVectors and spaCy's pipelines."""

from typing import Any

import numpy as np

from wordveil.embedding.formats.selection import Collector, ReadOptions
from wordveil.embedding.provenance import Provenance
from wordveil.embedding.vectors import Embedding
from wordveil.errors import ParameterError, named_type

__all__ = ["from_gensim", "from_spacy"]


def from_gensim(
    keyed_vectors: Any, *, options: ReadOptions = ReadOptions(), name: str = "gensim", public: bool = False
) -> Embedding:
    """Return the words and vectors of a gensim `KeyedVectors`, or of a model that has one as `.wv`.

    Repeated and unprintable words are left out, unless `options` are strict. `public` declares that the
    vectors were not derived from the private text.
    """
    vectors = getattr(keyed_vectors, "wv", keyed_vectors)
    words = getattr(vectors, "index_to_key", None)
    if words is None:
        raise ParameterError(
            "The 'keyed_vectors' parameter of from_gensim must be a gensim KeyedVectors. "
            f"Got {named_type(keyed_vectors)} instead."
        )
    return _collect([str(word) for word in words], np.asarray(vectors.vectors), options, name, public)


def from_spacy(
    pipeline: Any, *, options: ReadOptions = ReadOptions(), name: str = "spacy", public: bool = False
) -> Embedding:
    """Return the words and vectors of a spaCy pipeline or of its `Vocab`.

    Several words may share a row of spaCy's table; each of them gets that vector. Words whose text is not
    in the string store are left out. `public` declares that the vectors were not derived from the private
    text.
    """
    vocab = getattr(pipeline, "vocab", pipeline)
    vectors = getattr(vocab, "vectors", None)
    if vectors is None or vectors.data.shape[0] == 0:
        raise ParameterError(
            "The 'pipeline' parameter of from_spacy must be a spaCy pipeline or Vocab with vectors. "
            f"Got {named_type(pipeline)} without any instead."
        )
    word_rows = [(vocab.strings[key], row) for key, row in vectors.key2row.items() if key in vocab.strings]
    word_rows.sort(key=lambda pair: pair[1])
    data = np.asarray(vectors.data)[[row for _, row in word_rows]]
    return _collect([word for word, _ in word_rows], data, options, name, public)


def _collect(words: list[str], vectors: Any, options: ReadOptions, name: str, public: bool) -> Embedding:
    collector = Collector(vectors.shape[1], options, len(words))
    collector.add(words, vectors)
    embedding, _ = collector.finish(Provenance(name=name), public=public)
    return embedding
