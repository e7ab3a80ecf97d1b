"""The ε for a goal: against a closed form in one dimension, against simulation, and with other seeds.

On a line, with noise of density (ε/2)·exp(-ε|z|), a word with the gaps l and r to its neighbours stays with
probability 1 - (exp(-ε·l/2) + exp(-ε·r/2))/2. That gives the true ε for every target.
"""

import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats
from scipy.optimize import brentq
from scipy.spatial.distance import cdist

import wordveil as wv
from tests.own_mechanisms import WithoutGuarantee
from wordveil.attacker import guess_rate
from wordveil.evaluation import calibration
from wordveil.evaluation.calibration import (
    Calibration,
    calibrate_attack,
    calibrate_unchanged,
    critical_epsilons,
)

Floats = NDArray[np.float64]
ALPHA = 1e-6
GAPS = np.random.default_rng(3).gamma(2.0, 0.5, size=39)


def toy(points: Floats) -> wv.Embedding:
    return wv.Embedding([f"w{i}" for i in range(len(points))], points, public=True)


@pytest.fixture(scope="module")
def line() -> wv.Embedding:
    return toy(np.concatenate(([0.0], np.cumsum(GAPS)))[:, None])


@pytest.fixture(scope="module")
def cloud() -> wv.Embedding:
    """Long in one direction, so that λ matters, and a third of the words have the vector of another one."""
    points = np.random.default_rng(4).normal(size=(300, 3)) * [4.0, 1.0, 0.5]
    points[200:] = points[:100]
    return toy(points[np.random.default_rng(5).permutation(300)])


def stay_on_line(epsilon: float) -> float:
    gaps = np.concatenate(([np.inf], GAPS, [np.inf]))
    return float(np.mean(1.0 - (np.exp(-epsilon * gaps[:-1] / 2) + np.exp(-epsilon * gaps[1:] / 2)) / 2))


def true_epsilon(target: float) -> float:
    return float(brentq(lambda epsilon: stay_on_line(epsilon) - target, 1e-6, 1e4))


def laplace_on(embedding: wv.Embedding) -> Callable[[float], wv.Laplace]:
    return lambda epsilon: wv.Laplace(embedding, epsilon)


