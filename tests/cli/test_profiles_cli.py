"""`--profile` in every command that takes a setting, and in a settings file."""

import json
from pathlib import Path

import pytest

import wordveil as wv
from wordveil.cli.main import main
from wordveil.profiles import PROFILES

from .commands import names, perturb

TEXT = ["--text", "message"]
SETS_ALL = "--profile sets --epsilon, --lam, --dims, --answer, --mechanism, --option and --embedding."
SETS_LISTS = "--profile sets --embedding, --epsilons, --lams, --dims, --answer, --mechanism and --option."


def failure(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    assert main([*arguments]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    return captured.err


def setting_of(path: str) -> object:
    return json.loads(Path(f"{path}.manifest.json").read_text())["parameters"]


def test_a_profile_sets_everything_and_does_not_warn(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = [*TEXT, "--keep", "id", "--keep", "label"]
    assert main(["perturb", "in.csv", "out.csv", "--profile", "balanced", *options]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    assert "names the word in 2" in captured.out.splitlines()[-1]
    assert setting_of("out.csv") == PROFILES["balanced"].load(blocked=wv.BlockList.english()).setting()
    attacker = json.loads((folder / "out.csv.manifest.json").read_text())["attacker"]
    assert attacker["best_guess"]["low"] <= 0.30 <= attacker["best_guess"]["high"] + 0.05


@pytest.mark.parametrize(
    "other",
    [
        ["--epsilon", "1"],
        ["--dims", "10"],
        ["--answer", "nearest"],
        ["--lam", "0"],
        ["--mechanism", "laplace"],
        ["--option", "lam=0"],
        ["--embedding", "glove-840b-300d"],
    ],
)
def test_nothing_that_it_sets_may_stand_beside_it(
    other: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (["perturb", "in.csv", "out.csv", *TEXT], ["explain"]):
        error = failure(capsys, *command, "--profile", "balanced", *other)
        assert error == f"wordveil: {SETS_ALL} Hint: leave out the profile, or the others.\n"
    assert names(folder) == ["in.csv"]


@pytest.mark.parametrize(
    ("command", "other", "message"),
    [
        (["show-noise", "--out", "x.svg"], ["--epsilon", "1"], "--profile sets --epsilon and --embedding."),
        (["show-noise", "--out", "x.svg"], ["--embedding", "x"], "--profile sets --epsilon and --embedding."),
        (["experiment", "privacy"], ["--epsilons", "1,2"], SETS_LISTS),
        (["experiment", "privacy"], ["--lams", "0"], SETS_LISTS),
        (["experiment", "privacy"], ["--dims", "5"], SETS_LISTS),
        (["experiment", "privacy"], ["--embedding", "x"], SETS_LISTS),
        (["experiment", "density", "in.csv", *TEXT], ["--epsilon", "1"], "--profile sets --embedding and --epsilon."),
        (["experiment", "utility", "in.csv"], ["--epsilons", "1"], SETS_LISTS),
        (["experiment", "utility", "in.csv"], ["--dims", "5"], SETS_LISTS),
        (["attack"], ["--dims", "5"], "--profile sets --epsilon, --lam, --dims, --answer, --mechanism, --option and --embedding."),
    ],
)  # fmt: skip
def test_nor_in_the_other_commands(
    command: list[str], other: list[str], message: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert message in failure(capsys, *command, "--profile", "strong", *other)
    assert names(folder) == ["in.csv"]


def test_the_experiments_use_its_setting(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    few = ["--profile", "strong", "--draws", "5", "--json"]
    assert main(["experiment", "privacy", *few, "--words", "20"]) == 0
    settings = json.loads(capsys.readouterr().out)["settings"]
    epsilon = PROFILES["strong"].epsilon
    assert (settings["epsilons"], settings["lams"], settings["dims"]) == ([epsilon], [0.0], [10])
    assert settings["answer"] == [PROFILES["strong"].answer]
    assert main(["experiment", "density", "in.csv", *TEXT, *few]) == 0
    settings = json.loads(capsys.readouterr().out)["settings"]
    assert (settings["epsilons"], settings["dims"]) == ([epsilon], 10)
    assert main(["show-noise", "--profile", "strong", "--out", "n.svg", "--word", "tea"]) == 0
    assert capsys.readouterr().out == f"n.svg: λ = 0 beside λ = 1 at ε = {epsilon:g}\n"


@pytest.mark.parametrize(
    ("name", "hint"),
    [("balancd", "did you mean 'balanced'?"), ("x", "there are gentle, balanced, strong.")],
)
def test_unknown_names(name: str, hint: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = f"wordveil: There is no profile of that name. Hint: {hint}\n"
    commands = (
        ["perturb", "in.csv", "out.csv", *TEXT],
        ["explain"],
        ["show-noise", "--out", "x.svg"],
        ["experiment", "privacy"],
    )
    for command in commands:
        assert failure(capsys, *command, "--profile", name) == expected


def test_without_a_setting_one_line_says_how_to_choose(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for command in (
        ["perturb", "in.csv", "out.csv", *TEXT],
        ["perturb", "in.csv", "-", *TEXT],
        ["explain"],
        ["explain", "--dims", "10"],
        ["show-noise", "--out", "x.svg"],
    ):
        error = failure(capsys, *command)
        assert error.startswith("wordveil: A setting is missing. Hint: --profile balanced is a start")
        assert "--epsilon" in error
        assert "wordveil calibrate" in error
    assert names(folder) == ["in.csv"]


def test_a_settings_file_may_name_a_profile(
    vectors: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = ["--config", "settings.toml"]
    (folder / "settings.toml").write_text('profile = "strong"\ntext = "message"\n')
    assert main(["perturb", "in.csv", "one.csv", *config]) == 0
    strong = PROFILES["strong"].load(blocked=wv.BlockList.english()).setting()
    assert setting_of("one.csv") == strong
    # What the command line names takes precedence: a profile, or single options in its place.
    assert perturb(vectors, "in.csv", "two.csv", "--again", *config) == 0
    assert setting_of("two.csv") == {
        "mechanism": "mahalanobis",
        "epsilon": 1e9,
        "lam": 1.0,
        "answer": "nearest",
        "block_list": wv.BlockList.english().fingerprint[:16],
        "dims": 3,
    }
    (folder / "settings.toml").write_text(f'epsilon = 1e9\nembedding = "{vectors}"\ntext = "message"\n')
    capsys.readouterr()
    assert main(["perturb", "in.csv", "three.csv", "--again", *config, "--profile", "strong"]) == 0
    assert setting_of("three.csv") == strong
    capsys.readouterr()
    (folder / "settings.toml").write_text('profile = "strong"\nepsilon = 3\n')
    message = "The settings file has a profile, which sets --epsilon, "
    assert message in failure(capsys, "perturb", "in.csv", "four.csv", *TEXT, *config)
    (folder / "settings.toml").write_text('profile = "zanzibar"\n')
    error = failure(capsys, "perturb", "in.csv", "four.csv", *TEXT, *config)
    assert "There is no profile of that name." in error
    assert "zanzibar" not in error
    (folder / "settings.toml").write_text("profile = true\n")
    assert "'profile' must be a number or a string" in failure(capsys, "explain", *config)


def test_dims_alone_on_the_command_line_replace_the_profile_of_a_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "settings.toml").write_text('profile = "strong"\n')
    error = failure(capsys, "explain", "--config", "settings.toml", "--dims", "5")
    assert "A setting is missing." in error
