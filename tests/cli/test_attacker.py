"""What a setting is worth: `explain` answers in plain words, and `perturb` ends with the headline."""

import json
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

import wordveil as wv
from wordveil.cli.main import main
from wordveil.embedding.store import save_store
from wordveil.evaluation.text_density import neighbour_distances

from .commands import SCRIPT, WEAK, shown_on_a_terminal

CHECKED = "Someone who knows how often English words are used, and sees the noisy vectors, names the word in "


def rows(shown: str) -> dict[str, str]:
    """Return the answers of explain by their titles."""
    answers: dict[str, str] = {}
    title = ""
    for line in shown.partition("\n\n")[0].splitlines():
        if not line.startswith(" "):
            title = line.partition(":")[0]
        answers[title] = f"{answers.get(title, '')} {line.removeprefix(f'{title}:').strip()}".strip()
    return answers


@pytest.fixture(scope="module")
def public_words(tmp_path_factory: pytest.TempPathFactory, glove: wv.Embedding) -> str:
    """The vectors of the 3,000 first words on ten axes: real ones, but quick to measure."""
    axes = glove.project(10)
    path = tmp_path_factory.mktemp("vectors") / "v.safetensors"
    save_store(wv.Embedding(axes.words[:3000], axes.vectors[:3000], public=True), path)
    return str(path)


@pytest.fixture(scope="module")
def laplace(public_words: str) -> list[str]:
    return ["--epsilon", "5.7", "--lam", "0", "--embedding", public_words]


def test_explain_answers_what_a_person_asks(
    laplace: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["explain", *laplace]) == 0
    captured = capsys.readouterr()
    answers = rows(captured.out)
    assert answers["In short"].startswith(CHECKED)
    assert "by guessing alone. Context can raise this." in answers["In short"]
    assert answers["Protected"].startswith("which word was at each place of a text.")
    assert "was right in " in answers["How well"]
    assert "% by guessing alone" in answers["How well"]
    assert "by a factor of " in answers["Proven"]
    assert "one word in twenty is recognised in " in answers["Over words"]
    assert "recognised in more than four of five of " in answers["Words at risk"]
    assert "The most exposed: " in answers["Words at risk"]
    assert "list of candidate texts" in answers["Whole texts"]
    assert answers["Not protected"].startswith("the number of words in a text; ")
    assert "--profile balanced" in answers["What to do"]
    assert "wordveil calibrate" in answers["What to do"]
    assert "--pad-to" in answers["What to do"]
    # Nobody needs to know differential privacy for it.
    for term in ("differential", "Mahalanobis distance", "exponent", "posterior", "metric", "exp(", "10^"):
        assert term not in captured.out


