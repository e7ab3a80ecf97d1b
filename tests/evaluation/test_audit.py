"""The audit as a tool: its numbers, its words, its exit code, and what it says that it can't test."""

import json
import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordveil as wv
from tests.own_mechanisms import RandomisedResponse
from wordveil.cli.main import main
from wordveil.evaluation.audit import Audit, Check, audit_callable, audit_mechanism, factory_of
from wordveil.evaluation.audit_black_box import binomial_power, black_box, cross
from wordveil.evaluation.audit_search import finite_precision, moved_answers, nearest_rows
from wordveil.evaluation.audit_shared_noise import shared_noise
from wordveil.evaluation.noise_law import noise_tests
from wordveil.mechanisms import registry
from wordveil.nearest import BruteSearch
from wordveil.profiles import load_profile
from wordveil.report.report import make_report

from .planted_answers import FixedSeed


@pytest.fixture(scope="module")
def space(glove: wv.Embedding) -> wv.Embedding:
    return wv.Embedding(glove.words[:2000], glove.vectors[:2000, :12], public=True)


@pytest.mark.parametrize("dim", [1, 2, 3])
@pytest.mark.parametrize("lam", [0.0, 1.0])
def test_the_closest_words_of_a_black_box_have_an_exponent_of_1(dim: int, lam: float) -> None:
    built = cross(lambda embedding, epsilon: wv.Mahalanobis(embedding, epsilon, lam), 7.0, dim)
    others = built.claimed[~np.eye(len(built.claimed), dtype=bool)]
    assert len(built.claimed) == 4 * dim + 1
    assert others.min() == pytest.approx(1.0, abs=1e-3)


def test_the_power_is_that_of_a_simulation() -> None:
    """10,000 simulated tests: the standard error is at most 0.005."""
    from scipy.stats import beta

    shares, claim, draws, level = (0.3, 0.1), 1.0, 20_000, 1e-3
    random = np.random.default_rng(1)
    top, bottom = random.binomial(draws, shares[0], 10_000), random.binomial(draws, shares[1], 10_000)
    low, high = beta.ppf(level, top, draws - top + 1), beta.ppf(1.0 - level, bottom + 1, draws - bottom)
    simulated = float((np.log(low / high) > claim).mean())
    assert 0.05 < simulated < 0.95
    assert binomial_power(shares, claim, draws, level) == pytest.approx(simulated, abs=0.02)


@pytest.mark.slow
def test_a_stated_power_is_reached() -> None:
    """With few draws the named mistake is found in each of 10 runs; 0.99 each, so two misses have probability 0.004."""
    draws, dim = 20_000, 1

    def times(factor: float) -> Callable[[wv.Embedding, float], wv.Mechanism]:
        def make(embedding: wv.Embedding, epsilon: float) -> wv.Mechanism:
            claims = wv.Laplace(embedding, epsilon)
            planted = wv.Laplace(embedding, factor * epsilon)
            vars(planted)["guarantee"] = claims.guarantee
            return planted

        return make

    check = black_box(times(1.0), 3.0, dim, wv.insecure_key(1), draws=draws)[0]
    assert check.power is not None
    assert check.power >= 0.99
    match = re.search(r"(\d+)%", check.mistake)
    assert match is not None
    factor = 1.0 + int(match[1]) / 100.0
    runs = [black_box(times(factor), 3.0, dim, wv.insecure_key(k), draws=draws)[0] for k in range(10)]
    assert sum(run.passed is False for run in runs) >= 9


def test_the_oracle_of_the_search_is_that_of_the_package() -> None:
    random = np.random.default_rng(3)
    rows = random.normal(size=(500, 7))
    rows[9] = rows[4]
    points = np.vstack((random.normal(size=(200, 7)), rows[:20]))
    np.testing.assert_array_equal(nearest_rows(rows, points), BruteSearch(rows).nearest(points))


def test_the_error_is_the_sum_over_the_checks(space: wv.Embedding) -> None:
    result = audit_mechanism(wv.Laplace(space, 4.0), groups=["noise", "replay"], key=wv.insecure_key(1))
    assert result.error == pytest.approx(7 * 5e-6)
    assert "3.5e-5 at most" in result.headline
    facts = json.loads(json.dumps(result.to_dict()))
    assert facts["passed"] is True
    assert len(facts["checks"]) == len(result.rows()) == len(result.verdicts())
    assert all(check.power is None or check.power > 0.99 for check in result.checks)


def test_rows_without_noise_fail_without_a_warning() -> None:
    noise = np.random.default_rng(1).normal(size=(1000, 2))
    noise[500] = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (result,) = noise_tests(noise, np.eye(2), 1.0, wv.insecure_stream(1))
    assert result.pvalue == 0.0
    assert result.seen == "1 of 1,000 rows have no noise but rounding"


