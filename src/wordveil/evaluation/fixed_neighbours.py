"""What is proven between a word and the ten words closest to it in meaning.

These are the nearest by cosine in all dimensions, the same pairs for every space that was made from the same
vectors. The nearest words of a space itself would flatter one that draws unrelated words together.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wordveil.embedding import load_parent
from wordveil.mechanisms import Mechanism
from wordveil.mechanisms.answers import units_of
from wordveil.neighbours import sample_ids
from wordveil.shared import PerEmbedding

__all__ = ["by_meaning"]

_WORDS: Final = 160  # chosen by judgement: 1,600 pairs for a median
_NEIGHBOURS: Final = 10  # chosen by judgement: words that most readers would call similar

_nearest: Final = PerEmbedding[tuple[NDArray[np.int64], NDArray[np.int64]]](most=1)


def by_meaning(mechanism: Mechanism) -> dict[str, Any]:
    """Return the exponents between words and their ten nearest by cosine in the parent's vectors.

    Examples
    --------
    >>> import wordveil as wv
    >>> emb = wv.load_embedding()
    >>> bool(by_meaning(wv.Laplace(emb.project(10), 6.0))["p50"] < by_meaning(wv.Laplace(emb, 6.0))["p50"])
    True
    """
    parent = load_parent(mechanism.embedding)
    sample, nearest = _nearest.get(parent, None, lambda: _fixed_pairs(units_of(mechanism.embedding)))
    exponents = mechanism.guarantee.exponents(sample[:, None], nearest)
    p5, p50, p95 = np.quantile(exponents, [0.05, 0.5, 0.95]).tolist()
    return {"p5": p5, "p50": p50, "p95": p95, "words": len(sample), "neighbours": nearest.shape[1]}


def _fixed_pairs(units: NDArray[np.float32]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return sampled words and the ids of the words nearest to each."""
    sample = sample_ids(len(units), _WORDS)
    table = units[sample] @ units.T
    table[np.arange(len(sample)), sample] = -np.inf
    most = min(_NEIGHBOURS, len(units) - 1)
    return sample, np.argpartition(-table, most - 1, axis=1)[:, :most]
