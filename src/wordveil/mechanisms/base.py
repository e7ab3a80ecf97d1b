"""The contract of all mechanisms: word ids in, word ids out, parameters and a guarantee."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordveil.embedding import Embedding
from wordveil.errors import ParameterError, parameter_error
from wordveil.guarantee import Guarantee
from wordveil.mechanisms.channel import Channel
from wordveil.mechanisms.options import Option
from wordveil.randomness import Stream, secure_stream, warn_if_insecure

if TYPE_CHECKING:
    from wordveil.nearest.devices import DeviceName

__all__ = ["JSON", "Mechanism"]

# What decides on answers. A channel that a class inherits while it redefines one of these would be another's.
_PERTURBING: Final = ("_perturb", "_noisy_points", "perturb_ids")

JSON: TypeAlias = bool | int | float | str | list["JSON"] | dict[str, "JSON"] | None


class Mechanism(ABC):
    """A random function from the words of a public vocabulary, and the centroid, to its words.

    Frozen, safe to share between threads, picklable: it holds no random state. A mechanism of your own needs
    `parameters`, `guarantee` and `_perturb`. After `register_mechanism` it can be used on the command line by
    its name, with the options in `options`.

    Examples
    --------
    >>> import wordveil as wv
    >>> wv.Mahalanobis(wv.load_embedding(), epsilon=10.0, lam=0.5).parameters()
    {'epsilon': 10.0, 'lam': 0.5, 'answer': 'nearest'}
    """

    name: ClassVar[str] = ""
    """The name on the command line and in manifests (default: the name of the class in lower case)."""

    options: ClassVar[tuple[Option, ...]] = ()
    """The options besides `epsilon`, which are keyword arguments of the class."""

    paper: ClassVar[str] = ""
    """The paper that it comes from: authors, year, title."""

    takes_device: ClassVar[bool] = False
    """Whether the class has a `device` argument, to search for words on a GPU."""

    embedding: Embedding

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What is promised, in numbers and in sentences."""

    @abstractmethod
    def parameters(self) -> dict[str, JSON]:
        """Return everything that changes an answer, except the vectors: numbers, strings, lists and dicts.

        The manifest, the ledger, `repr`, the check of `--resume` and the context of derived noise all use it.
        If a parameter is missing here, a stopped run could be resumed with another value of it.
        """

    @abstractmethod
    def _perturb(self, ids: NDArray[np.int64], stream: Stream) -> NDArray[np.int64]:
        """Return an answer for each of the checked ids, as a flat array."""

    def channel(self) -> Channel | None:
        """Return the closed form of what an attacker sees, or None if there is none.

        Without one, the attacker's number is bounded by draws, which takes longer and says less.
        """
        return None

    def valid_channel(self) -> Channel | None:
        """Return the channel, unless a subclass has changed how words are perturbed and not the channel."""
        owners = {
            name: next(i for i, cls in enumerate(type(self).__mro__) if name in vars(cls))
            for name in ("channel", *_PERTURBING)
            if hasattr(type(self), name)
        }
        return self.channel() if owners.pop("channel") <= min(owners.values()) else None

    @classmethod
    def registered_name(cls) -> str:
        """Return the name of this class itself: a subclass does not inherit the one of its parent."""
        return str(vars(cls).get("name") or cls.__name__.lower())

    @classmethod
    def make(
        cls, embedding: Embedding, epsilon: float, options: Mapping[str, Any], device: "DeviceName" = "cpu"
    ) -> Self:
        """Return the mechanism with these options, which have been checked against `cls.options`."""
        if cls.takes_device:
            options = {**options, "device": device}
        elif device == "cuda":
            raise ParameterError(
                f"The mechanism '{cls.registered_name()}' can't use a GPU. Hint: --device cpu."
            )
        return cls(embedding, epsilon, **options)  # type: ignore[call-arg]  # every registered class takes these

    def setting(self) -> dict[str, JSON]:
        """Return the name of the mechanism, its parameters and the number of dimensions, as plain JSON.

        Examples
        --------
        >>> import wordveil as wv
        >>> wv.Laplace(wv.load_embedding(), epsilon=2.0).setting()
        {'mechanism': 'laplace', 'epsilon': 2.0, 'lam': 0.0, 'answer': 'nearest', 'dims': 300}
        """
        parameters = self.parameters()
        if parameters.keys() & {"mechanism", "dims"}:
            raise ParameterError(
                f"{type(self).__name__}.parameters() must not have the keys 'mechanism' and 'dims'."
            )
        facts = {"mechanism": self.registered_name()} | parameters | {"dims": self.embedding.dim}
        try:
            return dict(json.loads(json.dumps(facts, allow_nan=False)))
        except (TypeError, ValueError):
            raise ParameterError(
                f"{type(self).__name__}.parameters() must return finite numbers, str, lists and dicts."
            ) from None

    def __repr__(self) -> str:
        values = "".join(f"{name}={value!r}, " for name, value in self.parameters().items())
        return f"{type(self).__name__}({values}{self.embedding!r})"

    def perturb_ids(self, ids: ArrayLike, *, stream: Stream | None = None) -> NDArray[np.int64]:
        """Return a word id for each word id; -1 is the centroid, which represents unknown words.

        Without a `stream`, each call draws a new key from the operating system.
        """
        if stream is not None and not isinstance(stream, Stream):
            raise parameter_error("stream", "perturb_ids", "be a Stream, made by secure_stream()", stream)
        checked = self._checked(ids)
        answers = self._perturb(checked.ravel(), secure_stream() if stream is None else stream)
        return answers.reshape(checked.shape)

    def perturb_words(self, words: Iterable[str], *, stream: Stream | None = None) -> list[str]:
        """Return a word of the vocabulary for each word; unknown words are perturbed from the centroid.

        A seeded `stream` raises a PrivacyWarning.
        """
        if isinstance(words, str | bytes):
            raise ParameterError("The 'words' parameter of perturb_words must be a list of words.")
        words = list(words)
        for number, word in enumerate(words):
            if not isinstance(word, str):
                raise ParameterError(
                    f"Word {number} (counted from 0) must be a str. Got a {type(word).__name__}."
                )
        if isinstance(stream, Stream):
            warn_if_insecure(stream)
        vocabulary = self.embedding.words
        answers = self.perturb_ids(self.embedding.ids_of(words), stream=stream)
        return [vocabulary[answer] for answer in answers.tolist()]

    def _checked(self, ids: ArrayLike) -> NDArray[np.int64]:
        raw_ids = np.asarray(ids)
        if raw_ids.size == 0:
            return np.zeros(raw_ids.shape, dtype=np.int64)
        if raw_ids.dtype.kind not in "iu":
            raise ParameterError("Word ids must be whole numbers. Got something else instead.")
        if raw_ids.min() < -1 or raw_ids.max() >= len(self.embedding):
            raise ParameterError(
                f"Word ids must be from -1 (the centroid) to {len(self.embedding) - 1}. "
                "Got one that is out of range instead."
            )
        return raw_ids.astype(np.int64)