def test_json_has_the_same_facts(laplace: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", *laplace]) == 0
    answers = rows(capsys.readouterr().out)
    assert main(["explain", *laplace, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["headline"] == answers["In short"]
    guess = facts["attacker"]["best_guess"]
    assert f"in {guess['share']:.1%} of cases" in facts["headline"]
    assert f"{facts['attacker']['content_words']['share']:.1%} of cases" in answers["How well"]
    assert f"was right in {facts['attacker']['from_answers_at_least']['share']:.1%}" in answers["How well"]
    assert f"in {facts['spread']['p95']:.1%} of cases or more" in answers["Over words"]
    assert f"half of the words in {facts['spread']['p50']:.1%} or more" in answers["Over words"]
    words = facts["watched"]
    assert f"of {len(words)} watched words" in answers["Words at risk"]
    shares = [word["largest"] for word in words]
    assert shares == sorted(shares, reverse=True)
    for word in words[:10]:
        assert f"{word['word']} {word['largest']:.0%}" in answers["Words at risk"]
        assert word["largest"] == max(word["named"], word["named_if_uniform"], word["unchanged"])
    assert answers["Not protected"].startswith("; ".join(facts["guarantee"]["not_covered"]))
    near = facts["guarantee"]["exponent_to_neighbour"]["1"]["median"]
    assert f"by a factor of {np.ceil(np.exp(near)):.0f} at most" in answers["Proven"]


def test_no_protection_is_said_in_words(vectors: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--epsilon", "1e9", "--embedding", vectors, "--word", "tea", "--draws", "50", "--full"]
    assert main(["explain", *options]) == 0
    captured = capsys.readouterr()
    assert captured.err == f"{WEAK}\n"
    assert "10^" not in captured.out
    shown = " ".join(captured.out.split())
    assert "taken alone, no protection" in shown
    assert "factor no protection" not in shown
    assert "their odds have no useful limit" in shown
    assert "What to do: compare this with --profile balanced; do not release text at this setting" in shown


def test_the_examples_are_dense_and_sparse(
    public_words: str, laplace: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    axes = ["--dims", "4"]  # not the space of the file
    assert main(["explain", *laplace, *axes, "--word", "water", "--draws", "400", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)["word"]
    space = wv.load_embedding(public_words).project(4)
    distances = neighbour_distances(space, np.arange(len(space)), 10)
    dense, sparse = (space.ids_of([facts[name]["word"]])[0] for name in ("dense", "sparse"))
    assert 0.02 < (distances < distances[dense]).mean() < 0.08
    assert 0.92 < (distances < distances[sparse]).mean() < 0.98
    assert facts["dense"]["stays"]["high"] < facts["sparse"]["stays"]["low"]


def test_words_of_ones_own(laplace: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine.txt").write_text("Water\nQwxz\nhealth-care\nfood water\n\nvvvqq\n")
    options = [*laplace, "--watch", str(tmp_path / "mine.txt")]
    assert main(["explain", *options]) == 0
    answers = rows(capsys.readouterr().out)
    assert answers["Your words"].startswith("the most exposed of your list: ")
    assert answers["Your words"].endswith(" 2 of them have no vector, and are hidden like all unknown words.")
    for word in ("water", "health", "care", "food"):
        assert f" {word} " in answers["Your words"]
    assert main(["explain", *options, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    mine = {word["word"] for word in facts["watched"] if word["topic"] == "your list"}
    assert mine == {"water", "health", "care", "food"}
    assert facts["watched_without_vector"] == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the word list is empty."),
        (b"tea\n\xff\n", ", line 2: is not valid UTF-8."),
        ("\n".join(f"zanzibar{i}" for i in range(2001)).encode(), "has over 2,000 words, too many to watch."),
    ],
)
def test_bad_lists_of_words(
    content: bytes, message: str, vectors: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").write_bytes(content)
    options = ["--epsilon", "1", "--embedding", vectors, "--watch", str(tmp_path / "mine.txt")]
    assert main(["explain", *options]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert "zanzibar" not in error


def test_linkage_is_private(vectors: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    setting = ["explain", "--epsilon", "1e9", "--embedding", vectors]
    options = [*setting, "--linkage", "in.csv", "--text", "message"]
    assert main(options) == 0
    answers = rows(capsys.readouterr().out)
    assert answers["Whole texts"].startswith("Someone who has these 2 texts, and sees one of them in private")
    assert answers["Whole texts"].endswith("Private result, not for release.")
    assert "Zanzibar" not in str(answers)
    assert main([*options, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)["linkage"]
    assert (facts["not_for_release"], facts["candidates"]) == (True, 2)
    assert facts["by_both"]["rank_1"]["share"] == 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--file", "-", "--linkage", "-"], "--file and --linkage can't both be standard input."),
        (["--linkage", "in.csv"], "which column has the texts?"),
        (
            ["--linkage", "in.csv", "--text", "mesage"],
            "has no column 'mesage'. Hint: did you mean 'message'?",
        ),
        (["--linkage", "absent.csv", "--text", "message"], "absent.csv: No such file"),
        (["--linkage", "one.txt"], "Linkage needs at least two texts that contain words."),
        (["--manifest", "in.csv", "--linkage", "in.csv"], "--manifest names the whole setting."),
        (["--frequencies-are-public"], "--frequencies-are-public is about --frequencies."),
    ],
)
def test_mistakes_are_said_before_anything_is_measured(
    options: list[str], message: str, vectors: str, folder: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    def measured(*_: object) -> None:
        raise AssertionError("measured in vain")

    monkeypatch.setattr("wordveil.cli.explain.setting_facts", measured)
    monkeypatch.setattr("wordveil.cli.explain.warn_if_weak", measured)
    (folder / "one.txt").write_text("a flight to Zanzibar\n")
    assert main(["explain", "--epsilon", "1", "--embedding", vectors, *options]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert "Zanzibar" not in captured.err


@pytest.mark.parametrize("command", [["explain", "--epsilon", "1"], ["calibrate", "--target-attack", "0.5"]])
def test_measuring_is_shown_on_a_terminal_only(command: list[str], vectors: str) -> None:
    arguments = [SCRIPT, *command, "--embedding", vectors]
    assert b"measuring" in shown_on_a_terminal(arguments)
    assert subprocess.run(arguments, capture_output=True).stderr == b""


@pytest.mark.parametrize("command", [["explain", "--epsilon", "10"], ["calibrate", "--target-attack", "0.3"]])
def test_ctrl_c_while_measuring(command: list[str]) -> None:
    with subprocess.Popen(
        [SCRIPT, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:  # fmt: skip
        time.sleep(4.0)  # on all axes of the default vectors, both take longer on any machine
        process.send_signal(signal.SIGINT)
        shown, errors = process.communicate(timeout=120)
    assert (process.returncode, shown, errors) == (130, b"", b"wordveil: stopped.\n")


def test_nobody_who_sees_the_answers_sees_less(capsys: pytest.CaptureFixture[str]) -> None:
    """Of the exponential mechanism the best guess is by the answers, so no smaller share stands beside it."""
    for name, is_said in (("exponential", False), ("laplace", True)):
        assert main(["explain", "--mechanism", name, "--epsilon", "5", "--dims", "5"]) == 0
        output = " ".join(capsys.readouterr().out.split())
        assert ("Someone who sees only the private text" in output) is is_said
