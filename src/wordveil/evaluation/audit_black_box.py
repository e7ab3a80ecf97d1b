"""The guarantee as a black box, in one, two and three dimensions, where a few answers say everything.

The words are at 0, ±s and ±2s along each axis of a rotated frame, s such that the smallest claimed exponent
is 1. The first half of the draws chooses an event (a set of answers) for each pair of words; the second half
gives a Clopper-Pearson lower bound of its log-ratio. No correct mechanism has a bound above its claim, except
with probability `alpha` over all pairs together, whatever the first half chose.

In 300 dimensions this has no power: the noise is so long that all answers to two close words have almost the
same frequencies, and a factor of exp(ε·d) shows only in events that no number of draws reaches. There the law
of the noise is tested instead (`audit_noise`).
"""

from collections.abc import Callable
from itertools import permutations
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv
from scipy.stats import binom

from wordveil.embedding import Embedding
from wordveil.evaluation.audit_result import Check
from wordveil.mechanisms import Mechanism
from wordveil.randomness import RunKey, Stream

__all__ = ["Factory", "binomial_power", "black_box", "counts_of", "cross"]

Factory = Callable[[Embedding, float], Mechanism]
"""Makes the mechanism of a setting on other vectors and with another ε; the other parameters are bound."""

Floats = NDArray[np.float64]

GROUP: Final = "black box"
DRAWS: Final = 500_000  # per word, once to choose events and once to bound them: finds 5% in one dimension
_ALPHA: Final = 1e-5  # for each dimension
# How far apart the words are along each axis: unequal, so that symmetry hides no noise of the wrong shape.
_SPREADS: Final = {1: (1.0,), 2: (1.0, 2.0), 3: (1.0, 1.7, 3.0)}
_BLOCK: Final = 1 << 17  # draws at a time
_FACTORS: Final = (1.05, 1.2, 1.5, 2.0)  # an ε that is too large by these: the first that is found is named
_FOUND: Final = 0.99  # the power from which on a mistake counts as found
_COMMON: Final = 0.006  # of the draws of a word: the ratio that is reached is estimated from such answers
_POWER_ALPHA: Final = 0.005  # a stated power is too large with at most twice this probability
_WASTE: Final = 1.25  # noise that is too large by this is private, but useless: such a mistake must be found
_WASTE_ALPHA: Final = 1e-6  # below _ALPHA: too much noise is no breach, so a false alarm would be worse
_FLOOR: Final = 0.95  # of the claim: in one dimension additive noise reaches all of it


class _Cross(NamedTuple):
    """Words in low dimension, the mechanism on them, and what it claims for each pair of words."""

    mechanism: Mechanism
    claimed: Floats


class _Event(NamedTuple):
    """A set of answers that tells word `a` from word `b`."""

    a: int
    b: int
    answers: NDArray[np.int64]


def cross(make: Factory, epsilon: float, dim: int) -> _Cross:
    """Return the mechanism on 4·dim + 1 words, the closest of which have a claimed exponent of 1."""
    frame = np.linalg.qr(np.random.default_rng(dim).normal(size=(dim, dim)))[0]
    steps = zip(frame.T, _SPREADS[dim], strict=True)
    places = [np.zeros(dim), *(times * step * axis for axis, step in steps for times in (-2, -1, 1, 2))]
    scale = 1.0
    for _ in range(3):  # once is enough for a metric; other claims may not be proportional
        words = [f"w{number}" for number in range(len(places))]
        mechanism = make(Embedding(words, scale * np.array(places), public=True), epsilon)
        ids = np.arange(len(places))
        claimed = mechanism.guarantee.exponents(ids[:, None], ids[None, :])
        least = claimed[~np.eye(len(ids), dtype=bool)].min()
        if not np.isfinite(least) or least <= 0.0 or abs(least - 1.0) < 1e-3:
            break
        scale /= least
    return _Cross(mechanism, claimed)


def counts_of(mechanism: Mechanism, draws: int, stream: Stream) -> Floats:
    """Return how often each word is answered with each word, one row per input word."""
    words = len(mechanism.embedding)
    counts = np.zeros((words, words))
    for word in range(words):
        for start in range(0, draws, _BLOCK):
            size = min(_BLOCK, draws - start)
            answers = mechanism.perturb_ids(np.full(size, word), stream=stream)
            counts[word] += np.bincount(answers, minlength=words)
    return counts


