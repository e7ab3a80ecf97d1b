"""What every mechanism is: word ids in, word ids out, and a guarantee."""

from abc import ABC, abstractmethod
from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordveil.embedding import Embedding
from wordveil.errors import ParameterError, parameter_error
from wordveil.guarantee import MetricGuarantee
from wordveil.randomness import Stream, secure_stream, warn_if_insecure

__all__ = ["Mechanism"]


class Mechanism(ABC):
    """A random function from the words of a public vocabulary, and the centroid, to its words.

    Frozen, safe to share between threads, picklable: it holds no random state.
    """

    embedding: Embedding

    @property
    @abstractmethod
    def guarantee(self) -> MetricGuarantee:
        """What is promised, in numbers and in words."""

    @abstractmethod
    def _perturb(self, ids: NDArray[np.int64], stream: Stream) -> NDArray[np.int64]:
        """Return an answer for each of the checked ids, in a flat array."""

    def perturb_ids(self, ids: ArrayLike, *, stream: Stream | None = None) -> NDArray[np.int64]:
        """Return a word id for each word id; -1 is the centroid, where words outside of the vocabulary stand.

        Without a `stream` each call draws a new key from the operating system.
        """
        if stream is not None and not isinstance(stream, Stream):
            raise parameter_error("stream", "perturb_ids", "be a Stream, made by secure_stream()", stream)
        checked = self._checked(ids)
        answers = self._perturb(checked.ravel(), secure_stream() if stream is None else stream)
        return answers.reshape(checked.shape)

    def perturb_words(self, words: Iterable[str], *, stream: Stream | None = None) -> list[str]:
        """Return a word of the vocabulary for each word; those outside of it are taken from the centroid.

        A seeded `stream` raises a PrivacyWarning.
        """
        if isinstance(words, str | bytes):
            raise ParameterError("The 'words' parameter of perturb_words must be a list of words.")
        given = list(words)
        for number, word in enumerate(given):
            if not isinstance(word, str):
                raise ParameterError(
                    f"Word {number} (counted from 0) must be a str. Got a {type(word).__name__}."
                )
        if isinstance(stream, Stream):
            warn_if_insecure(stream)
        vocabulary = self.embedding.words
        answers = self.perturb_ids(self.embedding.ids_of(given), stream=stream)
        return [vocabulary[answer] for answer in answers.tolist()]

    def _checked(self, ids: ArrayLike) -> NDArray[np.int64]:
        given = np.asarray(ids)
        if given.size == 0:
            return np.zeros(given.shape, dtype=np.int64)
        if given.dtype.kind not in "iu":
            raise ParameterError("Word ids must be whole numbers. Got something else instead.")
        if given.min() < -1 or given.max() >= len(self.embedding):
            raise ParameterError(
                f"Word ids must be from -1 (the centroid) to {len(self.embedding) - 1}. "
                "Got one that is out of range instead."
            )
        return given.astype(np.int64)
