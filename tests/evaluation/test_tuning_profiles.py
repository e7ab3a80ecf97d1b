"""The profiles are found again: in the stored run with all draws, and by the same command with few draws."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from benchmarks import tune_profiles

from wordveil.attacker import guess_rate
from wordveil.prior import default_prior
from wordveil.profiles import PROFILES

STORED = Path(__file__).parent.parent.parent / "benchmarks" / "results" / "tuned-profiles.json"


@pytest.mark.parametrize("row", json.loads(STORED.read_text())["rows"], ids=lambda row: row["profile"])
def test_the_stored_run_found_the_profiles(row: dict[str, float]) -> None:
    """Measured again, S at the ε of each profile agrees with S at the ε that was found; twice or half that ε would not."""
    profile = PROFILES[str(row["profile"])]
    assert (row["epsilon"], row["most_guessed"]) == (profile.epsilon, profile.most_guessed)
    assert row["attack_low"] <= row["shipped_attack"] <= row["attack_high"] <= profile.most_guessed
    for factor, is_found in ((1.0, True), (2.0, False), (0.5, False)):
        mechanism = replace(profile, epsilon=factor * profile.epsilon).load()
        share = guess_rate(mechanism, default_prior(mechanism.embedding), draws=5000).success
        assert (share.low <= row["attack_high"] and row["attack_low"] <= share.high) == is_found


@pytest.mark.parametrize(
    ("factor", "code"),
    [
        (1.0, 0),
        pytest.param(3.0, 3, marks=pytest.mark.slow),
        pytest.param(1 / 3.0, 3, marks=pytest.mark.slow),
    ],
)
def test_a_profile_is_found_again_or_the_exit_code_says_that_it_is_not(
    factor: float,
    code: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """400 draws know S to 0.05, which is a factor of 1.3 in ε; a profile with three times that must be noticed."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    profile = PROFILES["balanced"]
    monkeypatch.setitem(PROFILES, profile.name, replace(profile, epsilon=factor * profile.epsilon))
    options = ["--profile", profile.name, "--answer", profile.answer, "--draws", "400"]
    assert tune_profiles.main([*options, "--out", str(tmp_path / "out.json")]) == code
    (row,) = json.loads((tmp_path / "out.json").read_text())["rows"]
    assert row["covers"] == (code == 0)
    assert row["attack_high"] <= profile.most_guessed
    assert 0.9 * row["tuned"] < row["rounded"] <= row["tuned"]
    assert capsys.readouterr().out.startswith(profile.name)
