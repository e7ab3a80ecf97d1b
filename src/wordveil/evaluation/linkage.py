"""Which of N known originals became this private text? The attack that released texts really face.

The attacker ranks the originals by the cosine of their tf-idf vectors with that of the private text, as by
the defaults of scikit-learn: tf counts words, idf = ln((1 + N)/(1 + df)) + 1 is fitted on the originals, and
vectors have length 1. Words are the ids of the perturber's tokenizer; unknown words are one symbol. Of an
original, only the words that the policy leaves are used, since the policy is public.

One attack, not a bound: the mechanism's probabilities, or what an unsafe choice copies, can tell more.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from wordveil.errors import FormatError, check_whole, parameter_error, sealed
from wordveil.intervals import Share, mean_share
from wordveil.perturber import Perturber
from wordveil.policy import UNKNOWN, Policy
from wordveil.randomness import Stream, secure_stream
from wordveil.rounding import at_least, at_most
from wordveil.tokens import check_text

__all__ = [
    "Linkage",
    "Success",
    "counts_of",
    "measure_linkage",
    "remaining_ids",
    "sample_texts",
    "tfidf_rows",
]

_TOP: Final = 10  # candidates that a person could still read through
_LARGEST: Final = 20_000  # time grows with the square: about 4 s on one core for this many tweets
_BLOCK: Final = 1 << 21  # scores at once: 17 MB of float64, and about as much for the comparisons
_TIE: Final = 1e-12  # equal cosines differ by rounding, some 1e-15; different ones by far more than this

Ints = NDArray[np.int64]


class Success(NamedTuple):
    """How often the right original comes first, or in the first ten, with equal ones in random order."""

    rank_1: Share
    top_10: Share


@dataclass(frozen=True, slots=True)
class Linkage:
    """How often private texts are linked to their originals; intervals cover the noise, for these texts.

    Attributes
    ----------
    candidates : int
        N, the originals that the attacker chooses among.
    by_words : Success
        By tf-idf.
    by_length : Success
        By the number of words: a random choice among the originals that leave as many.
    by_both : Success
        By tf-idf among these. If the policy pads, all lengths are equal, so it is the same as `by_words`.
    """

    candidates: int
    by_words: Success
    by_length: Success
    by_both: Success

    @property
    def guessing(self) -> tuple[float, float]:
        """The success without any output, at rank 1 and in the top ten."""
        return 1.0 / self.candidates, min(_TOP, self.candidates) / self.candidates

    @property
    def sentence(self) -> str:
        """The success at rank 1, in plain English."""
        best, words, length = self.by_both.rank_1, self.by_words.rank_1.share, self.by_length.rank_1.share
        how = f"and its length, in {_percent(words)} by words alone, in {_percent(length)} by length alone"
        if np.isclose(length, self.guessing[0]):
            how = "(its length tells nothing)"
        interval = f"{at_least(100.0 * best.low, 0)}% to {at_most(100.0 * best.high, 0)}%"
        return (
            f"Someone who has these {self.candidates:,} texts, and sees one of them in private form, picks "
            f"the right one in {_percent(best.share)} of cases ({interval}) by its words {how}; "
            f"{_percent(self.guessing[0])} by guessing. Private result, not for release."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the same facts for machines."""
        facts: dict[str, Any] = {"not_for_release": True, "candidates": self.candidates}
        for name in ("by_words", "by_length", "by_both"):
            facts[name] = {rank: share._asdict() for rank, share in getattr(self, name)._asdict().items()}
        facts["guessing"] = dict(zip(Success._fields, self.guessing, strict=True))
        return facts | {"sentence": self.sentence}


@sealed
def measure_linkage(
    perturber: Perturber, texts: Iterable[str | None], *, most: int = 2000, stream: Stream | None = None
) -> Linkage:
    """Perturb each text once, and try to find its original among all of them.

    Missing texts and texts without words are skipped. Of more than `most` texts (2 to 20,000), a random
    choice is compared, and no others are kept. A seeded `stream` does not warn: no private text is returned.

    Examples
    --------
    >>> import wordveil as wv
    >>> perturber = wv.Perturber(wv.Laplace(wv.load_embedding().project(10), epsilon=1e6))
    >>> linkage = measure_linkage(perturber, ["book a flight", "call me at noon", "tea, please", None])
    >>> linkage.candidates, linkage.by_words.rank_1.share
    (3, 1.0)
    """
    if not isinstance(perturber, Perturber):
        raise parameter_error("perturber", "measure_linkage", "be a Perturber", perturber)
    if isinstance(texts, str | bytes):
        raise parameter_error("texts", "measure_linkage", "be a list of texts", texts)
    most = check_whole(most, "most", "measure_linkage", 2, _LARGEST)
    noise = secure_stream() if stream is None else stream
    if not isinstance(noise, Stream):
        raise parameter_error("stream", "measure_linkage", "be a Stream, made by secure_stream()", stream)
    originals = sample_texts(perturber, texts, most, noise)
    if len(originals) < 2:
        raise FormatError("Linkage needs at least two texts that contain words. Hint: give it more texts.")
    private, _ = perturber.perturb_column(originals, noise)
    return _linked(perturber, originals, [text or "" for text in private])