def black_box(
    make: Factory, epsilon: float, dim: int, key: RunKey, *, draws: int = DRAWS, tight: bool = False
) -> list[Check]:
    """Return the checks in that many dimensions.

    `tight` says that the claim is known to be reached in one dimension, as by additive noise; then too much
    noise fails as well.
    """
    built = cross(make, epsilon, dim)
    stream = key.stream("audit", "black box", dim)
    first, second = (counts_of(built.mechanism, draws, stream) for _ in range(2))
    pairs = list(permutations(range(len(first)), 2))
    level = _ALPHA / (2.0 * len(pairs))
    events = [_best_event(first, a, b, draws, level) for a, b in pairs]
    excess = [_bound(second, event, draws, level) - built.claimed[event.a, event.b] for event in events]
    worst = events[int(np.argmax(excess))]
    factor, power = _power(make, epsilon, built, draws, level, stream)
    name = f"the claimed exponent in {dim} dimension{'s' if dim > 1 else ''}"
    reached, low, high = _reached(first, second, built.claimed, draws)
    claim = float(built.claimed[worst.a, worst.b])
    evidence = (
        f"of {len(pairs)} pairs of words, one comes closest to its claim of {claim:.3f}, with a log-ratio "
        f"of at least {max(excess) + claim:.3f}; the largest share of a claim that is reached is "
        f"{reached:.0%} ({low:.0%} to {high:.0%})"
    )
    mistake = f"an ε that is {factor - 1.0:.0%} too large"
    checks = [Check(GROUP, name, max(excess) <= 0.0, evidence, _ALPHA, mistake, power)]
    if tight and dim == 1:
        checks.append(_not_wasted(make, epsilon, built, (first, second), draws, stream))
    return checks


