"""Finds the ε at which a setting reaches a goal: how often a guess is right, or how many words stay."""

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wordveil.attacker import guess_rate, in_row_blocks, word_blocks
from wordveil.errors import ParameterError, check_real
from wordveil.evaluation.privacy import typical_stay
from wordveil.intervals import Share
from wordveil.mechanisms import Mechanism
from wordveil.mechanisms.channel import AdditiveChannel, squared_distances
from wordveil.prior import Prior
from wordveil.randomness import insecure_stream

__all__ = ["Calibration", "calibrate_attack", "calibrate_unchanged"]

MakeMechanism = Callable[[float], Mechanism]
"""Makes the mechanism of a setting with that ε."""

_DRAWS: Final = 2000  # a share is then within 0.022, as a binomial share of one half is
_ROUGH: Final = 8  # one draw in eight finds the place; near it, all of them are drawn
# Of log ε: far outside of what any vectors need. Between these, every share is reached.
_SMALLEST: Final = math.log(1e-6)
_LARGEST: Final = math.log(1e12)
_STEP: Final = math.log(4.0)  # from ε = 1 to the upper end in 20 steps
_NEAR: Final = 0.06  # a little more than the usual interval of ε reaches to each side
_TOO_SMALL: Final = "The target is too close to what every ε reaches. Hint: a larger one."
_TOO_LARGE: Final = "The target is too close to what no ε exceeds. Hint: a smaller one."
_TOLERANCE: Final = 0.005  # of ε: a tenth of its usual interval


@dataclass(frozen=True, slots=True)
class Calibration:
    """The ε at which a share is reached.

    Attributes
    ----------
    epsilon, low, high : float
        ε, and its 95% interval: at `low` the share is at most the target, with 97.5% confidence.
    target : float
        The share that was asked for.
    reached : Share
        The share at ε.
    """

    epsilon: float
    low: float
    high: float
    target: float
    reached: Share

    def to_dict(self) -> dict[str, Any]:
        """Return the same facts as plain JSON values."""
        return asdict(self) | {"reached": self.reached._asdict()}