def with_seed(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    monkeypatch.setattr(calibration, "insecure_stream", lambda _: wv.insecure_stream(seed))


@pytest.mark.parametrize("target", [0.25, 0.5, 0.9])
def test_unchanged_on_a_line_has_a_closed_form(line: wv.Embedding, target: float) -> None:
    result = calibrate_unchanged(laplace_on(line), target, draws=20_000)
    assert result.low < true_epsilon(target) < result.high
    assert result.low < result.epsilon < result.high < 1.2 * result.low
    assert result.reached.share == pytest.approx(target, abs=1e-4)
    assert result.reached.low < target < result.reached.high
    assert (result.target, result.to_dict()["target"]) == (target, target)


def check_coverage(intervals: list[Calibration], truth: float) -> None:
    """Raise AssertionError if fewer intervals cover the truth than 95%, or than 97.5% from each side; α = 1e-6."""
    below, above = sum(c.low <= truth for c in intervals), sum(c.high >= truth for c in intervals)
    count = len(intervals)
    assert min(below, above) >= stats.binom.ppf(ALPHA, count, 0.975)
    assert below + above - count >= stats.binom.ppf(ALPHA, count, 0.95)


def test_the_interval_covers_the_true_epsilon(line: wv.Embedding, monkeypatch: pytest.MonkeyPatch) -> None:
    """200 intervals of 200 draws."""
    results = []
    for seed in range(200):
        with_seed(monkeypatch, seed)
        results.append(calibrate_unchanged(laplace_on(line), 0.3, draws=200))
    check_coverage(results, true_epsilon(0.3))


@pytest.mark.parametrize("target", [0.021, 0.3, 0.979])
def test_the_interval_covers_a_known_law(
    line: wv.Embedding, target: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """4,000 intervals of 200 draws of a law that is known: few decide at the first and the last target.

    An end that is one draw too close there is on its side in 91% of cases, and passes with probability 1e-30.
    """
    rng = np.random.default_rng(int(1000 * target))
    monkeypatch.setattr(calibration, "critical_epsilons", lambda _, draws: rng.exponential(size=draws))
    results = [calibrate_unchanged(laplace_on(line), target, draws=200) for _ in range(4000)]
    check_coverage(results, -math.log1p(-target))
    closer = [
        Calibration(c.epsilon, c.low * 1.5 if target < 0.5 else c.low, c.high / 1.5, target, c.reached)
        for c in results
    ]
    with pytest.raises(AssertionError):
        check_coverage(closer, -math.log1p(-target))


def stays_by_definition(mechanism: wv.Mahalanobis, epsilon: float, draws: int) -> NDArray[np.bool_]:
    """Return whether the nearest word is the word itself, for the words and directions of `critical_epsilons`."""
    stream = wv.insecure_stream(0)
    places = mechanism._places[:-1]
    ids = stream.integers(len(places), (draws,))
    noise = mechanism.channel().noise(draws, stream)
    answers = [
        int(cdist(places[[i]] + z / epsilon, places).argmin()) for i, z in zip(ids, noise, strict=True)
    ]
    return np.asarray(answers == ids)


@pytest.mark.parametrize("lam", [0.0, 1.0])
@pytest.mark.parametrize("epsilon", [0.5, 3.0, 20.0])
def test_one_pass_decides_each_draw_rightly(cloud: wv.Embedding, lam: float, epsilon: float) -> None:
    """Not by chance: for each draw, and of equal vectors the lowest index stays. A missing factor 2 is caught."""
    mechanism, draws = wv.Mahalanobis(cloud, 1.0, lam), 1000
    critical = critical_epsilons(mechanism, draws)
    stays = stays_by_definition(mechanism, epsilon, draws)
    assert np.array_equal(critical <= epsilon, stays)
    assert (critical / 2.0 <= epsilon).sum() > stays.sum() + 10
    louder = wv.Mahalanobis(cloud, 0.5, lam).channel().noise(7, wv.insecure_stream(0))
    assert louder == pytest.approx(2.0 * mechanism.channel().noise(7, wv.insecure_stream(0)))


@pytest.mark.parametrize("lam", [0.0, 1.0])
@pytest.mark.parametrize("epsilon", [0.5, 3.0, 20.0])
def test_one_pass_agrees_with_answers(cloud: wv.Embedding, lam: float, epsilon: float) -> None:
    """n = 20,000 of each, two-sided, α = 1e-6; a missing factor 2 is caught here as well."""
    draws = 20_000
    critical = critical_epsilons(wv.Mahalanobis(cloud, 1.0, lam), draws)
    ids = wv.insecure_stream(1).integers(len(cloud), (draws,))
    answers = wv.Mahalanobis(cloud, epsilon, lam).perturb_ids(ids, stream=wv.insecure_stream(2))
    share = float((answers == ids).mean())
    limit = float(stats.norm.isf(ALPHA / 2)) * math.sqrt(2.0 * share * (1.0 - share) / draws)
    assert abs((critical <= epsilon).mean() - share) < limit
    assert abs((critical / 2.0 <= epsilon).mean() - share) > limit


def test_equal_vectors_stay_only_at_the_lowest_index() -> None:
    embedding = toy(np.array([[0.0, 1.0], [5.0, 5.0], [0.0, 1.0], [0.0, 1.0], [5.0, 5.0], [9.0, 0.0]]))
    mechanism = wv.Laplace(embedding, 1.0)
    critical = critical_epsilons(mechanism, 2000)
    ids = wv.insecure_stream(0).integers(6, (2000,))
    assert np.array_equal(np.isinf(critical), np.isin(ids, [2, 3, 4]))
    assert (critical >= 0.0).all()


class Response(WithoutGuarantee):
    """No closed form: a word stays with probability 1 - exp(-ε), else the next one is the answer."""

    def __init__(self, embedding: wv.Embedding, epsilon: float) -> None:
        self.embedding, self.epsilon = embedding, epsilon

    def parameters(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon}

    def _perturb(self, ids: NDArray[np.int64], stream: wv.Stream) -> NDArray[np.int64]:
        stays = stream.uniforms(ids.shape) < -math.expm1(-self.epsilon)
        return np.where(stays & (ids >= 0), ids, (ids + 1) % len(self.embedding))


@pytest.mark.parametrize("target", [0.1, 0.5, 0.9])
def test_other_mechanisms_are_searched(line: wv.Embedding, target: float) -> None:
    result = calibrate_unchanged(lambda epsilon: Response(line, epsilon), target)
    assert result.low < -math.log1p(-target) < result.high
    assert result.low < result.epsilon < result.high
    assert result.reached.share == pytest.approx(target, abs=0.005)


def test_a_changed_mechanism_is_searched_too(line: wv.Embedding) -> None:
    """It inherits the channel of Laplace, whose formula would be wrong: ten times the noise is added."""

    class Louder(wv.Laplace):
        def _noisy_points(self, ids: NDArray[np.int64], stream: wv.Stream) -> Floats:
            places = self._places[ids]
            return places + 10.0 * (super()._noisy_points(ids, stream) - places)

    result = calibrate_unchanged(lambda epsilon: Louder(line, epsilon), 0.5)
    assert result.low < 10.0 * true_epsilon(0.5) < result.high


@pytest.fixture(scope="module")
def vocabulary() -> wv.Embedding:
    return toy(np.random.default_rng(6).normal(size=(400, 4)))


@pytest.mark.parametrize(("lam", "target"), [(0.0, 0.3), (1.0, 0.3), (0.0, 0.8)])
def test_the_goal_is_reached_with_other_draws(vocabulary: wv.Embedding, lam: float, target: float) -> None:
    """n = 20,000 draws of another seed, α = 0.025 for each end of the first interval, and seeds are fixed."""
    prior = wv.Prior.by_rank(vocabulary)
    result = calibrate_attack(lambda epsilon: wv.Mahalanobis(vocabulary, epsilon, lam), prior, target)

    def again(epsilon: float) -> float:
        mechanism = wv.Mahalanobis(vocabulary, epsilon, lam)
        return guess_rate(mechanism, prior, draws=20_000, stream=wv.insecure_stream(9)).success.share

    assert again(result.low) < target < again(result.high)
    assert again(result.epsilon) == pytest.approx(target, abs=0.02)
    assert result.reached.low < target < result.reached.high
    assert result.reached.share == pytest.approx(target, abs=0.005)
    assert result.high < 1.3 * result.low


def test_the_same_goal_gives_the_same_result(vocabulary: wv.Embedding, line: wv.Embedding) -> None:
    prior = wv.Prior.by_rank(vocabulary)
    attacks = [calibrate_attack(laplace_on(vocabulary), prior, 0.3, draws=200) for _ in range(2)]
    assert attacks[0] == attacks[1]
    assert calibrate_unchanged(laplace_on(line), 0.3) == calibrate_unchanged(laplace_on(line), 0.3)


def test_the_same_facts_for_machines(line: wv.Embedding) -> None:
    result = calibrate_unchanged(laplace_on(line), 0.3)
    assert isinstance(result, Calibration)
    facts = json.loads(json.dumps(result.to_dict(), allow_nan=False))
    assert facts == {
        "epsilon": result.epsilon,
        "low": result.low,
        "high": result.high,
        "target": 0.3,
        "reached": {"share": result.reached.share, "low": result.reached.low, "high": result.reached.high},
    }


GUESS = 0.97 / 3.7 / sum(1.0 / (rank + 2.7) for rank in range(1, 41))  # by the order of the 40 words
UNREACHABLE: list[tuple[str, float, str]] = [
    ("attack", 0.08, "A guess is right in .*% of cases without any output. Hint: a larger --target-attack"),
    ("attack", GUESS + 0.001, "too close to what every ε reaches. Hint: a larger"),
    ("attack", 0.9999, "too close to what no ε exceeds. Hint: a smaller"),
    ("unchanged", 0.0001, "too close to what every ε reaches. Hint: a larger"),
    ("unchanged", 0.02, "too close to what every ε reaches. Hint: a larger"),
    ("unchanged", 0.9999, "too close to what no ε exceeds. Hint: a smaller"),
]


def check_refused(goal: str, make: Callable[[float], wv.Mechanism], target: Any, message: str) -> None:
    with pytest.raises(wv.ParameterError, match=message) as error:
        if goal == "unchanged":
            calibrate_unchanged(make, target)
        else:
            calibrate_attack(make, wv.Prior.by_rank(make(1.0).embedding), target)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("goal", "target", "message"), UNREACHABLE)
def test_goals_out_of_reach(line: wv.Embedding, goal: str, target: float, message: str) -> None:
    """On a line, the two words at the ends stay with probability 1/2 at every ε: 2.5% of the 40 words."""
    check_refused(goal, laplace_on(line), target, message)


@pytest.mark.parametrize("goal", ["attack", "unchanged"])
@pytest.mark.parametrize("target", [0.0, 1.0, -0.5, 1.5, float("nan"), float("inf"), "0.3", None, True])
def test_what_is_no_share(line: wv.Embedding, goal: str, target: Any) -> None:
    check_refused(
        goal, laplace_on(line), target, rf"The 'target_{goal}' parameter of calibrate must be in \(0, 1\)"
    )


def test_words_with_the_vector_of_another_never_stay(cloud: wv.Embedding) -> None:
    check_refused("unchanged", laplace_on(cloud), 0.8, "other words have the same vectors. Hint: a smaller")
    check_refused("unchanged", laplace_on(cloud), 0.64, "too close to what no ε exceeds. Hint: a smaller")
    assert calibrate_unchanged(laplace_on(cloud), 0.6).high < math.inf


def test_other_mechanisms_have_limits_too(line: wv.Embedding) -> None:
    def make(epsilon: float) -> wv.Mechanism:
        return Response(line, epsilon)

    check_refused("unchanged", make, 1e-6, "too close to what every ε reaches")
    check_refused("unchanged", make, 1.0 - 1e-6, "too close to what no ε exceeds")
    check_refused(
        "attack", make, 0.5, "no closed form, so the attacker's number is only bounded. Hint: --target-un"
    )
