"""Mechanisms and perturbers with one mistake each in what they do with the noise, or in where it comes from."""

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

import wordveil as wv
from wordveil.nearest import BruteSearch
from wordveil.randomness import RunKey, insecure_stream

Ids = NDArray[np.int64]
Floats = NDArray[np.float64]


class LeftOut(wv.Mahalanobis):
    """Answers with the nearest word other than the input."""

    def _perturb(self, ids: Ids, stream: wv.Stream) -> Ids:
        points = self._noisy_points(ids, stream)
        distances = np.linalg.norm(points[:, None] - self._places[None, :-1], axis=2)
        distances[np.arange(len(ids))[ids >= 0], ids[ids >= 0]] = np.inf
        return np.asarray(distances.argmin(axis=1))


class NeighboursOfTheWord(wv.Mahalanobis):
    """Searches only among the four words that are nearest to the input."""

    def _perturb(self, ids: Ids, stream: wv.Stream) -> Ids:
        points, places = self._noisy_points(ids, stream), self._places[:-1]
        near = np.argsort(np.linalg.norm(self._places[ids][:, None] - places[None], axis=2), axis=1)[:, :4]
        distances = np.linalg.norm(points[:, None] - places[near], axis=2)
        return np.asarray(near[np.arange(len(ids)), distances.argmin(axis=1)])


class LooksAtTheWord(wv.Mahalanobis):
    """Answers the input word wherever it is among the three nearest."""

    def _perturb(self, ids: Ids, stream: wv.Stream) -> Ids:
        points = self._noisy_points(ids, stream)
        near = np.argsort(np.linalg.norm(points[:, None] - self._places[None, :-1], axis=2), axis=1)[:, :3]
        return np.where((near == ids[:, None]).any(axis=1), ids, near[:, 0])


class ClaimsLess(wv.Mahalanobis):
    """Promises an exponent that is 20% smaller than it is."""

    @property
    def guarantee(self) -> Any:
        return wv.MetricGuarantee(0.8 * self.epsilon, self.metric, self.embedding)


class FixedSeed(wv.Laplace):
    def perturb_ids(self, ids: ArrayLike, *, stream: wv.Stream | None = None) -> Ids:
        return super().perturb_ids(ids, stream=stream or insecure_stream(42))


class TimeSeed(wv.Laplace):
    def perturb_ids(self, ids: ArrayLike, *, stream: wv.Stream | None = None) -> Ids:
        return super().perturb_ids(ids, stream=stream or insecure_stream(time.time_ns()))


class SharedGenerator(wv.Laplace):
    """Has one generator for all calls, which forked workers inherit."""

    generator = np.random.default_rng()

    def perturb_ids(self, ids: ArrayLike, *, stream: wv.Stream | None = None) -> Ids:
        if stream is not None:
            return super().perturb_ids(ids, stream=stream)
        checked = self._checked(ids)
        noise = (
            self.generator.normal(size=(len(checked), self.embedding.dim)) * self.embedding.dim / self.epsilon
        )
        return self._search.nearest(self._places[checked] + noise)


class Remembers(wv.Laplace):
    """Gives a word the same answer every time, as if that were more private."""

    answers: dict[int, int] = {}  # noqa: RUF012  # the mistake

    def perturb_ids(self, ids: ArrayLike, *, stream: wv.Stream | None = None) -> Ids:
        answers = super().perturb_ids(ids, stream=stream)
        return np.array(
            [self.answers.setdefault(w, a) for w, a in zip(np.asarray(ids), answers, strict=True)]
        )


class ShortCallsAsTheyAre(wv.Laplace):
    """A path for one or two words, which forgets the noise."""

    def _perturb(self, ids: Ids, stream: wv.Stream) -> Ids:
        return np.maximum(ids, 0) if len(ids) < 3 else super()._perturb(ids, stream)


class ShortCallsFromASeed(wv.Laplace):
    def _perturb(self, ids: Ids, stream: wv.Stream) -> Ids:
        return super()._perturb(ids, insecure_stream(42) if len(ids) == 1 else stream)