def calibrate_attack(make: MakeMechanism, prior: Prior, target: float, *, draws: int = _DRAWS) -> Calibration:
    """Return the ε at which the best guess of an attacker is right as often as `target`.

    The same words and directions are drawn for every ε, so that the share grows steadily with it.

    Examples
    --------
    >>> import wordveil as wv
    >>> emb = wv.load_embedding().project(5)
    >>> result = calibrate_attack(lambda e: wv.Laplace(emb, e), wv.Prior.english(emb), 0.3, draws=500)
    >>> result.low < result.epsilon < result.high, abs(result.reached.share - 0.3) < 0.01
    (True, True)
    """
    target = check_real(target, "target_attack", "calibrate", "be in (0, 1)", 1e-9, 1.0 - 1e-9)
    if target <= prior.guess:
        raise ParameterError(
            f"A guess is right in {prior.guess:.1%} of cases without any output. "
            "Hint: a larger --target-attack."
        )

    def measure(epsilon: float, draws: int = draws) -> Share:
        rate = guess_rate(make(epsilon), prior, draws=draws)
        if not rate.exact:
            raise ParameterError(
                "This mechanism has no closed form, so the attacker's number is only bounded. "
                "Hint: --target-unchanged."
            )
        return rate.success

    return _solved(measure, target, lambda epsilon: measure(epsilon, max(2, draws // _ROUGH)))


def calibrate_unchanged(make: MakeMechanism, target: float, *, draws: int = _DRAWS) -> Calibration:
    """Return the ε at which that share of the words of the vocabulary stays.

    For additive noise with the nearest word one pass gives the share at every ε; else ε is searched for.

    Examples
    --------
    >>> import wordveil as wv
    >>> emb = wv.load_embedding().project(5)
    >>> result = calibrate_unchanged(lambda e: wv.Laplace(emb, e), 0.25)
    >>> result.low < result.epsilon < result.high
    True
    """
    target = check_real(target, "target_unchanged", "calibrate", "be in (0, 1)", 1e-9, 1.0 - 1e-9)
    mechanism = make(1.0)
    channel = mechanism.valid_channel()
    if not (isinstance(channel, AdditiveChannel) and channel.answers_nearest):
        return _solved(lambda epsilon: typical_stay(make(epsilon), insecure_stream(0)), target)
    from scipy.stats import binom

    critical = np.sort(critical_epsilons(mechanism, draws))
    # The true ε has B of these below it, B ~ Binomial(draws, target): so the k-th smallest is below if B ≥ k.
    places = [int(binom.ppf(share, draws, target)) for share in (0.025, 0.975)]
    smallest = [0.0, *critical.tolist(), math.inf]
    low, epsilon, high = (smallest[k] for k in (places[0], math.ceil(draws * target), places[1] + 1))
    if not math.isfinite(epsilon):
        raise ParameterError(
            "That many words never stay, because other words have the same vectors. Hint: a smaller target."
        )
    if low == 0.0:
        raise ParameterError(_TOO_SMALL)
    if not math.isfinite(high):
        raise ParameterError(_TOO_LARGE)
    share = float((critical <= epsilon).mean())
    return Calibration(epsilon, low, high, target, Share(share, *(place / draws for place in places)))


def critical_epsilons(mechanism: Mechanism, draws: int) -> NDArray[np.float64]:
    """Return the smallest ε at which each of some random words stays, given the direction of its noise.

    With Z the noise at ε = 1, w stays at ε if no word u is nearer: ε ≥ 2⟨φ(u) - φ(w), Z⟩ / ‖φ(u) - φ(w)‖² for
    all u with another vector. Of equal vectors the lowest index is answered, so the others never stay.
    """
    stream = insecure_stream(0)
    count = len(mechanism.embedding)
    ids = stream.integers(count, (draws,))
    channel = mechanism.valid_channel()
    assert isinstance(channel, AdditiveChannel)
    rows = channel.places - channel.places[-1]
    noise = channel.noise(draws, stream)
    critical = np.zeros(draws)

    def measure(block: slice) -> None:
        own = rows[ids[block]]
        along = np.einsum("ij,ij->i", own, noise[block])
        for words in word_blocks(count):
            squares = squared_distances(own, rows[words])
            with np.errstate(divide="ignore", invalid="ignore"):
                limits = 2.0 * (noise[block] @ rows[words].T - along[:, None]) / squares
            earlier = np.arange(words.start, words.stop) < ids[block, None]
            limits[squares == 0.0] = np.where(earlier, np.inf, -np.inf)[squares == 0.0]
            np.maximum(critical[block], limits.max(axis=1), out=critical[block])

    in_row_blocks(draws, measure)
    return critical


def _solved(
    measure: Callable[[float], Share], target: float, rough: Callable[[float], Share] | None = None
) -> Calibration:
    """Return where the share and both ends of its interval reach the target, by Brent's method in log ε.

    `rough` measures the share from fewer draws, to start near the end.
    """
    known: dict[float, Share] = {}

    def at(log_epsilon: float) -> Share:
        if log_epsilon not in known:
            known[log_epsilon] = measure(math.exp(log_epsilon))
        return known[log_epsilon]

    start, step = 0.0, _STEP
    if rough is not None:
        with suppress(ParameterError):  # then all draws may still reach the target
            start = _root(lambda x: rough(math.exp(x)).share, target, start, step)
            step = _NEAR
    middle = _root(lambda x: at(x).share, target, start, step)
    low = _root(lambda x: at(x).high, target, middle, _NEAR)
    high = _root(lambda x: at(x).low, target, middle, _NEAR)
    return Calibration(math.exp(middle), math.exp(low), math.exp(high), target, at(middle))


def _root(share: Callable[[float], float], target: float, start: float, step: float) -> float:
    """Return the log ε at which a share reaches the target; each step from the start is twice as long."""
    from scipy.optimize import brentq

    low = high = start
    reach = step
    while share(low) > target:
        if low == _SMALLEST:
            raise ParameterError(_TOO_SMALL)
        low, high, reach = max(low - reach, _SMALLEST), low, 2.0 * reach
    while share(high) < target:
        if high == _LARGEST:
            raise ParameterError(_TOO_LARGE)
        low, high, reach = high, min(high + reach, _LARGEST), 2.0 * reach
    return low if low == high else float(brentq(lambda x: share(x) - target, low, high, xtol=_TOLERANCE))