def _not_wasted(
    make: Factory, epsilon: float, built: _Cross, halves: tuple[Floats, Floats], draws: int, stream: Stream
) -> Check:
    """Return whether the claim is reached, which additive noise does in one dimension."""
    high = _reached(*halves, built.claimed, draws, _WASTE_ALPHA)[2]
    planted = make(built.mechanism.embedding, epsilon / _WASTE)
    a, b, answer = _tightest(counts_of(planted, draws // 2, stream), built.claimed)
    counts = counts_of(planted, draws // 2, stream)
    shares = _least_telling(counts, _Event(b, a, np.array([answer])), draws // 2)
    limit = -_FLOOR * float(built.claimed[a, b])
    power = binomial_power(shares, limit, draws, _WASTE_ALPHA / 4.0)
    evidence = f"at most {high:.1%} of a claim is reached, where additive noise reaches all of it"
    mistake = f"noise that is {_WASTE - 1.0:.0%} too large"
    name = "no more noise than the claim needs"
    return Check(GROUP, name, high >= _FLOOR, evidence, _WASTE_ALPHA, mistake, power)


def _lower(hits: Floats, draws: int, level: float) -> Floats:
    low = betaincinv(np.maximum(hits, 1.0), draws - hits + 1.0, level)
    return np.asarray(np.where(hits > 0.0, low, 0.0))


def _upper(hits: Floats, draws: int, level: float) -> Floats:
    high = betaincinv(hits + 1.0, np.maximum(draws - hits, 1.0), 1.0 - level)
    return np.asarray(np.where(hits < draws, high, 1.0))


def _log_ratios(a: Floats, b: Floats, draws: int, level: float) -> Floats:
    """Return lower bounds of log(Pr[event | a]/Pr[event | b]), each at twice the level."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(_lower(a, draws, level)) - np.log(_upper(b, draws, level)))


def _best_event(first: Floats, a: int, b: int, draws: int, level: float) -> _Event:
    """Return the answers that favour `a` most: as many of them as give the best bound."""
    order = np.argsort(np.log(first[b] + 0.5) - np.log(first[a] + 0.5), kind="stable")
    bounds = _log_ratios(np.cumsum(first[a, order]), np.cumsum(first[b, order]), draws, level)
    return _Event(a, b, order[: int(np.argmax(bounds[:-1])) + 1])


def _bound(second: Floats, event: _Event, draws: int, level: float) -> float:
    a, b = second[[event.a, event.b]][:, event.answers].sum(axis=1)
    return float(_log_ratios(np.array([a]), np.array([b]), draws, level)[0])


def _reached(
    first: Floats, second: Floats, claimed: Floats, draws: int, level: float = 0.05
) -> tuple[float, float, float]:
    """Return the largest share of a claim that one answer reaches, with an interval."""
    a, b, answer = _tightest(first, claimed)
    top, bottom = second[[a], answer], second[[b], answer]
    claim = float(claimed[a, b])
    low = _log_ratios(top, bottom, draws, level / 4.0)[0] / claim
    high = -_log_ratios(bottom, top, draws, level / 4.0)[0] / claim
    share = float(np.log(max(top[0], 1.0) / max(bottom[0], 1.0))) / claim
    return share, float(low), float(high)


def _tightest(counts: Floats, claimed: Floats) -> tuple[int, int, int]:
    """Return the two words and the common answer whose log-ratio is the largest share of its claim."""
    logs = np.log(np.maximum(counts, 1.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = (logs[:, None, :] - logs[None, :, :]) / claimed[:, :, None]
    common = np.minimum(counts[:, None, :], counts[None, :, :]) >= _COMMON * counts[0].sum()
    shares = np.where(common & (claimed[:, :, None] > 0.0), shares, -np.inf)
    if not np.isfinite(shares).any():  # no answer is common to two words: the one that comes closest to that
        return 0, 1, int(np.minimum(counts[0], counts[1]).argmax())
    a, b, answer = np.unravel_index(int(np.argmax(shares)), shares.shape)
    return int(a), int(b), int(answer)


def _power(
    make: Factory, epsilon: float, built: _Cross, draws: int, level: float, stream: Stream
) -> tuple[float, float]:
    """Return by how much ε must be too large to be found with probability 0.99, and the probability.

    The mechanism is made with that ε. A first sample chooses the pair and the event that tell most; a second
    one gives their probabilities, each at the end of its interval that tells less. From these the power
    follows by the binomial distribution.
    """
    factor, power = 1.0, 0.0
    size = draws // 2
    for factor in _FACTORS:
        planted = make(built.mechanism.embedding, factor * epsilon)
        first, second = (counts_of(planted, size, stream) for _ in range(2))
        cases = []
        for a, b in permutations(range(len(first)), 2):
            event = _best_event(first, a, b, size, level)
            hits = 2.0 * first[[a, b]][:, event.answers].sum(axis=1)[:, None]
            excess = _log_ratios(hits[0], hits[1], draws, level)[0] - built.claimed[a, b]
            cases.append((float(excess), event))
        best = max(cases, key=lambda case: case[0])[1]
        claim = float(built.claimed[best.a, best.b])
        power = binomial_power(_least_telling(second, best, size), claim, draws, level)
        if power >= _FOUND:
            break
    return factor, power


def _least_telling(counts: Floats, event: _Event, draws: int) -> tuple[float, float]:
    """Return a lower bound of Pr[event | a] and an upper bound of Pr[event | b]."""
    a, b = counts[[event.a, event.b]][:, event.answers].sum(axis=1)
    low, high = _lower(np.array([a]), draws, _POWER_ALPHA), _upper(np.array([b]), draws, _POWER_ALPHA)
    return float(low[0]), float(high[0])


def binomial_power(shares: tuple[float, float], claim: float, draws: int, level: float) -> float:
    """Return how often the lower bound of log(p/q) exceeds a claim, for an event of probabilities p and q.

    Examples
    --------
    >>> round(binomial_power((0.3, 0.1), 1.0, 100_000, 1e-6), 3)
    0.998
    """
    ranges = []
    for share in shares:
        ends = binom.ppf([1e-12, 1.0 - 1e-12], draws, share)
        ranges.append(np.arange(ends[0], ends[1] + 1.0))
    lows, highs = _lower(ranges[0], draws, level), _upper(ranges[1], draws, level)
    low_enough = np.searchsorted(highs, lows * np.exp(-claim))  # how many values of the second count are
    below = np.append(0.0, binom.cdf(ranges[1], draws, shares[1]))
    return float(min(1.0, (binom.pmf(ranges[0], draws, shares[0]) * below[low_enough]).sum()))
