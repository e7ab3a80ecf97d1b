"""Mechanisms with one mistake each in their noise; the first two restate formulas of public implementations.

`Renormalised` is the elliptical noise of pypantera: A^{1/2}X is divided by its length, so the radius has the law of
Euclidean noise. `WrongTrace` is the covariance of mldp-text: divided by the variance of all coordinates of all words
around one mean, in place of the mean variance of a coordinate. Both are written from their definitions.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import wordveil as wv
from wordveil.nearest import BruteSearch

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]


class Planted(wv.Mahalanobis):
    """The mechanism of the paper, written out once more; subclasses change one part."""

    shape_less = 0

    def directions(self, normals: Floats) -> Floats:
        return np.asarray(normals / np.linalg.norm(normals, axis=1, keepdims=True))

    def scales(self) -> Floats:
        return self.metric.scales

    def noise_epsilon(self) -> float:
        return self.epsilon

    def stretched(self, directions: Floats) -> Floats:
        return np.asarray(directions * np.sqrt(self.scales()))

    def changed(self, noise: Floats) -> Floats:
        return noise

    def _noisy_points(self, ids: Ids, stream: wv.Stream) -> Floats:
        dim = self.embedding.dim
        directions = self.stretched(self.directions(stream.normals((len(ids), dim))))
        radii = stream.gammas(dim - self.shape_less, len(ids)) / self.noise_epsilon()
        return self.changed(directions * radii[:, None]) + self._places[ids]


class Renormalised(Planted):
    def stretched(self, directions: Floats) -> Floats:
        stretched = super().stretched(directions)
        return np.asarray(stretched / np.linalg.norm(stretched, axis=1, keepdims=True))


class WrongTrace(Planted):
    def scales(self) -> Floats:
        vectors = self.embedding.vectors
        factor = np.var(vectors, axis=0, ddof=1, dtype=np.float64).mean() / np.var(vectors, dtype=np.float64)
        return np.asarray(self.lam * self.metric.eigenvalues * factor + (1.0 - self.lam))


class WrongTraceEverywhere(wv.Mahalanobis):
    """Σ of trace 2m in the noise and in the claim: consistent, but not the distance that is promised."""

    def __post_init__(self) -> None:
        super().__post_init__()
        right = self.metric
        wrong = wv.Metric(right.lam, 2.0 * right.eigenvalues, right.axes)
        object.__setattr__(self, "metric", wrong)

    @property
    def guarantee(self) -> Any:
        promise = wv.MetricGuarantee(
            self.epsilon, wv.Metric.from_embedding(self.embedding, self.lam), self.embedding
        )
        object.__setattr__(promise, "metric", self.metric)
        return promise


class ShapeLess(Planted):
    shape_less = 1


class NotNormalised(Planted):
    def directions(self, normals: Floats) -> Floats:
        return np.asarray(normals / np.sqrt(self.embedding.dim))


class LargerEpsilon(Planted):
    def noise_epsilon(self) -> float:
        return 1.05 * self.epsilon


class SmallerEpsilon(Planted):
    def noise_epsilon(self) -> float:
        return self.epsilon / 1.3


class InverseEpsilon(Planted):
    def noise_epsilon(self) -> float:
        return 1.0 / self.epsilon


class MatrixForRoot(Planted):
    def stretched(self, directions: Floats) -> Floats:
        return np.asarray(directions * self.scales())


class SwappedLam(Planted):
    def scales(self) -> Floats:
        return np.asarray((1.0 - self.lam) * self.metric.eigenvalues + self.lam)


class Float32(Planted):
    def changed(self, noise: Floats) -> Floats:
        return noise.astype(np.float32).astype(np.float64)


class Float32Points(Planted):
    """Adds noise in float64, and rounds the sum."""

    def _noisy_points(self, ids: Ids, stream: wv.Stream) -> Floats:
        return super()._noisy_points(ids, stream).astype(np.float32).astype(np.float64)


class Float32Directions(Planted):
    def directions(self, normals: Floats) -> Floats:
        single = normals.astype(np.float32)
        return np.asarray(single / np.linalg.norm(single, axis=1, keepdims=True), dtype=np.float64)


class Float32Normals(Planted):
    """Rounds the normal deviates; length, radius and sum are float64, so that no number of the result is a float32."""

    def directions(self, normals: Floats) -> Floats:
        return super().directions(normals.astype(np.float32).astype(np.float64))


class Float32Radii(Planted):
    def _noisy_points(self, ids: Ids, stream: wv.Stream) -> Floats:
        dim = self.embedding.dim
        directions = self.stretched(self.directions(stream.normals((len(ids), dim))))
        radii = stream.gammas(dim, len(ids)).astype(np.float32).astype(np.float64) / self.epsilon
        return np.asarray(directions * radii[:, None] + self._places[ids])


class Reused(Planted):
    def changed(self, noise: Floats) -> Floats:
        noise[1::2] = noise[: 2 * (len(noise) // 2) : 2]
        return noise


class CopiedFarOff(Planted):
    """One word in ten gets the noise of the word 5,000 before; the vectors differ, and so does the rounding."""

    def changed(self, noise: Floats) -> Floats:
        noise[5000::10] = noise[: max(0, len(noise) - 5000) : 10].copy()
        return noise


class NegatedFarOff(Planted):
    """Half of the words get the negative noise of the word 4,096 before, as antithetic draws do."""

    def changed(self, noise: Floats) -> Floats:
        halves = noise[: len(noise) // 8192 * 8192].reshape(-1, 2, 4096, noise.shape[1])
        halves[:, 1] = -halves[:, 0]
        return noise


class SameRadii(Planted):
    """One word in ten gets the radius of the word 5,000 before, in a direction of its own."""

    def _noisy_points(self, ids: Ids, stream: wv.Stream) -> Floats:
        dim = self.embedding.dim
        directions = self.stretched(self.directions(stream.normals((len(ids), dim))))
        radii = stream.gammas(dim, len(ids)) / self.epsilon
        radii[5000::10] = radii[: max(0, len(ids) - 5000) : 10].copy()
        return np.asarray(directions * radii[:, None] + self._places[ids])


class NoNoise(wv.Mahalanobis):
    def _noisy_points(self, ids: Ids, stream: wv.Stream) -> Floats:
        return self._places[ids].copy()


class Folded(Planted):
    def changed(self, noise: Floats) -> Floats:
        return np.abs(noise)


class DependsOnTheWord(Planted):
    """Less noise for the first words of the vocabulary, which are the frequent ones."""

    def _noisy_points(self, ids: Ids, stream: wv.Stream) -> Floats:
        points = super()._noisy_points(ids, stream)
        factors = np.where(ids % 2 == 0, 0.7, 1.0)[:, None]
        return np.asarray(self._places[ids] + factors * (points - self._places[ids]))


class LittleForRareWords(Planted):
    """One word in 150, from number 400 on, gets a hundredth of the noise."""

    def _noisy_points(self, ids: Ids, stream: wv.Stream) -> Floats:
        points = super()._noisy_points(ids, stream)
        factors = np.where((ids % 150 == 149) & (ids > 400), 0.01, 1.0)[:, None]
        return np.asarray(self._places[ids] + factors * (points - self._places[ids]))


class OtherNoiseInAnswers(wv.Mahalanobis):
    """Shows the right points, and answers from others: with 20·ε above 3 dimensions, where no black box sees it."""

    def _perturb(self, ids: Ids, stream: wv.Stream) -> Ids:
        if self.embedding.dim <= 3:
            return super()._perturb(ids, stream)
        return wv.Mahalanobis(self.embedding, 20.0 * self.epsilon, self.lam)._perturb(ids, stream)


class Turned(wv.Mahalanobis):
    """Rotates the words by the transpose, and leaves the noise as it is."""

    @property
    def _places(self) -> Floats:
        axes = self.metric.axes.T
        return np.vstack((self.embedding.vectors @ axes, self.embedding.centroid @ axes))

    @property
    def _search(self) -> BruteSearch:
        return BruteSearch(self._places[:-1])


class HiddenRandomness(wv.Mahalanobis):
    def _perturb(self, ids: Ids, stream: wv.Stream) -> Ids:
        answers = super()._perturb(ids, stream)
        again = np.random.default_rng().random(len(ids)) < 0.1
        answers[again] = super()._perturb(ids[again], stream)
        return answers