@pytest.mark.parametrize("dim", [1, 2, 20])
@pytest.mark.parametrize("factor", [1.0, 3.0, 1e-6])
def test_noise_that_is_not_shared_passes(dim: int, factor: float) -> None:
    """Each case twice at a level of 1e-9: by rows and by radii."""
    for seed in range(10):
        noise = factor * np.random.default_rng(seed).laplace(size=(20_000, dim))
        radii = np.linalg.norm(noise, axis=1)
        result = shared_noise(noise, radii, np.eye(dim), 1.0 / factor, float(radii.max()))
        assert not result.is_shared
        assert result.power > 0.99


def test_many_dimensions_are_said_to_have_no_black_box(space: wv.Embedding) -> None:
    result = audit_mechanism(wv.Laplace(space, 4.0), groups=["black box"], low_dims=[1], draws=20_000)
    check = result.checks[-1]
    assert check.passed is None
    assert "no power in 12 dimensions" in check.evidence


def test_a_numpy_bool_is_a_verdict() -> None:
    assert Check("a", "b", bool(np.float64(2.0) <= 1.0), "").passed is False
    assert Check("a", "b", np.float64(2.0) <= 1.0, "").passed is False  # type: ignore[arg-type]  # the test


@pytest.mark.parametrize(
    ("passed", "power", "outcome"),
    [(True, 0.49, "undecided"), (True, 0.5, "holds"), (True, None, "holds"), (False, 0.0, "does not hold")],
)
def test_a_check_without_power_is_undecided_and_fails_nothing(
    passed: bool, power: float | None, outcome: str
) -> None:
    audit = Audit({"mechanism": "m"}, (Check("a", "b", passed, "p = 1", 0.0, "a mistake", power),))
    (verdict,) = audit.verdicts()
    assert verdict.outcome == outcome
    assert audit.passed is passed
    is_undecided = outcome == "undecided"
    assert str(audit).startswith("undecided: a: b" if is_undecided else ("passed" if passed else "FAILED"))
    assert audit.to_dict()["checks"][0]["outcome"] == outcome
    assert ("too little power at this setting" in verdict.evidence) == is_undecided
    assert ("1 with too little power" in audit.headline) == is_undecided
    report = make_report(audit)
    assert report.tables == ()  # the verdicts have the evidence and the power
    assert "p = 1" in report.text("md")


def test_only_checks_with_draws_name_them() -> None:
    verdict = Check("black box", "b", True, "p = 1", 0.0, "a mistake", 0.1).verdict()
    assert "too little power with this many draws" in verdict.evidence


def test_a_check_without_chance_says_so() -> None:
    shown = Check("a", "b", True, "compared", 0.0, "a mistake").summary
    assert shown == "compared; chance plays no part: a mistake would always be found"


def test_a_bare_function_has_no_law_to_test(glove: wv.Embedding) -> None:
    perturber = wv.Perturber(wv.Laplace(glove.project(10), 5.0))
    result = audit_callable(perturber, glove)
    assert result.passed
    assert result.checks[0].passed is None
    assert not audit_callable(lambda text: text, glove).passed
    assert "correct mechanism" not in result.headline
    assert result.to_dict()["family_wise_error"] is None
    assert "ε =" not in make_report(result).title


def test_how_many_words_of_a_bare_function_stay_is_not_judged(glove: wv.Embedding) -> None:
    def changes_one(text: str) -> str:
        return f"tea {text.split(' ', 1)[1]}" if "qz" not in text else "tea"

    verdicts = {check.name: check.passed for check in audit_callable(changes_one, glove).checks}
    assert verdicts["words change"] is None
    assert verdicts["calls share no noise"] is None
    constant = audit_callable(lambda text: " ".join(["tea"] * len(text.split())), glove)
    assert [check.name for check in constant.failed] == ["calls share no noise"]


def test_an_upper_bound_is_rounded_up() -> None:
    assert Audit({}, (Check("a", "b", True, "", 7.11e-5),)).headline.endswith("probability 7.2e-5 at most.")


@pytest.mark.parametrize("answer", ["nearest", "likeliest", "closest"])
def test_rounding_is_estimated_for_every_answer(answer: Any, space: wv.Embedding) -> None:
    few = wv.Embedding(space.words[:300], space.vectors[:300], public=True)
    mechanism = wv.Laplace(few, 4.0, answer=answer)
    result = audit_mechanism(mechanism, groups=["search"], key=wv.insecure_key(1))
    check = next(check for check in result.checks if check.name == "finite precision is negligible")
    assert check.passed
    assert "δ is about (1 + exp(e)) times that" in check.evidence


def test_rounding_of_distances_counts() -> None:
    """Two rows that are close to each other and far from the points: their distances round to more than the points."""
    points = 1e3 * np.random.default_rng(1).normal(size=(2000, 2))
    near, far = (finite_precision(np.array([[0.0, 0.0], [gap, 0.0]]), points) for gap in (1e-3, 1e3))
    assert near > 1e4 * far


