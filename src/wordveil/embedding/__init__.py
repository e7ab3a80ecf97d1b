"""Public words and vectors: in memory, on disk and by name."""

from wordveil.embedding.catalog import load_embedding, load_parent
from wordveil.embedding.formats import from_gensim, from_spacy, read_embedding
from wordveil.embedding.pickling import pickled_vectors
from wordveil.embedding.provenance import Provenance
from wordveil.embedding.store import open_store, save_store
from wordveil.embedding.vectors import Embedding

__all__ = [
    "Embedding",
    "Provenance",
    "from_gensim",
    "from_spacy",
    "load_embedding",
    "load_parent",
    "open_store",
    "pickled_vectors",
    "read_embedding",
    "save_store",
]
