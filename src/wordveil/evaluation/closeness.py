"""How close in meaning answers are to words, beside what answers that tell nothing would score."""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wordveil.errors import check_whole
from wordveil.intervals import Share, mean_share
from wordveil.mechanisms import Mechanism
from wordveil.mechanisms.answers import units_of
from wordveil.prior import Prior
from wordveil.randomness import Stream, insecure_stream

__all__ = ["Closeness", "measure_closeness"]

_DRAWS: Final = 2000
_NEAR: Final = 100  # an answer counts as near if at most this many words are closer to the word
_BLOCK: Final = 256  # words at a time: a table of 256 × 33,752 cosines has 35 MB


@dataclass(frozen=True, slots=True)
class Closeness:
    """How close answers are to words, by cosine in the vectors that the space was made from.

    Attributes
    ----------
    cosine : Share
        The mean cosine of word and answer, with a 95% interval.
    near : Share
        The share of answers among the 100 words nearest to the word, itself included.
    unchanged : Share
        The share of answers that are the word itself.
    constant, random : float
        The mean cosine of the best answer that is always the same, and of a random word.
    constant_near, random_near : float
        How often those are among the 100 nearest.
    """

    cosine: Share
    near: Share
    unchanged: Share
    constant: float
    random: float
    constant_near: float
    random_near: float

    def to_dict(self) -> dict[str, Any]:
        """Return the same facts as plain JSON values."""
        names = ("cosine", "near", "unchanged")
        nulls = ("constant", "random", "constant_near", "random_near")
        return {name: getattr(self, name)._asdict() for name in names} | {
            name: getattr(self, name) for name in nulls
        }


def measure_closeness(
    mechanism: Mechanism, prior: Prior, *, draws: int = _DRAWS, stream: Stream | None = None
) -> Closeness:
    """Perturb words drawn from a prior, and compare the answers with them.

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
    ids = prior.draw(stream.uniforms((draws,)))
    ids = ids[ids >= 0]
    units = units_of(mechanism.embedding)
    answers = mechanism.perturb_ids(ids, stream=stream)
    constant = _best_constant(units, prior)
    others = {"answer": answers, "constant": np.full(len(ids), constant)}
    others["random"] = stream.integers(len(units), (len(ids),))
    cosines, near = _compared(units, ids, others)
    return Closeness(
        _signed(cosines["answer"]),
        mean_share(near["answer"]),
        mean_share(answers == ids),
        float(cosines["constant"].mean()),
        float(cosines["random"].mean()),
        float(near["constant"].mean()),
        float(near["random"].mean()),
    )


def _signed(cosines: NDArray[np.float64]) -> Share:
    """Return the mean of cosines, which are between -1 and 1, with its interval."""
    share = mean_share((cosines + 1.0) / 2.0)
    return Share(*(2.0 * end - 1.0 for end in share))


def _best_constant(units: NDArray[np.float32], prior: Prior) -> int:
    """Return the word with the largest mean cosine with all words, weighted by their use."""
    mean = prior.shares[:-1] @ units.astype(np.float64)
    return int((units @ mean.astype(np.float32)).argmax())


def _compared(
    units: NDArray[np.float32], ids: NDArray[np.int64], others: dict[str, NDArray[np.int64]]
) -> tuple[dict[str, NDArray[np.float64]], dict[str, NDArray[np.float64]]]:
    """Return the cosine of each word with its answers, and whether they are among its 100 nearest words."""
    cosines = {name: np.empty(len(ids)) for name in others}
    near = {name: np.empty(len(ids)) for name in others}
    for start in range(0, len(ids), _BLOCK):
        block = slice(start, start + _BLOCK)
        table = units[ids[block]] @ units.T
        for name, words in others.items():
            own = table[np.arange(len(table)), words[block]]
            cosines[name][block] = own
            near[name][block] = (table > own[:, None]).sum(axis=1) < _NEAR
    return cosines, near
