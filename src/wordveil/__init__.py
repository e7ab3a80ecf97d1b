"""Wordveil makes text differentially private, word by word.

The path of one word: `Embedding` takes it to its public vector.
"""

from wordveil.embedding import Embedding, Provenance, from_gensim, from_spacy, load_embedding
from wordveil.embedding.formats import ReadOptions, read_embedding
from wordveil.errors import (
    FormatError,
    IntegrityError,
    MissingExtraError,
    ParameterError,
    PrivacyWarning,
    UnknownNameError,
    WordveilError,
)

__version__ = "0.1.0"

__all__ = [
    "Embedding",
    "FormatError",
    "IntegrityError",
    "MissingExtraError",
    "ParameterError",
    "PrivacyWarning",
    "Provenance",
    "ReadOptions",
    "UnknownNameError",
    "WordveilError",
    "from_gensim",
    "from_spacy",
    "load_embedding",
    "read_embedding",
]