def test_moved_points_estimate_what_the_borders_say() -> None:
    random = np.random.default_rng(5)
    rows, points = random.normal(size=(200, 5)), random.normal(size=(4000, 5))
    moved = moved_answers(lambda table: nearest_rows(rows, table), points, 3.0)
    assert 0.1 < moved / finite_precision(rows, points) < 10.0


def test_exponents_that_do_not_depend_on_distance_are_made_small_by_a_smaller_epsilon(
    space: wv.Embedding,
) -> None:
    result = audit_mechanism(RandomisedResponse(space, 8.0), groups=["streams", "files"])
    assert result.passed, str(result)
    assert [check.name for check in result.checks if check.passed is None] == ["Spark tasks share no noise"]
    assert not any(check.lacks_power for check in result.checks)


def test_answers_that_can_not_be_made_to_differ_are_not_tested(space: wv.Embedding) -> None:
    def make(embedding: wv.Embedding, epsilon: float) -> wv.Mechanism:
        return RandomisedResponse(embedding, epsilon, least=8.0)

    result = audit_mechanism(RandomisedResponse(space, 8.0), make=make, groups=["streams"])
    assert result.passed, str(result)
    untested = {check.name: check.evidence for check in result.checks if check.passed is None}
    assert "agree nearly always" in untested["calls share no noise"]


@pytest.mark.parametrize("kind", [wv.Mahalanobis, RandomisedResponse])
def test_every_check_states_its_power(space: wv.Embedding, kind: Any) -> None:
    result = audit_mechanism(kind(space, 4.0), draws=20_000, low_dims=[1], key=wv.insecure_key(4))
    assert result.passed, str(result)
    assert result.error <= 1e-4
    assert [check.name for check in result.checks if check.passed is not None and not check.mistake] == []


def test_a_group_that_is_named_twice_runs_once(space: wv.Embedding) -> None:
    once, twice = (audit_mechanism(wv.Laplace(space, 4.0), groups=["replay"] * n) for n in (1, 2))
    assert len(once.checks) == len(twice.checks)
    assert twice.settings["groups"] == ["replay"]


@pytest.mark.parametrize("name", ["gentle", "balanced", "strong"])
def test_chunks_of_a_file_are_compared_with_power_at_the_profiles(name: str) -> None:
    result = audit_mechanism(load_profile(name).load(), groups=["files"])
    powers = {check.name: check.power for check in result.checks}
    assert (powers["equal chunks of a file share no noise"] or 0.0) > 0.99


def test_words_of_a_large_vocabulary_are_sampled(
    space: wv.Embedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wordveil.evaluation.audit_noise._REPLAYED_NUMBERS", 1000 * space.dim)
    check = audit_mechanism(wv.Laplace(space, 4.0), groups=["replay"]).checks[-1]
    assert "1,000 of 2,001 words" in check.evidence
    assert check.power == pytest.approx(1.0 - 0.999**1000)


def test_a_factory_keeps_the_options(space: wv.Embedding) -> None:
    made = factory_of(wv.Mahalanobis(space, 4.0, 0.25, answer="likeliest"))(space, 9.0)
    assert made.parameters() == wv.Mahalanobis(space, 9.0, 0.25, answer="likeliest").parameters()


@pytest.mark.parametrize("options", [{"groups": ["nothing"]}, {"groups": []}, {"low_dims": [4]}])
def test_refuses(space: wv.Embedding, options: dict[str, list[str]]) -> None:
    with pytest.raises(wv.ParameterError):
        audit_mechanism(wv.Laplace(space, 4.0), **options)  # type: ignore[arg-type]  # the test
    with pytest.raises(wv.ParameterError, match="be a Mechanism"):
        audit_mechanism("laplace")  # type: ignore[arg-type]  # the test


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = ["audit", "--epsilon", "6", "--dims", "5", "--lam", "0"]
    assert main([*small, "--only", "replay", "--only", "texts", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["passed"] is True
    assert main(["audit", "--profile", "balanced", "--only", "noise", "--out", str(tmp_path / "page")]) == 0
    assert "The audit passed" in capsys.readouterr().out
    page = (tmp_path / "page" / "audit.html").read_text(encoding="utf-8")
    assert "Gamma(m, 1)" in page
    assert main([*small, "--only", "nothing"]) == 2


def test_a_failed_audit_has_exit_code_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(registry._registered, "fixedseed", FixedSeed)
    monkeypatch.setattr(FixedSeed, "name", "fixedseed")
    code = main(["audit", "--mechanism", "fixedseed", "--epsilon", "6", "--dims", "3", "--only", "streams"])
    assert code == 3
    assert "FAILED" in capsys.readouterr().out
