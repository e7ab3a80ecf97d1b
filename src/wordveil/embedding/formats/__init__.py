"""Readers for the files and objects that hold public word vectors."""

from wordveil.embedding.formats.objects import from_gensim, from_spacy
from wordveil.embedding.formats.reading import VectorFormat, read_embedding
from wordveil.embedding.formats.selection import ReadOptions, Summary

__all__ = ["ReadOptions", "Summary", "VectorFormat", "from_gensim", "from_spacy", "read_embedding"]
