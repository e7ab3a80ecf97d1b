"""How strongly a setting protects: one line at the end of every run, and a warning if it hardly does."""

from pathlib import Path

import pytest

import wordveil as wv
from wordveil.cli.main import main
from wordveil.evaluation.strength import strength


@pytest.fixture
def source(tmp_path: Path) -> str:
    (tmp_path / "in.txt").write_text("tea at noon\n")
    return str(tmp_path / "in.txt")


@pytest.mark.parametrize(("epsilon", "weak"), [("1e9", True), ("100", True), ("6", False), ("1", False)])
def test_the_end_of_a_run(
    epsilon: str, weak: bool, source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["perturb", source, str(tmp_path / "out.txt"), "--epsilon", epsilon, "--dims", "10"]) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines()[-1].startswith("strength: ")
    assert ("warning: This setting protects next to nothing" in captured.err) == weak


def test_a_pipe_writes_the_line_to_standard_error(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["perturb", source, "-", "--epsilon", "1e9", "--dims", "10"]) == 0
    captured = capsys.readouterr()
    assert "strength" not in captured.out
    lines = captured.err.splitlines()
    assert lines[0].startswith(
        "wordveil: warning: This setting protects next to nothing: 100.0% of public words"
    )
    assert lines[1].startswith("strength: 100.0% of public words come out unchanged")


def test_explain_warns_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--epsilon", "1e9", "--dims", "10"]) == 0
    assert "protects next to nothing" in capsys.readouterr().err


def test_the_line_has_what_was_measured_and_proven(glove: wv.Embedding) -> None:
    result = strength(wv.Laplace(glove.project(10), 6.0))
    assert not result.weak
    assert "of public words come out unchanged (" in result.sentence
    assert "proven: exp(" in result.sentence
    assert (
        strength(wv.Laplace(glove.project(10), 6.0)) == result
    )  # it is about public words, so it never changes
