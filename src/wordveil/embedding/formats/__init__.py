"""Readers for the files and objects that hold public word vectors."""

from wordveil.embedding.formats.objects import from_gensim, from_spacy
from wordveil.embedding.formats.reading import Format, read_embedding
from wordveil.embedding.formats.selection import ReadOptions, Summary

__all__ = ["Format", "ReadOptions", "Summary", "from_gensim", "from_spacy", "read_embedding"]
