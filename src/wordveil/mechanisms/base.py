"""The contract of all mechanisms: word ids in, word ids out, parameters and a guarantee."""

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordveil.block_list import BlockList
from wordveil.embedding import Embedding
from wordveil.errors import ParameterError, named_type, parameter_error
from wordveil.guarantee import Guarantee
from wordveil.mechanisms.channel import Channel, CleanChannel
from wordveil.mechanisms.cleaning import cleaned, cleaned_shares
from wordveil.mechanisms.options import Option
from wordveil.randomness import Stream, thread_stream, warn_if_insecure

if TYPE_CHECKING:
    from wordveil.nearest.devices import DeviceName

__all__ = ["JSON", "MECHANISM_NAME", "Mechanism"]

# What decides on answers. A channel that a class inherits while it redefines one of these would be another's.
_PERTURBING: Final = ("_perturb", "_noisy_points", "_answers", "law", "perturb_ids")

_ADDS_BLOCK_LIST: Final = "_adds_block_list"
_BLOCK_LIST: Final = "block_list"
# Names are printed, and stored in ledgers and manifests.
MECHANISM_NAME: Final = re.compile("[a-z0-9_-]{1,100}")

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

    blocked: BlockList | None = None
    """Words that are never answered; None, unless the mechanism was made by `blocking`."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        # Also where it is inherited from a class that is no mechanism.
        if cls.parameters is not Mechanism.parameters and not hasattr(cls.parameters, _ADDS_BLOCK_LIST):
            cls.parameters = _with_block_list(cls.parameters)  # type: ignore[assignment,method-assign]

    @property
    @abstractmethod
    def guarantee(self) -> Guarantee:
        """What is promised, in numbers and in sentences."""

    @property
    def _verified(self) -> Embedding:
        """The vectors, compared with their fingerprint: nothing is promised about others."""
        self.embedding.verify()
        return self.embedding

    @abstractmethod
    def parameters(self) -> dict[str, JSON]:
        """Return everything that changes an answer, except the vectors: numbers, strings, lists and dicts.

        The manifest, the ledger, `repr`, the check of `--resume` and the context of derived noise all use it.
        If a parameter is missing here, a stopped run could be resumed with another value of it. The
        fingerprint of a block list is added to what a class returns.
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
        channel = self.channel() if owners.pop("channel") <= min(owners.values()) else None
        return channel if channel is None or self.blocked is None else CleanChannel(channel, self._cleaned)

    def blocking(self, blocked: BlockList | None) -> Self:
        """Return the same mechanism with another block list, or without one.

        A blocked answer is replaced by the nearest allowed word, by Euclidean distance in the embedding.
        Additive mechanisms answer with the best allowed word for the noisy point. Both are functions of what
        was private already and of public data, so the guarantee is the same (see `wordveil.block_list`).

        Examples
        --------
        >>> import wordveil as wv
        >>> emb = wv.Embedding(["tea", "ale", "gin"], [[0.0], [1.0], [3.0]], public=True)
        >>> mechanism = wv.Laplace(emb, epsilon=1e9).blocking(wv.BlockList(["ale"], public=True))
        >>> mechanism.perturb_words(["tea", "ale", "gin"])
        ['tea', 'tea', 'gin']
        """
        if not isinstance(blocked, BlockList | None):
            raise parameter_error("blocked", type(self).__name__, "be a BlockList or None", blocked)
        other = object.__new__(type(self))
        state = object.__getstate__(self)
        for values in state if isinstance(state, tuple) else (state,):  # a class with slots has two parts
            for name, value in (values or {}).items():
                if not isinstance(getattr(type(self), name, None), cached_property):
                    object.__setattr__(other, name, value)
        object.__setattr__(other, "blocked", blocked)
        return other

    def __reduce_ex__(self, protocol: Any) -> Any:
        # Apart from the mechanism, because the state that a class defines for itself may leave the list out.
        if self.blocked is None:
            return super().__reduce_ex__(protocol)
        return type(self).blocking, (self.blocking(None), self.blocked)

    def _cleaned(self, answers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return answers without blocked words, by a public map."""
        return answers if self.blocked is None else cleaned(answers, self.embedding, self.blocked)

    def _cleaned_shares(self, shares: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return how likely each answer is, if `shares` are those before blocked words are replaced."""
        return shares if self.blocked is None else cleaned_shares(shares, self.embedding, self.blocked)

    @property
    def unsafe(self) -> tuple[str, ...]:
        """The options that weaken the guarantee and are in effect: their names begin with `unsafe_`."""
        parameters = self.parameters()
        names = dict.fromkeys([*(option.name for option in self.options), *parameters])
        return tuple(
            name
            for name in names
            if name.startswith("unsafe_") and (parameters.get(name) or getattr(self, name, False))
        )

    @classmethod
    def registered_name(cls) -> str:
        """Return the name of this class itself: a subclass does not inherit the one of its parent."""
        name = str(vars(cls).get("name") or cls.__name__.lower())
        if not MECHANISM_NAME.fullmatch(name):
            raise ParameterError(
                "The name of a mechanism must consist of lower-case letters, digits, - and _ (at most 100). "
                "Hint: set `name` in its class."
            )
        return name

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
                f"{type(self).__name__}.parameters() must return finite numbers, str, lists and dicts. "
                "Hint: convert numbers of NumPy by float() or int()."
            ) from None

    def __repr__(self) -> str:
        values = "".join(f"{name}={value!r}, " for name, value in self.parameters().items())
        return f"{type(self).__name__}({values}{self.embedding!r})"

    def perturb_ids(self, ids: ArrayLike, *, stream: Stream | None = None) -> NDArray[np.int64]:
        """Return a word id for each word id; -1 is the centroid, which represents unknown words.

        Without a `stream`, the noise comes from a secure one of the calling thread.
        """
        if stream is not None and not isinstance(stream, Stream):
            raise parameter_error("stream", "perturb_ids", "be a Stream, made by secure_stream()", stream)
        checked = self._checked(ids)
        answers = self._perturb(checked.ravel(), thread_stream() if stream is None else stream)
        return self._cleaned(self._checked_answers(answers, checked.size)).reshape(checked.shape)

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
                    f"Word {number} (counted from 0) must be a str. Got {named_type(word)} instead."
                )
        if isinstance(stream, Stream):
            warn_if_insecure(stream)
        vocabulary = self.embedding.words
        answers = self.perturb_ids(self.embedding.ids_of(words), stream=stream)
        return [vocabulary[answer] for answer in answers.tolist()]

    def _checked_answers(self, answers: object, count: int) -> NDArray[np.int64]:
        """Return what `_perturb` returned, which may be the code of a user."""
        if (
            isinstance(answers, np.ndarray)
            and answers.dtype.kind in "iu"
            and answers.shape == (count,)
            # Below 0 is a large number without its sign.
            and (
                not count
                or int(answers.astype(np.int64, copy=False).view(np.uint64).max()) < len(self.embedding)
            )
        ):
            return answers.astype(np.int64, copy=False)
        raise ParameterError(
            f"{type(self).__name__}._perturb must return a flat array with the id of a word for each id."
        )

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


def _with_block_list(parameters: Callable[[Any], dict[str, JSON]]) -> Callable[[Any], dict[str, JSON]]:
    """Return a method `parameters` whose result has the fingerprint of the block list, if there is one."""

    @wraps(parameters)
    def wrapper(self: Mechanism) -> dict[str, JSON]:
        facts = parameters(self)
        if not isinstance(facts, dict) or not all(isinstance(name, str) for name in facts):
            raise ParameterError(f"{type(self).__name__}.parameters() must return a dict whose keys are str.")
        fingerprint = None if self.blocked is None else self.blocked.fingerprint[:16]
        if facts.get(_BLOCK_LIST, fingerprint) != fingerprint:  # what a parent class returns may have it
            raise ParameterError(f"{type(self).__name__}.parameters() must not have the key '{_BLOCK_LIST}'.")
        return facts if fingerprint is None else facts | {_BLOCK_LIST: fingerprint}

    setattr(wrapper, _ADDS_BLOCK_LIST, True)
    return wrapper
