"""Context: a public model of which words follow each other, and forward-backward over the posteriors.

Pr[next | previous] = (c(previous, next) + κ·p(next))/(c(previous) + κ), with the counts c of pairs in public
text. For each position the best words of the posterior are kept, and the probabilities of all paths through
them are added up exactly.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordveil.embedding import Embedding
from wordveil.errors import FormatError
from wordveil.evaluation.attacks_result import Attack
from wordveil.evaluation.attacks_words import each_posterior, log_shares
from wordveil.intervals import Share, clustered_share
from wordveil.mechanisms import Mechanism
from wordveil.prior import Prior
from wordveil.randomness import insecure_stream
from wordveil.tokens import Tokenizer, split

__all__ = ["Bigrams", "context_attacks", "public_model"]

_CANDIDATES: Final = 100  # words of each position: with 200 the result changed by less than 0.002
# How many uses of a word outweigh the use of words in general. On the SMS texts with `balanced`, 5, 20 and 80
# recognise 49.1%, 50.1% and 50.7% of the words: it hardly matters.
_KAPPA: Final = 20.0

Floats = NDArray[np.float64]
Ids = NDArray[np.int64]


class Bigrams:
    """How often words follow each other in public text.

    Parameters
    ----------
    counts : sparse array of shape (V + 1, V + 1)
        c(previous, next); the last row and column stand for all words outside the vocabulary.
    prior : Prior
        How often each word is used, for pairs that were not seen.

    Examples
    --------
    >>> emb = Embedding(["hot", "tea", "ice"], [[0.0], [1.0], [3.0]], public=True)
    >>> model = Bigrams.from_texts(emb, ["hot tea", "hot tea", "ice"], Prior.uniform(emb))
    >>> model.transitions(np.array([0]), np.array([0, 1, 2])).round(2)
    array([[0.23, 0.32, 0.23]])
    """

    def __init__(self, counts: Any, prior: Prior) -> None:
        self._counts = sparse.csr_array(counts)
        self._totals = np.asarray(self._counts.sum(axis=1)).ravel()
        self.prior = prior

    @classmethod
    def from_texts(cls, embedding: Embedding, texts: Iterable[str], prior: Prior) -> "Bigrams":
        """Return the model of public texts."""
        tokenizer = Tokenizer(embedding.index)
        pairs: list[NDArray[np.int64]] = []
        for text in texts:
            ids = np.array(tokenizer.ids(text), dtype=np.int64)
            pairs.append(np.stack((ids[:-1], ids[1:])) if len(ids) > 1 else np.empty((2, 0), np.int64))
        if not pairs or not sum(pair.shape[1] for pair in pairs):
            raise FormatError("The public text has no two words that follow each other. Hint: more text.")
        joined = np.concatenate(pairs, axis=1)
        return cls._of(embedding, joined, np.ones(joined.shape[1]), prior)

    @classmethod
    def from_counts(
        cls, embedding: Embedding, counts: Mapping[tuple[str, str], float], prior: Prior
    ) -> "Bigrams":
        """Return the model of counted pairs of words; pairs with an unknown word are left out."""
        ids = np.array([embedding.ids_of(pair) for pair in counts], dtype=np.int64).reshape(-1, 2).T
        known = (ids >= 0).all(axis=0)
        return cls._of(embedding, ids[:, known], np.array(list(counts.values()))[known], prior)

    @classmethod
    def _of(cls, embedding: Embedding, pairs: Ids, weights: Floats, prior: Prior) -> "Bigrams":
        size = len(embedding) + 1
        places = np.where(pairs < 0, size - 1, pairs)
        return cls(sparse.coo_array((weights, (places[0], places[1])), shape=(size, size)), prior)

    def transitions(self, previous: Ids, following: Ids) -> Floats:
        """Return Pr[next | previous] for all pairs of two lists of words."""
        counts = self._counts[previous][:, following].toarray()
        shares = self.prior.shares[following]
        return np.asarray((counts + _KAPPA * shares) / (self._totals[previous] + _KAPPA)[:, None])


def context_attacks(
    mechanism: Mechanism, model: Bigrams, texts: Sequence[Sequence[int]], english: Prior
) -> list[Attack]:
    """Return how often words of these texts (lists of ids) are guessed, without and with their context.

    Three attackers see the same noisy vectors: one knows the use of words in English, one that of the public
    text, and one also which words follow each other there. Their success is that on words of the vocabulary:
    "outside the vocabulary" is no word, so naming it is counted apart. The null is how often the likeliest
    word of what they know is right on these texts.
    """
    channel = mechanism.valid_channel()
    lengths = np.array([len(text) for text in texts])
    if channel is None or not lengths.sum():
        return []
    ids = np.array([number for text in texts for number in text], dtype=np.int64)
    size = len(english.shares)
    places = np.where(ids < 0, size - 1, ids)
    seen = channel.observe(ids, insecure_stream(21))
    alone = np.empty(len(ids), np.int64)
    candidates = np.empty((len(ids), min(_CANDIDATES, size)), np.int64)
    weights = np.empty(candidates.shape)

    def use_english(rows: slice, posteriors: Floats) -> None:
        alone[rows] = posteriors.argmax(axis=1)

    def use_model(rows: slice, posteriors: Floats) -> None:
        best = np.argpartition(-posteriors, candidates.shape[1] - 1, axis=1)[:, : candidates.shape[1]]
        candidates[rows] = best
        weights[rows] = np.take_along_axis(posteriors, best, axis=1)

    each_posterior(channel, [seen], log_shares(english), use_english)
    each_posterior(channel, [seen], log_shares(model.prior), use_model)
    by_use = np.take_along_axis(candidates, weights.argmax(axis=1)[:, None], axis=1)[:, 0]
    likelihoods = weights / model.prior.shares[candidates]
    smoothed = np.empty(len(ids), np.int64)
    for stop, length in zip(np.cumsum(lengths), lengths, strict=True):
        block = slice(stop - length, stop)
        smoothed[block] = _smoothed(model, candidates[block], likelihoods[block])
    guesses = {
        "English use": (alone, english),
        "use in the public text": (by_use, model.prior),
        "context of the public text": (smoothed, model.prior),
    }
    texts_of_words = np.repeat(np.arange(len(lengths)), lengths)
    attacks = []
    for title, is_attacked in {"": ids >= 0, ", word outside the vocabulary": ids < 0}.items():
        if not is_attacked.any():
            continue
        counts = np.bincount(texts_of_words[is_attacked], minlength=len(lengths))
        right = places[is_attacked]
        for name, (guess, known) in guesses.items():
            success = _token_share(guess[is_attacked] == right, counts)
            null = float((right == _likeliest(known, bool(title))).mean())
            count = int(is_attacked.sum())
            attacks.append(Attack("context", name + title, success, null, count, mechanism.setting()))
    return attacks


def _likeliest(prior: Prior, outside: bool) -> int:
    """Return the best guess without the output: of the words, or of all, where the last is "outside"."""
    return int(prior.shares.argmax() if outside else prior.shares[:-1].argmax())


def _smoothed(model: Bigrams, candidates: Ids, likelihoods: Floats) -> Ids:
    """Return the likeliest word of each position, given all positions of the text."""
    count = len(candidates)
    steps = [model.transitions(candidates[i], candidates[i + 1]) for i in range(count - 1)]
    forward, backward = np.empty_like(likelihoods), np.ones_like(likelihoods)
    forward[:1] = likelihoods[:1] * model.prior.shares[candidates[:1]]
    for i in range(count - 1):
        forward[i] /= forward[i].sum()
        forward[i + 1] = likelihoods[i + 1] * (forward[i] @ steps[i])
    for i in range(count - 2, -1, -1):
        backward[i] = steps[i] @ (likelihoods[i + 1] * backward[i + 1])
        backward[i] /= backward[i].sum()
    return np.take_along_axis(candidates, (forward * backward).argmax(axis=1)[:, None], axis=1)[:, 0]


def _token_share(hits: NDArray[np.bool_], lengths: Ids) -> Share:
    """Return the share of words, with an interval that knows that the words of a text go together."""
    stops = np.cumsum(lengths)
    per_text = np.diff(np.append(0, np.cumsum(hits)[stops[lengths > 0] - 1]))
    share = float(hits.mean())
    error = float(np.sqrt(((per_text - share * lengths[lengths > 0]) ** 2).sum())) / len(hits)
    return clustered_share(share, error, len(hits), len(per_text))


def public_model(embedding: Embedding, lines: Sequence[str]) -> Bigrams:
    """Return the model of public text, one text per line, or of counts, `word word count` per line.

    Examples
    --------
    >>> emb = Embedding(["hot", "tea", "ice"], [[0.0], [1.0], [3.0]], public=True)
    >>> public_model(emb, ["hot tea 3", "ice tea 1"]).transitions(np.array([0]), np.array([1])).round(2)
    array([[0.99]])
    """
    parts = [(number, line.split()) for number, line in enumerate(lines, 1) if line.strip()]
    counted = [len(words) == 3 and _is_count(words[2]) for _, words in parts]
    if 2 * sum(counted) > len(counted):
        if not all(counted):
            number = parts[counted.index(False)][0]
            raise FormatError(
                f"Line {number} of the public counts is not 'word word count', as most lines are. Hint: "
                "leave it out."
            )
        return _of_pairs(embedding, [words for _, words in parts])
    words = Counter(word for line in lines for word in split(line))
    if not words:
        raise FormatError("The public text has no words. Hint: name another file.")
    return Bigrams.from_texts(embedding, lines, Prior.from_counts(embedding, words, public=True))


def _of_pairs(embedding: Embedding, rows: Iterable[Sequence[str]]) -> Bigrams:
    """Return the model of counted pairs; the counts of a pair that occurs more than once are added up."""
    pairs, uses = Counter[tuple[str, str]](), Counter[str]()
    for first, second, count in rows:
        pairs[first, second] += float(count)  # type: ignore[assignment]  # counts may have decimals
        uses[second] += float(count)  # type: ignore[assignment]  # the same
    return Bigrams.from_counts(embedding, pairs, Prior.from_counts(embedding, uses, public=True))


def _is_count(text: str) -> bool:
    return text.replace(".", "", 1).isdecimal()
