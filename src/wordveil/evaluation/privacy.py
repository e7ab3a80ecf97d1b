"""How a mechanism treats public words: N_w, how often one stays, and S_w, how many answers it has."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from wordveil.embedding import Embedding
from wordveil.errors import UnknownNameError, check_whole
from wordveil.evaluation.text_density import neighbour_distances
from wordveil.intervals import Share, clopper_pearson
from wordveil.mechanisms import Mechanism
from wordveil.randomness import Stream

__all__ = ["Share", "WordStatistics", "clopper_pearson", "reference_words", "typical_stay", "word_statistics"]

# A word's region is judged by its 10th nearest neighbour: a single close word, such as a plural, would make
# an isolated word look dense.
_NEIGHBOUR_RANK: Final = 10
_TYPICAL_DRAWS: Final = 2000  # the interval reaches at most 2.3 percentage points to each side


@dataclass(frozen=True, slots=True)
class WordStatistics:
    """What a word was answered with in many draws.

    Attributes
    ----------
    word : str
    draws : int
    stays : Share
        N_w as a share: how often the answer is the word itself.
    distinct : int
        S_w: how many different answers there were, the word included.
    answers : list of (str, Share)
        The most frequent answers, most frequent first.
    """

    word: str
    draws: int
    stays: Share
    distinct: int
    answers: list[tuple[str, Share]]

    def to_dict(self) -> dict[str, Any]:
        """Return the same facts for machines."""
        return {
            "word": self.word,
            "draws": self.draws,
            "stays": self.stays._asdict(),
            "distinct_answers": self.distinct,
            "answers": [{"word": word} | share._asdict() for word, share in self.answers],
        }


def word_statistics(
    mechanism: Mechanism, word: str, draws: int, stream: Stream, most: int = 8
) -> WordStatistics:
    """Perturb a public word many times and count its answers.

    Examples
    --------
    >>> import wordveil as wv
    >>> facts = word_statistics(wv.Laplace(wv.load_embedding(), 40.0), "boston", 50, wv.insecure_stream(1))
    >>> facts.answers[0][0]
    'boston'
    """
    draws = check_whole(draws, "draws", "word_statistics", 1)
    number = mechanism.embedding.id_of(word)
    if number is None:
        raise UnknownNameError("The word is not in the vocabulary, so it is treated like any unknown word.")
    answers = mechanism.perturb_ids(np.full(draws, number), stream=stream)
    distinct, counts = np.unique(answers, return_counts=True)
    order = np.lexsort((distinct, -counts))[:most]
    return WordStatistics(
        word,
        draws,
        clopper_pearson(int((answers == number).sum()), draws),
        len(distinct),
        [(mechanism.embedding.words[distinct[i]], clopper_pearson(int(counts[i]), draws)) for i in order],
    )


def typical_stay(mechanism: Mechanism, stream: Stream) -> Share:
    """Return how often a random word of the vocabulary stays.

    Words are drawn at random without replacement, and each is perturbed once, because two draws of one word
    carry less information than draws of two words. The number of words that stay then varies no more than a
    binomial number, so the Clopper-Pearson interval is valid; sampling without replacement only narrows it.
    In a vocabulary with fewer words, all are perturbed equally often, so the choice of words adds no error.
    """
    count = len(mechanism.embedding)
    chosen = stream.permutation(count)[:_TYPICAL_DRAWS]
    ids = np.tile(chosen, max(1, _TYPICAL_DRAWS // count))
    answers = mechanism.perturb_ids(ids, stream=stream)
    return clopper_pearson(int((answers == ids).sum()), len(ids))


def reference_words(embedding: Embedding, sample: int = 1000) -> tuple[str, str]:
    """Return a public word from a dense and one from a sparse region.

    In an even sample of words, they are at the 5th and the 95th percentile of the Euclidean distance to the
    10th nearest neighbour.
    """
    ids = np.unique(np.linspace(0, len(embedding) - 1, min(sample, len(embedding))).astype(np.int64))
    distances = neighbour_distances(embedding, ids, min(_NEIGHBOUR_RANK, len(embedding) - 1))
    order = ids[np.argsort(distances, kind="stable")]
    dense, sparse = order[int(0.05 * (len(order) - 1))], order[int(0.95 * (len(order) - 1))]
    return embedding.words[dense], embedding.words[sparse]
