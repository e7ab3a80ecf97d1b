"""CusText: each word is answered with a word of its own small group."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wordveil.embedding import Embedding
from wordveil.errors import ParameterError, check_whole
from wordveil.mechanisms.base import JSON
from wordveil.mechanisms.channel import Channel
from wordveil.mechanisms.group_guarantee import GroupGuarantee
from wordveil.mechanisms.options import Option
from wordveil.mechanisms.placed import LAM, PlacedMechanism
from wordveil.mechanisms.word_groups import WordGroups, word_groups_of
from wordveil.metric import Bracket
from wordveil.randomness import Stream

__all__ = ["CusText", "CusTextChannel", "CusTextGuarantee"]

_MOST: Final = 1000  # words of a group
_UNSAFE: Final = "unsafe_no_uniform_guarantee"

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class CusTextGuarantee(GroupGuarantee):
    """Pr[M(w) = u] ≤ exp(ε)·Pr[M(w') = u] for words w, w' of one group; nothing else is promised.

    Attributes
    ----------
    epsilon : float
        ε, for any two words of a group.
    groups : array of shape (V + 1,)
        The public group of each word.
    embedding : Embedding
        The public words and vectors.
    """

    epsilon: float
    groups: Ints = field(repr=False)
    embedding: Embedding = field(repr=False)

    def _within(self, ids: Ints, others: Ints) -> Floats:
        return np.where(ids == others, 0.0, self.epsilon)

    def _worst_within(self) -> Bracket:
        return Bracket(0.0, self.epsilon)


@dataclass(frozen=True, eq=False, repr=False)
class CusText(PlacedMechanism):
    """CusText: an exponential mechanism inside of a small group of words, with no uniform guarantee.

    Guarantee: Pr[M(w) = u] ≤ exp(ε)·Pr[M(w') = u] for all words w, w' of one group; nothing is promised about
    words of different groups, since the output shows the group of each word.

    Why: the score of an answer is minus its distance to w, scaled to [-1, 0] inside the group, and its weight
    is exp((ε/2)·score). So a weight changes by a factor of at most exp(ε/2) between any two words of a group,
    and so does the sum of all weights. Words of different groups have no answer in common. The groups are
    public: the first word that is in none, with the k - 1 words nearest to it that are in none (the paper's
    conservative mapping). The centroid is in the group of the word that is nearest to it.

    Parameters
    ----------
    embedding : Embedding
        Public words and vectors, the most frequent words first, fixed before the private text is read.
    epsilon : float
        ε, finite and positive, for any two words of a group. It has no default.
    lam : float
        λ in [0, 1] of the distance: 0, as in the paper, is Euclidean.
    k : int
        How many words a group has.
    unsafe_no_uniform_guarantee : bool
        Must be True: nothing is promised about most pairs of words.

    Examples
    --------
    >>> from wordveil.embedding import Embedding
    >>> emb = Embedding(["a", "b", "c", "d"], [[0.0], [9.0], [1.0], [8.0]], public=True)
    >>> mechanism = CusText(emb, epsilon=1.0, k=2, unsafe_no_uniform_guarantee=True)
    >>> mechanism.probabilities([0, 1]).round(3).tolist()  # a and c are a group, b and d are another
    [[0.622, 0.0, 0.378, 0.0], [0.0, 0.622, 0.0, 0.378]]
    """

    name: ClassVar = "custext"
    options: ClassVar[tuple[Option, ...]] = (
        LAM,
        Option("k", int, "how many words a group has", default=20, low=2, high=_MOST),
        Option(
            _UNSAFE,
            bool,
            "must be true: nothing is promised about words of different groups",
            default=False,
            needed=True,
        ),
    )
    paper: ClassVar = (
        "Chen, Mo, Wang, Chen, Nie, Wang and Cui (2023): A Customized Text Sanitization Mechanism with "
        "Differential Privacy"
    )

    k: int = 20
    unsafe_no_uniform_guarantee: bool = False
    members: WordGroups = field(init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        count = check_whole(self.k, "k", type(self).__name__, 2, _MOST)
        if self.unsafe_no_uniform_guarantee is not True:
            raise ParameterError(
                "CusText promises nothing about words of different groups, which are most pairs of words. "
                f"Hint: if that is what you want, {_UNSAFE}=True, or --option {_UNSAFE}=true."
            )
        object.__setattr__(self, "k", count)
        object.__setattr__(self, "members", word_groups_of(self.embedding, self.metric, self._white, count))

    def parameters(self) -> dict[str, JSON]:
        """Return ε, λ, k and the fingerprint of the groups."""
        return self._values_of_options() | {"groups_fingerprint": self.members.fingerprint}

    @cached_property
    def guarantee(self) -> CusTextGuarantee:
        """What is promised, in numbers and in sentences."""
        return CusTextGuarantee(self.epsilon, self.members.labels, self._verified)

    @cached_property
    def log_table(self) -> Floats:
        """The log-probability of each member of its group, for each word; the last row is the centroid's.

        The members are in the order of `members.table`; those that a smaller group lacks have -inf.
        """
        members = self.members
        answers = members.table[members.labels]
        ids = np.append(np.arange(len(self.embedding)), -1)
        rows = np.repeat(ids, answers.shape[1])
        distances = self._white.distances(rows, np.maximum(answers, 0).ravel()).reshape(answers.shape)
        is_member = answers >= 0
        low = np.where(is_member, distances, np.inf).min(axis=1, keepdims=True)
        high = np.where(is_member, distances, -np.inf).max(axis=1, keepdims=True)
        spread = np.where(high > low, high - low, 1.0)
        scores = np.where(is_member, -(self.epsilon / 2.0) * ((distances - low) / spread), -np.inf)
        scores -= scores.max(axis=1, keepdims=True)
        return np.asarray(scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)))

    @cached_property
    def _cumulative(self) -> Floats:
        sums = np.exp(self.log_table).cumsum(axis=1)
        return np.asarray(sums / sums[:, -1:])

    def probabilities(self, ids: ArrayLike) -> Floats:
        """Return Pr[M(w) = u] for each word id w (-1 is the centroid) and all words u."""
        checked = self._checked(ids)
        flat = checked.ravel()
        rows = np.zeros((len(flat), len(self.embedding)))
        answers = self.members.table[self.members.labels[flat]]
        lines, columns = np.nonzero(answers >= 0)
        rows[lines, answers[lines, columns]] = np.exp(self.log_table[flat][lines, columns])
        return self._cleaned_shares(rows).reshape(*checked.shape, len(self.embedding))

    def channel(self) -> "CusTextChannel":
        """Return what an attacker who sees the answers knows."""
        return CusTextChannel(self)

    def _perturb(self, ids: Ints, stream: Stream) -> Ints:
        uniforms = stream.uniforms((len(ids),))
        columns = (self._cumulative[ids] <= uniforms[:, None]).sum(axis=1)
        return np.asarray(self.members.table[self.members.labels[ids], columns])


class CusTextChannel(Channel):
    """An attacker who sees the answer u: log Pr[u | w], which is -inf for words w of other groups."""

    def __init__(self, mechanism: CusText) -> None:
        self._mechanism = mechanism

    def observe(self, ids: Ints, stream: Stream) -> Ints:
        """Return an answer for each word id."""
        return self._mechanism._perturb(ids, stream)

    def log_likelihoods(self, seen: Ints, words: slice) -> Floats:
        """Return log Pr[u | w] for each answer u and each word w of a slice."""
        members = self._mechanism.members
        table = np.ascontiguousarray(self._mechanism.log_table[words].T)[members.columns[seen]]
        table[members.labels[seen][:, None] != members.labels[words]] = -np.inf
        return table

    def answers(self, seen: Ints) -> Ints:
        """Return what is seen: the answers themselves."""
        return seen

    def of_answers(self, answers: Ints) -> Ints:
        """Return the answers."""
        return answers