def sample_texts(perturber: Perturber, texts: Iterable[str | None], most: int, stream: Stream) -> list[str]:
    """Return `most` of the texts that have words, every set of them equally likely (Vitter's algorithm R)."""
    chosen: list[str] = []
    seen = 0
    for number, text in enumerate(texts):
        if text is None or not perturber.tokenizer.ids(check_text(text, number)):
            continue
        seen += 1
        if seen <= most:
            chosen.append(text)
        elif (place := int(stream.integers(seen, ()))) < most:
            chosen[place] = text
    return chosen


def _linked(perturber: Perturber, originals: list[str], private: list[str]) -> Linkage:
    """Return the result for private texts, each at the place of its original."""
    policy, width = perturber.policy, len(perturber.mechanism.embedding) + 1
    remaining = [remaining_ids(perturber.tokenizer.ids(text), policy) for text in originals]
    known = counts_of(remaining, width)
    seen = counts_of([perturber.tokenizer.ids(text) for text in private], width)
    lengths = np.array([policy.pad_to or len(ids) for ids in remaining])
    words, both = _ranks(*tfidf_rows(seen, known), lengths)
    length = np.stack([np.zeros_like(lengths), np.bincount(lengths)[lengths]])
    return Linkage(len(originals), _success(words), _success(length), _success(both))


def remaining_ids(ids: list[int], policy: Policy) -> list[int]:
    """Return the words of an original that the policy leaves to perturb; what a bag cuts is not known."""
    left = policy.remaining(ids)
    return left if policy.bag else left[: policy.pad_to]


def counts_of(texts: list[list[int]], width: int) -> Any:
    """Return how often each text has each word, as a sparse array; unknown words are the last column."""
    columns = np.fromiter(chain.from_iterable(texts), dtype=np.int64)
    columns[columns == UNKNOWN] = width - 1
    content = np.ones(len(columns)), columns, np.cumsum([0, *map(len, texts)])
    counts = sparse.csr_array(content, shape=(len(texts), width))
    counts.sum_duplicates()
    return counts


def tfidf_rows(seen: Any, known: Any) -> tuple[Any, Any]:
    """Return the tf-idf rows of what is seen and of the originals, whose words alone have a weight."""
    df = np.bincount(known.indices, minlength=known.shape[1])
    idf = np.where(df > 0, np.log((1.0 + known.shape[0]) / (1.0 + df)) + 1.0, 0.0)
    return _weighted(seen, idf), _weighted(known, idf)


def _weighted(counts: Any, idf: NDArray[np.float64]) -> Any:
    """Return counts × idf, each row scaled to length 1 unless it is zero."""
    values = counts.data * idf[counts.indices]
    row = np.repeat(np.arange(counts.shape[0]), np.diff(counts.indptr))
    norms = np.sqrt(np.bincount(row, weights=values**2, minlength=counts.shape[0]))
    values /= np.where(norms > 0.0, norms, 1.0)[row]
    return sparse.csr_array((values, counts.indices, counts.indptr), shape=counts.shape)


def _ranks(private: Any, originals: Any, lengths: Ints) -> Ints:
    """Return how many originals score better than the right one, and how many the same, for each text."""
    ranks = np.empty((2, 2, len(lengths)), np.int64)  # among all originals, among those of the same length
    transposed = originals.T.tocsr()
    step = max(1, _BLOCK // len(lengths))
    for start in range(0, len(lengths), step):
        scores = (private[start : start + step] @ transposed).toarray()
        for number, row in enumerate(scores, start):
            better, same = row > row[number] + _TIE, np.abs(row - row[number]) <= _TIE
            for result, group in zip(ranks, (True, lengths == lengths[number]), strict=True):
                result[:, number] = np.count_nonzero(better & group), np.count_nonzero(same & group)
    return ranks


def _success(ranks: Ints) -> Success:
    better, same = ranks  # of the `same`, as many as there is still room for are among the first
    return Success(*(mean_share(np.clip(top - better, 0, same) / same) for top in (1, _TOP)))


def _percent(share: float) -> str:
    return f"{round(100.0 * share, 0 if share >= 0.1 else 1 if share >= 0.01 else 3):g}%"
