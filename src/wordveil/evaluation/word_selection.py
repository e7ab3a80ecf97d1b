"""Which words of a vocabulary an experiment draws: all, a random sample, or those listed in a file."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from wordveil.embedding import Embedding
from wordveil.embedding.formats.numpy_files import read_word_list
from wordveil.errors import FormatError, check_whole

__all__ = ["WordSelection", "select_words"]


class WordSelection(NamedTuple):
    """The ids of the selected words, in ascending order, and how many listed words have no vector."""

    ids: NDArray[np.int64]
    missing: int = 0


def select_words(embedding: Embedding, words: "str | int | Path | Iterable[str]", seed: int) -> WordSelection:
    """Return the words that `words` names: "all", a number of random words, a list, or the path of a list.

    Examples
    --------
    >>> emb = Embedding(["a", "b", "c"], [[0.0], [1.0], [2.0]], public=True)
    >>> select_words(emb, "all", seed=0).ids.tolist(), len(select_words(emb, 2, seed=0).ids)
    ([0, 1, 2], 2)
    >>> select_words(emb, ["c", "d"], seed=0)
    WordSelection(ids=array([2]), missing=1)
    """
    if words == "all":
        return WordSelection(np.arange(len(embedding)))
    if isinstance(words, str) and words.isdecimal():
        words = int(words)
    if isinstance(words, int):
        count = min(check_whole(words, "words", "privacy", 1), len(embedding))
        # The second number keeps this generator apart from the others that take the same seed.
        random = np.random.default_rng([seed, 3])
        return WordSelection(np.sort(random.choice(len(embedding), count, replace=False)))
    source, listed = "The list of words", []
    if isinstance(words, str | Path):
        source, listed = str(words), read_word_list(Path(words))
    else:
        listed = list(words)
    in_vocabulary = [word for word in listed if word in embedding]
    if not in_vocabulary:
        raise FormatError(
            f"{source}: none of its words is in the vocabulary. Hint: one word per line, in lower case."
        )
    return WordSelection(np.unique(embedding.ids_of(in_vocabulary)), len(listed) - len(in_vocabulary))
