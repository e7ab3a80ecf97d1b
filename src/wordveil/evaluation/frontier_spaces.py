"""What a frontier is drawn over: spaces, and in each of them mechanisms with their options, ε left open."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from wordveil.block_list import BlockList
from wordveil.embedding import Embedding
from wordveil.errors import ParameterError, check_real
from wordveil.evaluation.settings import Setting
from wordveil.mechanisms import Mechanism, make_mechanism, mechanism_class
from wordveil.mechanisms.answers import ANSWERS, AnswerName
from wordveil.mechanisms.registry import needed_options
from wordveil.nearest.devices import DeviceName

__all__ = ["Curve", "Space", "as_spaces", "list_curves", "names_of", "spread_epsilons"]

# Of log ε: far outside of what any vectors need.
_SMALLEST, _LARGEST = math.log(1e-6), math.log(1e9)
_NEAR: Final = 0.005  # a quarter of the interval of S from 2,000 draws
_CORRECTIONS: Final = 2  # one was enough at each of 24 settings of the default vectors
_STEPS: Final = 14  # halvings of log ε: from a factor of 1e15 to one of 1.01


@dataclass(frozen=True, eq=False)
class Space:
    """An embedding to perturb in, and how a command line names it: `--embedding SOURCE --dims DIMS`.

    Examples
    --------
    >>> import wordveil as wv
    >>> Space(wv.load_embedding().project(10), "glove-840b-300d", 10).dims
    10
    """

    embedding: Embedding
    source: str = ""
    dims: int | None = None


def as_spaces(spaces: Embedding | Space | Iterable[Embedding | Space], owner: str) -> list[Space]:
    """Return spaces from one or several embeddings."""
    if isinstance(spaces, Embedding | Space):
        spaces = [spaces]
    chosen = [item if isinstance(item, Space) else Space(item, item.provenance.name) for item in spaces]
    if not chosen or not all(isinstance(space.embedding, Embedding) for space in chosen):
        raise ParameterError(f"The 'spaces' parameter of {owner} must be one or several embeddings.")
    return chosen


def names_of(spaces: Iterable[Space]) -> str:
    """Return what a result over these spaces is called: the names of all their vectors.

    Examples
    --------
    >>> import wordveil as wv
    >>> emb = wv.load_embedding()
    >>> names_of([Space(emb, "a"), Space(emb.project(5), "a", 5), Space(emb, "b")])
    'a and b'
    """
    names = dict.fromkeys(space.source or space.embedding.provenance.name for space in spaces)
    return " and ".join(filter(None, names)) or "these vectors"


@dataclass(frozen=True, eq=False)
class Curve:
    """A space, a mechanism and its options, with ε left open: a line of the frontier.

    Examples
    --------
    >>> import wordveil as wv
    >>> curve = Curve(Space(wv.load_embedding()), "mahalanobis", {"lam": 0.5})
    >>> curve.at(10.0).parameters()["lam"]
    0.5
    """

    space: Space
    mechanism: str
    options: dict[str, Any]
    device: DeviceName = "cpu"
    blocked: BlockList | None = None

    def at(self, epsilon: float) -> Mechanism:
        """Return the mechanism with that ε."""
        kind = mechanism_class(self.mechanism)
        device = self.device if kind.takes_device else "cpu"
        mechanism = make_mechanism(
            self.mechanism, self.space.embedding, epsilon, device=device, **self.options
        )
        return mechanism if self.blocked is None else mechanism.blocking(self.blocked)

    def setting(self, epsilon: float) -> Setting:
        """Return the setting with that ε."""
        return Setting(self.at(epsilon))

    def toml(self, epsilon: float) -> str:
        """Return the settings file of `wordveil perturb --config`.

        An unsafe option that the mechanism needs is left out: whoever releases text has to ask for it.

        Examples
        --------
        >>> import wordveil as wv
        >>> curve = Curve(Space(wv.load_embedding(), "glove-840b-300d", 10), "laplace", {"answer": "closest"})
        >>> print(curve.toml(5.5))
        epsilon = 5.5
        embedding = "glove-840b-300d"
        dims = 10
        <BLANKLINE>
        [mechanism]
        name = "laplace"
        answer = "closest"
        """
        lines = [f"epsilon = {epsilon!r}"]
        if self.space.source:
            lines.append(f"embedding = {_quoted(self.space.source)}")
        if self.space.dims is not None:
            lines.append(f"dims = {self.space.dims}")
        lines += ["", "[mechanism]", f"name = {_quoted(self.mechanism)}"]
        needed = needed_options(self.mechanism)
        options = {name: value for name, value in self.options.items() if name not in needed}
        return "\n".join(lines + [f"{name} = {_value(value)}" for name, value in options.items()])


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return _quoted(value) if isinstance(value, str) else repr(value)


def list_curves(
    spaces: Sequence[Space],
    mechanisms: Sequence[str],
    lams: Sequence[float],
    answers: Sequence[AnswerName],
    device: DeviceName = "cpu",
) -> list[Curve]:
    """Return every mechanism in every space, with every λ and every answer if it has these options.

    Laplace is left out where the Mahalanobis mechanism with λ = 0 is there: they are the same. A mechanism
    that needs an unsafe option gets it, because comparing settings releases no text.

    Examples
    --------
    >>> import wordveil as wv
    >>> space = Space(wv.load_embedding())
    >>> len(list_curves([space], ["mahalanobis", "laplace"], [0.0, 1.0], ["nearest", "closest"]))
    4
    """
    for lam in lams:
        check_real(lam, "lams", "list_curves", "be in [0, 1]", 0.0, 1.0)
    for answer in answers:
        if answer not in ANSWERS:
            raise ParameterError(f"The answers must be some of {', '.join(ANSWERS)}.")
    names = list(dict.fromkeys(mechanisms))
    if "mahalanobis" in names and 0.0 in lams:
        names = [name for name in names if name != "laplace"]
    curves = []
    for space in spaces:
        for name in names:
            owned = mechanism_class(name).options
            names_owned = {option.name for option in owned}
            needed: dict[str, Any] = dict.fromkeys(needed_options(name), True)
            with_lam: list[dict[str, Any]] = [{"lam": float(lam)} for lam in lams if "lam" in names_owned]
            for options in with_lam or [{}]:
                # An exponential or truncated mechanism chooses its answers itself.
                choices: list[dict[str, Any]] = [{"answer": a} for a in answers if "answer" in names_owned]
                curves += [
                    Curve(space, name, options | choice | needed, device) for choice in choices or [{}]
                ]
    if not curves:
        raise ParameterError("There is nothing to compare: no mechanism, λ or answer was chosen.")
    return curves


def spread_epsilons(
    attack: Callable[[float], float],
    targets: Sequence[float],
    precise: Callable[[float], float] | None = None,
) -> list[float]:
    """Return for each target the ε at which the attacker's success is about that, rounded to three digits.

    Success grows with ε. Targets that no ε reaches get the nearest end, and each ε is returned once. With
    `precise`, the same function from more draws, the ε that was found is moved by what it is off there.

    Examples
    --------
    >>> epsilons = spread_epsilons(lambda epsilon: epsilon / (1.0 + epsilon), [0.25, 0.5])
    >>> [round(epsilon, 1) for epsilon in epsilons]
    [0.3, 1.0]
    """
    known: dict[float, float] = {}

    def at(log_epsilon: float) -> float:
        if log_epsilon not in known:
            known[log_epsilon] = attack(math.exp(log_epsilon))
        return known[log_epsilon]

    def solved(target: float) -> float:
        low = max((x for x, y in known.items() if y < target), default=None)
        high = min((x for x, y in known.items() if y >= target), default=None)
        low, high = _bracket(at, target, low, high)
        for _ in range(_STEPS):
            if high - low < 0.01:
                break
            middle = _between(low, high, at(low), at(high), target)
            low, high = (middle, high) if at(middle) < target else (low, middle)
        return float(f"{math.exp((low + high) / 2.0):.3g}")

    def corrected(epsilon: float, target: float, precise: Callable[[float], float]) -> float:
        for _ in range(_CORRECTIONS):
            off = precise(epsilon) - target
            if abs(off) <= _NEAR:
                break
            epsilon = solved(min(max(at(math.log(epsilon)) - off, 0.0), 1.0))
        return epsilon

    epsilons = [
        solved(target) if precise is None else corrected(solved(target), target, precise)
        for target in sorted(targets)
    ]
    return list(dict.fromkeys(epsilons))


def _between(low: float, high: float, at_low: float, at_high: float, target: float) -> float:
    """Return where a straight line reaches the target, kept away from both ends."""
    share = (target - at_low) / (at_high - at_low) if at_high > at_low else 0.5
    return low + min(max(share, 0.15), 0.85) * (high - low)


def _bracket(
    at: Callable[[float], float], target: float, low: float | None, high: float | None
) -> tuple[float, float]:
    """Return two values of log ε around the target, which steps of growing length look for."""
    start = low if low is not None else high if high is not None else 0.0
    step = 0.7
    if low is None:
        low = start
        while at(low) >= target and low > _SMALLEST:
            low, high, step = max(low - step, _SMALLEST), low, 2.0 * step
    if high is None:
        high, step = low, 0.7
        while at(high) < target and high < _LARGEST:
            low, high, step = high, min(high + step, _LARGEST), 2.0 * step
    return low, high
