"""The black-box test of the guarantee for every answer, on the axes and on a map; an answer that looks at the word fails.

The words, the number of draws and the level are those of `test_black_box`: n = 10^6 draws per word, α = 1e-6 for all
pairs together. An answer is a function of the noisy point, so no excess over ε·d may be certain.
"""

import numpy as np
import pytest
from numpy.typing import NDArray

import wordveil as wv
from wordveil.embedding.map_fit import MapOptions
from wordveil.embedding.maps import described_map
from wordveil.mechanisms.answers import ANSWERS, AnswerName

from .test_black_box import EPSILON, audit, cross, plain


def on_a_map(embedding: wv.Embedding) -> wv.Embedding:
    """Return a map of the words: their positions, with the axes in another order and a little bent."""
    places = embedding.vectors[:, ::-1] * np.float32(0.9)
    places = places + np.float32(0.05) * np.sin(places)
    return described_map(embedding, places, "toy", "neighbours", MapOptions(), "", None)


@pytest.mark.parametrize("answer", ANSWERS[1:])
@pytest.mark.parametrize(("dim", "lam"), [(1, 0.0), (2, 1.0), pytest.param(3, 0.0, marks=pytest.mark.slow)])
def test_the_guarantee_holds_for_every_answer(answer: AnswerName, dim: int, lam: float) -> None:
    embedding = cross(dim, lam)
    mechanism = wv.Mahalanobis(embedding, EPSILON, lam, answer=answer)
    excess, _ = audit(plain(mechanism), embedding, lam, 11)
    assert excess <= 0.0


@pytest.mark.parametrize("answer", ANSWERS)
def test_the_guarantee_holds_on_a_map(answer: AnswerName) -> None:
    embedding = on_a_map(cross(2, 0.0))
    assert embedding.is_map
    excess, _ = audit(plain(wv.Laplace(embedding, EPSILON, answer=answer)), embedding, 0.0, 12)
    assert excess <= 0.0


class LooksAtTheWord(wv.Laplace):
    """Answers the input word wherever it is among the three nearest, else the likeliest word."""

    def _perturb(self, ids: NDArray[np.int64], stream: wv.Stream) -> NDArray[np.int64]:
        points = self._noisy_points(ids, stream)
        distances = np.linalg.norm(points[:, None] - self._places[None, :-1], axis=2)
        near = np.argsort(distances, axis=1)[:, :3]
        return np.where((near == ids[:, None]).any(axis=1), ids, self._search.nearest(points))


def test_an_answer_that_looks_at_the_word_is_caught() -> None:
    embedding = cross(2, 0.0)
    mistake = LooksAtTheWord(embedding, EPSILON, answer="likeliest")
    excess, _ = audit(plain(mistake), embedding, 0.0, 11)
    assert excess > 0.0
