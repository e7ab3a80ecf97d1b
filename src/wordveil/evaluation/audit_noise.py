"""Grey box: the noise itself in full dimension, for mechanisms that show it; and its replay on neighbours.

The noise is taken where the search takes it: from the noisy points, minus the vector of the word. First it is
checked that the answers are those of these points. If they are not, all that is known about the points says
nothing about the answers, and the law is not tested.

A mechanism whose answers use more than the point, such as a coin, says so by its channel: `observe` returns
the point and the coin, and `answers` the word that follows from them.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from wordveil.evaluation.audit_result import Check, not_tested
from wordveil.evaluation.noise_law import Drawn, matrix_of, noise_tests
from wordveil.guarantee import MetricGuarantee
from wordveil.mechanisms import Mechanism
from wordveil.randomness import RunKey, Stream, insecure_stream

__all__ = [
    "answers_follow",
    "claimed_distance",
    "differing_answers",
    "grey_box",
    "noise_of",
    "replay",
    "shows_noise",
]

GROUP: Final = "noise"
_ALPHA: Final = 5e-6  # for each of seven tests
_NUMBERS: Final = 6_000_000  # of noise in all: 48 MB
_FOLLOWED: Final = 2000  # answers that are compared
_REPLAYED: Final = 1000  # words whose answers are drawn again
_REPLAYED_NUMBERS: Final = 30_000_000  # of noise: all words up to 100,000 in 300 dimensions
_BLOCK_NUMBERS: Final = 1_000_000  # of noise at a time: 8 MB
_CHANGED: Final = 0.01  # of the answers, for which the power is stated
_RARE: Final = 1e-3  # of the words, for which the power is stated where not all are compared
_LEAST, _MOST = 20_000, 200_000  # draws
_SAME: Final = 1e-9  # of the size of a point: rounding is far less, and noise that depends on a word far more
_VISIBLE: Final = 1e-6  # of the size of a point: half of noise that is less might pass for rounding
_SAME_NOISE: Final = "the same stream gives neighbours the same noise"
_TITLES: Final = {
    "radius": "ε·‖z‖_RM has the law Gamma(m, 1)",
    "covariance": "covariance and rotation are those of A = λΣ + (1-λ)I",
    "direction": "directions are uniform in the metric",
    "independence": "radius and direction are independent",
    "signs": "the noise is symmetric",
    "rows": "the noise of different draws and words is independent",
    "float64": "the noise is in float64",
}


def shows_noise(mechanism: Mechanism) -> bool:
    """Say whether the noise of a mechanism can be drawn, and is claimed to follow exp(-ε‖z‖_RM)."""
    names = ("_noisy_points", "metric", "_places", "_answer_search")
    return (
        all(hasattr(mechanism, name) for name in names)
        and isinstance(mechanism.guarantee, MetricGuarantee)
        and mechanism.channel() is not None
    )


def noise_of(mechanism: Any, ids: NDArray[np.int64], stream: Stream) -> NDArray[np.float64]:
    """Return the noise of each word, in the coordinates of the vectors."""
    points = mechanism._noisy_points(ids, stream)
    vectors = mechanism.embedding.vectors[ids].astype(np.float64)
    vectors[ids < 0] = mechanism.embedding.centroid
    return np.asarray(points @ mechanism.metric.axes.T - vectors)


def _drawn(mechanism: Any, ids: NDArray[np.int64], stream: Stream) -> NDArray[np.float64]:
    """Return the noise as it was added, in the eigenbasis."""
    return np.asarray(mechanism._noisy_points(ids, stream) - mechanism._places[ids])


def grey_box(mechanism: Mechanism, key: RunKey) -> list[Check]:
    """Return the checks of the law of the noise at this setting, in all its dimensions."""
    law = "the law of the noise"
    if not shows_noise(mechanism):
        return [not_tested(GROUP, law, "this mechanism shows no noise, only answers")]
    follow = answers_follow(mechanism, key)
    if not follow.passed:
        return [
            follow,
            not_tested(GROUP, law, "the answers are not those of the points that could be tested"),
        ]
    promise, shown = mechanism.guarantee, _as_any(mechanism)
    assert isinstance(promise, MetricGuarantee)
    count = int(np.clip(_NUMBERS // mechanism.embedding.dim, _LEAST, _MOST))
    ids = np.arange(count) % (len(mechanism.embedding) + 1) - 1
    noise = noise_of(mechanism, ids, key.stream("audit", "noise"))
    points = shown._noisy_points(ids[:_LEAST], key.stream("audit", "noise"))
    drawn = Drawn(points, points - shown._places[ids[:_LEAST]], shown.metric.scales)
    matrix = matrix_of(mechanism.embedding.vectors, promise.metric.lam)
    longest = float(np.linalg.norm(mechanism.embedding.vectors, axis=1).max())
    radii = key.stream("audit", "radii")
    tests = noise_tests(noise, matrix, promise.epsilon, radii, _ALPHA, drawn, longest)
    checks = [follow]
    for test in tests:
        evidence = f"{test.seen} (n = {count:,}, p = {test.pvalue:.2g})"
        passed = test.pvalue >= _ALPHA
        checks.append(Check(GROUP, _TITLES[test.name], passed, evidence, _ALPHA, test.mistake, test.power))
    why = "some words have no noise, so there is no direction"
    tested = {test.name for test in tests}
    return checks + [not_tested(GROUP, title, why) for name, title in _TITLES.items() if name not in tested]


def _as_any(mechanism: Mechanism) -> Any:
    """Return a mechanism whose points are looked at, which the contract of all mechanisms does not have."""
    return mechanism


def _spread(mechanism: Mechanism, count: int, key: RunKey) -> NDArray[np.int64]:
    """Return random words of the vocabulary, or all words and the centroid where these are not more."""
    all_ids = len(mechanism.embedding) + 1
    if all_ids <= count:
        return np.arange(all_ids) - 1
    return np.sort(key.stream("audit", "words to compare").permutation(all_ids)[:count]) - 1


def differing_answers(mechanism: Any, key: RunKey, count: int = _FOLLOWED) -> int:
    """Return how many answers are not those of the noisy points (and coins) of the same stream."""
    ids = np.resize(_spread(mechanism, count, key), count)
    answers, channel = mechanism.perturb_ids(ids, stream=key.stream("audit", "follow")), mechanism.channel()
    points = mechanism._noisy_points(ids, key.stream("audit", "follow"))
    seen = channel.observe(ids, key.stream("audit", "follow"))
    expected = mechanism._cleaned(channel.answers(seen))
    return int(((answers != expected) | (seen[:, : points.shape[1]] != points).any(axis=1)).sum())


def _power_of_sample(share: float, count: int) -> float:
    """Return how often a sample has one of a share of all words."""
    return -float(np.expm1(count * np.log1p(-share)))


def answers_follow(mechanism: Any, key: RunKey) -> Check:
    """Return whether the answers are functions of the noisy points; not tested if they use something else."""
    name = "answers are functions of the noisy points that are tested"
    differ = differing_answers(mechanism, key)
    if differ and type(mechanism)._perturb is not _additive_perturb():
        return not_tested(GROUP, name, f"{differ} of {_FOLLOWED} answers use something else than the point")
    evidence = f"{_FOLLOWED - differ} of {_FOLLOWED} answers are those of the search at the same noise"
    mistake = f"other noise than the tested one in {_CHANGED:.0%} of the answers"
    return Check(GROUP, name, differ == 0, evidence, 0.0, mistake, _power_of_sample(_CHANGED, _FOLLOWED))


def _additive_perturb() -> object:
    from wordveil.mechanisms.additive import Mahalanobis

    return Mahalanobis._perturb


def replay(mechanism: Mechanism, key: RunKey) -> list[Check]:
    """Return the checks of what a stream gives to neighbouring words: the same noise, and no memory."""
    ids = _spread(mechanism, _REPLAYED, key)
    again = [mechanism.perturb_ids(ids, stream=insecure_stream(3)) for _ in range(2)]
    equal = int((again[0] == again[1]).sum())
    checks = [
        Check(
            "replay",
            "all randomness comes from the stream",
            equal == len(ids),
            f"{equal} of {len(ids)} answers repeat with the same stream",
            0.0,
            f"hidden randomness or memory that changes {_CHANGED:.0%} of the answers",
            _power_of_sample(_CHANGED, len(ids)),
        )
    ]
    if not shows_noise(mechanism):
        why = "this mechanism shows no noise, and may use as many random numbers as a word needs"
        return [*checks, not_tested("replay", _SAME_NOISE, why)]
    if differing_answers(mechanism, key):
        why = "the answers are not those of the points whose noise could be compared"
        return [*checks, not_tested("replay", _SAME_NOISE, why)]
    changed = ids.copy()
    changed[::2] = np.roll(ids, 1)[::2]
    other = mechanism.perturb_ids(changed, stream=insecure_stream(3))
    between = len(ids) // 2
    kept = int((other[1::2] == again[0][1::2]).sum())
    checks.append(
        Check(
            "replay",
            "the noise of a word does not depend on the words before it",
            kept == between,
            f"{kept} of {between} answers stay while the words between them change",
            0.0,
            f"noise of which other words change {_CHANGED:.0%} of the answers",
            _power_of_sample(_CHANGED, between),
        )
    )
    return [*checks, _same_noise(mechanism, key)]


def _same_noise(mechanism: Mechanism, key: RunKey) -> Check:
    """Draw all words with one stream, and the same stream for the word before each.

    Each word is compared with its neighbour, so words that have equal noise are so all along the vocabulary.
    """
    dim, every = mechanism.embedding.dim, len(mechanism.embedding) + 1
    ids = _spread(mechanism, _REPLAYED_NUMBERS // dim, key)
    others, rows = np.roll(ids, 1), max(1, _BLOCK_NUMBERS // dim)
    streams = insecure_stream(4), insecure_stream(4)
    difference = size = 0.0
    for start in range(0, len(ids), rows):
        block = slice(start, start + rows)
        first, second = (
            noise_of(mechanism, words[block], stream)
            for words, stream in zip((ids, others), streams, strict=True)
        )
        difference = max(difference, float(np.abs(first - second).max()))
        size = max(size, float(np.abs(first).max()))
    total = size + float(np.abs(mechanism.embedding.vectors).max())
    difference /= total
    compared, mistake, power = (
        f"all {every:,} words (with the centroid)",
        "a word with half of the noise of the others",
        None,
    )
    if len(ids) < every:
        compared = f"{len(ids):,} of {every:,} words"
        mistake, power = "one word in 1,000 with half of the noise", _power_of_sample(_RARE, len(ids))
    if size < _VISIBLE * total:
        power = 0.0
    evidence = f"for {compared} it differs by {difference:.1e} of its size at most"
    return Check("replay", _SAME_NOISE, difference < _SAME, evidence, 0.0, mistake, power)


def claimed_distance(mechanism: Mechanism) -> Check:
    """Return whether the claimed exponents are ε·‖φ(w) - φ(w')‖_RM, recomputed from the raw vectors."""
    name = "claimed exponents are ε times the distance, from the raw vectors"
    promise = mechanism.guarantee
    if not isinstance(promise, MetricGuarantee):
        why = "the claim is not ε times a distance between vectors"
        ids = np.arange(0, len(mechanism.embedding), max(1, len(mechanism.embedding) // 100))
        unlimited = float(np.isinf(promise.exponents(ids[:, None], ids[None, :])).mean())
        if unlimited:
            why += f"; for {unlimited:.0%} of pairs of words nothing is promised at all"
        return not_tested("claim", name, why)
    count = len(mechanism.embedding)
    ids = np.unique(np.linspace(-1, count - 1, min(count + 1, 200)).astype(np.int64))
    vectors = mechanism.embedding.vectors[ids].astype(np.float64)
    vectors[ids < 0] = mechanism.embedding.vectors.mean(axis=0, dtype=np.float64)
    difference = (vectors[:, None] - vectors[None, :]).reshape(-1, vectors.shape[1])
    matrix = matrix_of(mechanism.embedding.vectors, promise.metric.lam)
    solved = np.linalg.solve(matrix, difference.T).T
    epsilon = float(mechanism.parameters().get("epsilon", promise.epsilon))  # type: ignore[arg-type]  # a number
    expected = epsilon * np.sqrt(np.einsum("ij,ij->i", difference, solved))
    claimed = promise.exponents(ids[:, None], ids[None, :]).ravel()
    error = float(np.abs(claimed - expected).max() / max(expected.max(), 1e-300))
    evidence = (
        f"{len(claimed):,} pairs of words, the largest difference is {error:.1e} of the largest exponent"
    )
    return Check("claim", name, error < 1e-6, evidence, 0.0, "a claim that is off by a thousandth")
