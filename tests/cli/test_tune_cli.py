"""`wordveil tune` when there is no setting, when it would need an unsafe option, and what its words say."""

import json
from pathlib import Path
from typing import Any

import pytest

import wordveil as wv
from wordveil.cli.main import main
from wordveil.evaluation.frontier_spaces import Space
from wordveil.evaluation.tuning import tune
from wordveil.evaluation.tuning_problem import make_problem
from wordveil.evaluation.tuning_words import traded_away

COMMAND = ["tune", "--lams", "0", "--answers", "nearest", "--draws", "200"]


@pytest.mark.parametrize(
    ("limits", "shown"),
    [
        (["--max-attack", "0.2", "--min-closeness", "0.9"], "was asked for"),
        (["--max-unchanged", "0.000001"], "; at most 0.0001% was asked for"),
    ],
)
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_setting_beyond_the_limits_is_not_saved(
    limits: list[str],
    shown: str,
    form: list[str],
    vectors: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (folder / "old.toml").write_text("epsilon = 1\n")
    for target, options in (("new.toml", []), ("old.toml", ["--force"])):
        command = [*COMMAND, *limits, "--embedding", vectors, "--save", target, *options, *form]
        assert main(command) == 3
        captured = capsys.readouterr()
        assert "No setting satisfies every constraint. The closest one: " in captured.err
        assert shown in captured.err
        assert f"{target} was not written. Hint: relax a limit.\n" in captured.err
        assert "# chosen by wordveil tune" not in captured.out
        if form:
            assert not json.loads(captured.out)["is_met"]
    assert not (folder / "new.toml").exists()
    assert (folder / "old.toml").read_text() == "epsilon = 1\n"


def test_an_impossible_limit_is_one_line_at_once(
    vectors: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*COMMAND, "--max-attack", "0.000001", "--embedding", vectors, "--save", "new.toml"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(
        "wordveil: No setting satisfies --max-attack 1e-06: guessing alone names the word"
    )
    assert captured.err.count("\n") == 1
    assert not (folder / "new.toml").exists()


def test_an_unsafe_option_is_never_written_for_perturb(
    vectors: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "texts.csv").write_text("message\nbook a flight\n")
    command = ["tune", "--mechanism", "custext", "--max-attack", "0.9", "--draws", "200", "--lams", "0"]
    assert main([*command, "--embedding", vectors, "--save", "s.toml"]) == 0
    text = (folder / "s.toml").read_text()
    assert "# Whoever releases text with it must add: unsafe_no_uniform_guarantee = true." in text
    assert "\nunsafe" not in text
    capsys.readouterr()
    perturb = ["perturb", "texts.csv", "out.csv", "--text", "message", "--config", "s.toml"]
    assert main(perturb) == 2
    assert "unsafe_no_uniform_guarantee" in capsys.readouterr().err
    assert not (folder / "out.csv").exists()
    with (folder / "s.toml").open("a") as file:
        file.write("unsafe_no_uniform_guarantee = true\n")
    assert main(perturb) == 0


def test_help_names_exit_code_and_dims(capsys: pytest.CaptureFixture[str]) -> None:
    for command, words in (
        ("tune", ["the exit code is 3 if no setting", "default: 5,10,15,25,50,all"]),
        ("frontier", ["default: 10,15,50,all"]),
    ):
        assert main([command, "--help"]) == 0
        shown = " ".join(capsys.readouterr().out.replace("│", " ").split())
        for part in words:
            assert part in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["frontier", "--lams", "2"], "--lams must be"),
        (["tune", "--max-exponent", "inf"], "--max-exponent must be finite and positive. Got inf instead."),
    ],
)
def test_bad_input_leaves_no_folder(
    arguments: list[str], message: str, vectors: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--embedding", vectors, "--out", "pages/new"]) == 2
    assert message in capsys.readouterr().err
    assert not (folder / "pages").exists()


def test_ctrl_c_leaves_no_folder(
    vectors: str, folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def stopped(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("wordveil.cli.frontier.measure_frontier", stopped)
    assert main(["frontier", "--embedding", vectors, "--out", "pages"]) == 130
    assert not (folder / "pages").exists()


def test_a_folder_below_a_file_is_refused_before_the_work(
    vectors: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "file").write_text("")
    assert main(["frontier", "--embedding", vectors, "--out", "file/pages"]) == 2
    assert "is not a folder" in capsys.readouterr().err


def test_the_next_lam_is_the_runner_up(small: wv.Embedding) -> None:
    result = tune(small, max_attack=0.5, lams=[0.0, 1.0], answers=["nearest"], draws=300, cache=False)
    assert result.chosen is not None
    assert result.runner_up is not None
    assert result.runner_up["lam"] != result.chosen["lam"]


def test_the_title_names_all_vectors(small: wv.Embedding) -> None:
    spaces = [Space(small, "map-a"), Space(small.project(2), "vectors-b")]
    result = tune(spaces, max_attack=0.5, lams=[0.0], answers=["nearest"], draws=200, cache=False)
    assert wv.make_report(result).title.endswith("map-a and vectors-b")


@pytest.mark.parametrize(("value", "is_said"), [(0.0004, False), (0.004, True)])
def test_a_gain_that_is_not_in_the_digits_is_not_said(value: float, is_said: bool) -> None:
    def row(epsilon: float, attack: float) -> dict[str, Any]:
        facts = {"space": "2 axes", "mechanism": "laplace", "epsilon": epsilon, "attack": attack}
        return facts | {"cosine_content": 0.5, "constant_cosine_content": 0.4, "linkage": 0.1}

    sentences = traded_away(make_problem({"attack": 0.3}), [row(1.0, value), row(2.0, 0.0)])
    assert any("does better on S" in sentence for sentence in sentences) == is_said
    assert "0.0%, not 0.0%" not in " ".join(sentences)
