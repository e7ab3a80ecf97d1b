"""How close in meaning answers are to words, beside what answers that tell nothing would score."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wordveil.embedding import Embedding
from wordveil.errors import check_whole
from wordveil.intervals import Share, mean_share
from wordveil.mechanisms import Mechanism
from wordveil.mechanisms.answers import units_of
from wordveil.prior import Prior
from wordveil.randomness import Stream, insecure_stream

__all__ = ["Closeness", "WordSample", "draw_words", "measure_closeness"]

_DRAWS: Final = 2000  # a mean cosine is then within 0.03 (Mahalanobis, 15 dims, ε = 6)
_NEAR: Final = (10, 100)  # an answer counts as near if fewer words than this are closer to the word
_BLOCK: Final = 256  # words at a time: a table of 256 × 33,752 cosines has 35 MB
_ROUNDING: Final = 1e-6  # of cosines in float32, computed in two ways

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Closeness:
    """How close answers are to words, by cosine in the vectors that the space was made from.

    Attributes
    ----------
    cosine : Share
        The mean cosine of word and answer, with a 95% interval.
    near_10, near : Share
        The share of answers among the 10 and the 100 words nearest to the word, itself included.
    unchanged : Share
        The share of answers that are the word itself.
    constant, random : float
        The mean cosine of the best answer that is always the same, and of a random word.
    constant_near_10, random_near_10, constant_near, random_near : float
        How often those are among the 10 and the 100 nearest.
    """

    cosine: Share
    near_10: Share
    near: Share
    unchanged: Share
    constant: float
    random: float
    constant_near_10: float
    random_near_10: float
    constant_near: float
    random_near: float

    def to_dict(self) -> dict[str, Any]:
        """Return the same facts as plain JSON values."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {
            name: value._asdict() if isinstance(value, Share) else value for name, value in values.items()
        }


@dataclass(frozen=True, slots=True, eq=False)
class WordSample:
    """Words drawn from a prior, the cosines an answer must reach to be near them, and two null answers.

    One sample serves any number of mechanisms on spaces that were made from the same vectors.

    Attributes
    ----------
    ids : array of int
        The words; those without a vector are left out.
    limits : dict of arrays
        The cosine of each word with its 10th and its 100th nearest word.
    constant, random : arrays of int
        The best answer that is always the same, and random words.
    """

    ids: Ints
    limits: dict[int, Floats]
    constant: Ints
    random: Ints


def draw_words(
    embedding: Embedding, prior: Prior, *, draws: int = _DRAWS, stream: Stream | None = None
) -> WordSample:
    """Draw words from a prior and measure how near their nearest words are.

    Examples
    --------
    >>> import wordveil as wv
    >>> emb = wv.load_embedding()
    >>> sample = draw_words(emb, wv.Prior.english(emb).content(), draws=50)
    >>> bool((sample.limits[10] > sample.limits[100]).all())
    True
    """
    draws = check_whole(draws, "draws", "draw_words", 2)
    stream = insecure_stream(0) if stream is None else stream
    ids = prior.draw(stream.uniforms((draws,)))
    ids = ids[ids >= 0]
    units = units_of(embedding)
    ranks = {near: min(near, len(units)) for near in _NEAR}
    limits = {near: np.empty(len(ids)) for near in _NEAR}
    for start in range(0, len(ids), _BLOCK):
        block = slice(start, start + _BLOCK)
        table = np.partition(units[ids[block]] @ units.T, [-rank for rank in ranks.values()], axis=1)
        for near, rank in ranks.items():
            limits[near][block] = table[:, -rank]
    constant = np.full(len(ids), _best_constant(units, prior))
    return WordSample(ids, limits, constant, stream.integers(len(units), (len(ids),)))


def measure_closeness(
    mechanism: Mechanism,
    prior: Prior,
    *,
    draws: int = _DRAWS,
    stream: Stream | None = None,
    sample: WordSample | None = None,
) -> Closeness:
    """Perturb words drawn from a prior, or those of a `sample`, and compare the answers with them.

    Words without a vector are left out.

    Examples
    --------
    >>> import wordveil as wv
    >>> emb = wv.load_embedding().project(10)
    >>> result = measure_closeness(wv.Laplace(emb, epsilon=6.0), wv.Prior.english(emb).content(), draws=500)
    >>> result.cosine.share > result.constant > result.random
    True
    """
    draws = check_whole(draws, "draws", "measure_closeness", 2)
    stream = insecure_stream(0) if stream is None else stream
    if sample is None:
        sample = draw_words(mechanism.embedding, prior, draws=draws, stream=stream)
    units = units_of(mechanism.embedding)
    answers = mechanism.perturb_ids(sample.ids, stream=stream)
    cosines = {
        name: _cosines(units, sample.ids, words)
        for name, words in (("answer", answers), ("constant", sample.constant), ("random", sample.random))
    }
    near = {
        (name, rank): values >= limit - _ROUNDING
        for name, values in cosines.items()
        for rank, limit in sample.limits.items()
    }
    return Closeness(
        _signed(cosines["answer"]),
        mean_share(near["answer", 10]),
        mean_share(near["answer", 100]),
        mean_share(answers == sample.ids),
        float(cosines["constant"].mean()),
        float(cosines["random"].mean()),
        *(float(near[name, rank].mean()) for rank in _NEAR for name in ("constant", "random")),
    )


def _signed(cosines: Floats) -> Share:
    """Return the mean of cosines, which are between -1 and 1, with its interval."""
    share = mean_share((cosines + 1.0) / 2.0)
    return Share(*(2.0 * end - 1.0 for end in share))


def _best_constant(units: NDArray[np.float32], prior: Prior) -> int:
    """Return the word with the largest mean cosine with all words, weighted by their use."""
    mean = prior.shares[:-1] @ units.astype(np.float64)
    return int((units @ mean.astype(np.float32)).argmax())


def _cosines(units: NDArray[np.float32], ids: Ints, others: Ints) -> Floats:
    return np.asarray(np.einsum("ij,ij->i", units[ids], units[others]), dtype=np.float64)