class BufferSearch(BruteSearch):
    """Reads the memory of the points as it lies there, whatever their layout."""

    def nearest(self, points: Floats) -> Ids:
        return super().nearest(points.ravel(order="K").reshape(points.shape))


class FortranOrder(wv.Laplace):
    @property
    def _search(self) -> BufferSearch:
        return BufferSearch(self._places[:-1])


class RoundedSearch(BruteSearch):
    def nearest(self, points: Floats) -> Ids:
        return super().nearest(points.astype(np.float16).astype(np.float64))


class Approximate(wv.Laplace):
    @property
    def _search(self) -> RoundedSearch:
        return RoundedSearch(self._places[:-1])

    def _perturb(self, ids: Ids, stream: wv.Stream) -> Ids:
        return self._search.nearest(self._noisy_points(ids, stream))


class WithoutPart(wv.Perturber):
    """Leaves one part out of the context of its streams: partition, ordinal, column, content."""

    part = 0

    def derive_stream(self, key: RunKey, *context: str | bytes | int) -> wv.Stream:
        return super().derive_stream(key, *(c for number, c in enumerate(context) if number != self.part))


class WithoutOrdinal(WithoutPart):
    part = 1


class WithoutColumn(WithoutPart):
    part = 2


class WithoutContent(WithoutPart):
    part = 3


class WithoutSetting(wv.Perturber):
    def derive_stream(self, key: RunKey, *context: str | bytes | int) -> wv.Stream:
        return key.stream(*context)


class NewNoiseForRetries(wv.Perturber):
    def derive_stream(self, key: RunKey, *context: str | bytes | int) -> wv.Stream:
        return super().derive_stream(RunKey(), *context)


class KeepsUnknown(wv.Perturber):
    """Copies words that it does not know."""

    def perturb_column(self, texts: Sequence[str | None], stream: wv.Stream) -> tuple[list[str | None], Any]:
        answers, report = super().perturb_column(texts, stream)
        unknown = [[w for w in (text or "").split() if w not in self.mechanism.embedding] for text in texts]
        return [
            None if a is None else " ".join([a, *u]) for a, u in zip(answers, unknown, strict=True)
        ], report


class KeepsNulls(wv.Perturber):
    def perturb_column(self, texts: Sequence[str | None], stream: wv.Stream) -> tuple[list[str | None], Any]:
        answers, report = super().perturb_column(texts, stream)
        return [None if text is None else answer for text, answer in zip(texts, answers, strict=True)], report


class Identity(wv.Perturber):
    def perturb_column(self, texts: Sequence[str | None], stream: wv.Stream) -> tuple[list[str | None], Any]:
        _, report = super().perturb_column(texts, stream)
        return list(texts), report


class CopiesMost(wv.Perturber):
    """Copies nine of ten texts."""

    def perturb_column(self, texts: Sequence[str | None], stream: wv.Stream) -> tuple[list[str | None], Any]:
        answers, report = super().perturb_column(texts, stream)
        pairs = zip(texts, answers, strict=True)
        return [answer if number % 10 == 0 else text for number, (text, answer) in enumerate(pairs)], report


class SeededDefault(wv.Perturber):
    """Uses a seed where no stream is named."""

    @staticmethod
    def _noise(stream: wv.Stream | None) -> wv.Stream:
        return insecure_stream(42) if stream is None else stream


class SharesSomeNoise(wv.Perturber):
    """Answers every fifth word from a seed."""

    def _answers(self, ids: Ids, stream: wv.Stream) -> list[str]:
        answers, seeded = super()._answers(ids, stream), super()._answers(ids, insecure_stream(42))
        return [
            s if number % 5 == 0 else a for number, (a, s) in enumerate(zip(answers, seeded, strict=True))
        ]


class CopiesOneWord(wv.Perturber):
    """Copies a text of one word."""

    def __call__(self, text: str, *, stream: wv.Stream | None = None) -> str:
        return super().__call__(text, stream=stream) if " " in text else text
