"""`wordveil calibrate`: the ε for a goal, in words and as JSON."""

import json
import time
from pathlib import Path
from typing import Any

import pytest

import wordveil as wv
from wordveil.attacker import guess_rate
from wordveil.cli.main import main
from wordveil.evaluation.privacy import typical_stay


def calibrated(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main(["calibrate", *arguments, "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    facts = json.loads(captured.out)
    assert 0.0 < facts["low"] < facts["epsilon"] < facts["high"]
    return facts


def failure(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main(["calibrate", *arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


def test_how_often_a_guess_may_be_right(
    vectors: str, small: wv.Embedding, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = calibrated(capsys, "--target-attack", "0.5", "--embedding", vectors, "--lam", "0.5")
    assert (facts["goal"], facts["target"], facts["like"]) == ("attack", 0.5, None)
    prior = wv.Prior.by_rank(small)
    for name, limit in (("low", "high"), ("epsilon", "share"), ("high", "low")):
        success = guess_rate(wv.Mahalanobis(small, facts[name], lam=0.5), prior).success
        assert getattr(success, limit) == pytest.approx(0.5, abs=0.01), name
    # What is shown beside it is measured at the safe end of the interval.
    assert facts["setting"] == wv.Mahalanobis(small, facts["low"], lam=0.5).setting()
    assert facts["attacker"]["best_guess"]["share"] < 0.5


def test_how_many_words_stay(vectors: str, small: wv.Embedding, capsys: pytest.CaptureFixture[str]) -> None:
    facts = calibrated(capsys, "--target-unchanged", "0.4", "--embedding", vectors, "--mechanism", "laplace")
    assert (facts["goal"], facts["target"]) == ("unchanged", 0.4)
    stays = typical_stay(wv.Laplace(small, facts["epsilon"]), wv.insecure_stream(9))
    assert stays.share == pytest.approx(0.4, abs=0.05)


def test_as_often_as_at_another_setting(
    vectors: str, small: wv.Embedding, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = calibrated(capsys, "--like", "laplace:2", "--embedding", vectors)
    prior = wv.Prior.by_rank(small)
    target = guess_rate(wv.Laplace(small, 2.0), prior).success.share
    assert (facts["like"], facts["target"]) == ("laplace:2", target)
    assert facts["reached"]["share"] == pytest.approx(target, abs=0.01)
    # A setting is as good as itself.
    same = calibrated(capsys, "--like", "laplace:2:2", "--embedding", vectors, "--lam", "0", "--dims", "2")
    assert same["epsilon"] == pytest.approx(2.0, rel=0.02)


def test_the_result_in_words(vectors: str, capsys: pytest.CaptureFixture[str]) -> None:
    facts = calibrated(capsys, "--target-attack", "0.5", "--embedding", vectors)
    assert main(["calibrate", "--target-attack", "0.5", "--embedding", vectors]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith(f"ε: {facts['epsilon']:.3g} (")
    assert "a 95% interval): there the best guess is right in 50.0% of cases, at this setting:" in shown
    assert f"the mechanism mahalanobis with ε = {facts['epsilon']:g}, λ = 1, " in shown
    safe = float(shown.partition("To be safe: --epsilon ")[2].partition(",")[0])
    assert 0.99 * facts["low"] < safe <= facts["low"]  # rounded down
    assert "What it is worth: Someone who knows how often words are used" in shown
    assert "Proven: the odds between a typical word and its nearest neighbour change by a factor of" in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Which goal? Hint: one of --target-attack, --target-unchanged and --like."),
        (["--target-attack", "0.3", "--target-unchanged", "0.3"], "Which goal?"),
        (["--target-attack", "0.3", "--like", "laplace:2"], "Which goal?"),
        (["--target-attack", "0.1"], "A guess is right in 13.9% of cases without any output. Hint: a larger --target-attack."),
        (["--target-attack", "0"], "--target-attack must be in (0, 1). Got 0.0 instead."),
        (["--target-attack", "1"], "--target-attack must be in (0, 1)."),
        (["--target-attack", "nan"], "--target-attack must be in (0, 1)."),
        (["--target-attack", "30%"], "'--target-attack'"),
        (["--target-attack", "0.141"], "The target is too close to what every ε reaches."),
        (["--target-attack", "0.9999"], "The target is too close to what no ε exceeds."),
        (["--target-unchanged", "2"], "--target-unchanged must be in (0, 1)."),
        (["--target-unchanged", "0.00001"], "The target is too close to what every ε reaches."),
        (["--like", "laplace"], "--like must be "),
        (["--like", "laplace:"], "--like must be "),
        (["--like", "laplace:ten"], "--like must be "),
        (["--like", "laplace:1:2:3"], "--like must be "),
        (["--like", "laplace:1:two"], "--like must be "),
        (["--like", ":1"], "There is no mechanism of that name."),
        (["--like", "laplce:1"], "Hint: did you mean 'laplace'?"),
        (["--like", "laplace:0"], "--epsilon must be finite and positive"),
        (["--like", "laplace:nan"], "--epsilon must be finite and positive"),
        (["--like", "laplace:1:4"], "--dims must be a whole number from 1 to 3."),
        (["--like", "laplace:1", "--lam", "2"], "--lam must be in [0, 1]."),
        (["--target-attack", "0.5", "--dims", "4"], "--dims must be a whole number from 1 to 3."),
        (["--target-attack", "0.5", "--mechanism", "laplce"], "did you mean 'laplace'?"),
        (["--target-attack", "0.5", "--epsilon", "3"], "No such option: --epsilon"),
    ],
)  # fmt: skip
def test_mistakes(
    arguments: list[str], message: str, vectors: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in failure(capsys, "--embedding", vectors, *arguments)


def test_a_profile_as_the_goal_in_seconds(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The limit is 20 seconds on two cores; the processor's time does not depend on what else runs."""
    start = time.process_time()
    facts = calibrated(capsys, "--like", "balanced", "--mechanism", "laplace", "--dims", "15")
    assert time.process_time() - start < 40.0
    assert facts["like"] == "balanced"
    assert facts["target"] == pytest.approx(0.285, abs=0.02)
    assert 5.0 < facts["low"] < facts["high"] < 6.5
