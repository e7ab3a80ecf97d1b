"""`--frequencies FILE`: what the attacker knows, on the command line and from Python."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

import wordveil as wv
from wordveil.cli.main import main
from wordveil.runs.ledger import Ledger

from .commands import names

OWN = "Someone who knows the counts of words that were used, and sees the noisy vectors, names the word in "
UNDECLARED = "wordveil: warning: Nobody has declared that these counts are public."
PRIVATE_NAME = "letters-of-zanzibar.tsv"


@pytest.fixture
def counts(folder: Path) -> str:
    (folder / PRIVATE_NAME).write_text("tea\t9\nnoon\t8\nflight\t8\nred\t7\nZanzibar\t6\n")
    return PRIVATE_NAME


def perturb(vectors: str, *options: str) -> int:
    base = ["perturb", "in.csv", "out.csv", "--text", "message", "--embedding", vectors, "--epsilon", "1"]
    return main([*base, *options])


def test_a_run_ends_with_the_headline(
    vectors: str, folder: Path, small: wv.Embedding, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = ["--keep", "id", "--keep", "label"]
    assert perturb(vectors, *columns) == 0
    captured = capsys.readouterr()
    assert captured.err == ""  # no warning
    headline = wv.Perturber(wv.Mahalanobis(small, 1.0)).exposure().headline
    assert captured.out.splitlines()[-1] == headline
    assert main(["perturb", "in.csv", "-", "--text", "label", "--embedding", vectors, "--epsilon", "1"]) == 0
    captured = capsys.readouterr()
    assert headline not in captured.out
    assert captured.err.splitlines()[-1] == headline
    assert perturb(vectors, *columns, "--resume") == 0  # there is nothing left to do
    assert capsys.readouterr().out.splitlines()[-1] == headline


def test_own_counts_change_the_number_and_its_words(
    counts: str, vectors: str, folder: Path, small: wv.Embedding, capsys: pytest.CaptureFixture[str]
) -> None:
    assert perturb(vectors, "--frequencies", counts) == 0
    captured = capsys.readouterr()
    assert captured.out.splitlines()[-1].startswith(OWN)
    assert UNDECLARED in captured.err
    text = (folder / "out.csv.manifest.json").read_text()
    attacker = json.loads(text)["attacker"]
    # Nobody has declared the counts public, so nothing that was computed from them may be released.
    prior = wv.Prior.by_rank(small)
    assert attacker["prior"] == {
        "name": "rank-based",
        "fingerprint": prior.fingerprint,
        "declared_public": True,
    }
    assert attacker["best_guess"]["guess_without_output"] == prior.guess
    assert "zanzibar" not in text.lower()
    assert "zanzibar" not in (folder / "out.csv").read_text().lower()


def test_counts_that_are_declared_public(
    counts: str, vectors: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    declared = ["--frequencies", counts, "--frequencies-are-public"]
    assert perturb(vectors, *declared) == 0
    captured = capsys.readouterr()
    assert "Nobody has declared" not in captured.err
    facts = json.loads((folder / "out.csv.manifest.json").read_text())
    assert facts["attacker"]["prior"]["declared_public"] is True
    setting = ["--embedding", vectors, *declared]
    assert main(["explain", "--epsilon", "1", *setting]) == 0
    captured = capsys.readouterr()
    assert OWN in " ".join(captured.out.split())
    assert captured.err == ""
    assert main(["calibrate", "--target-attack", "0.6", *setting, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["attacker"]["prior"]["name"] == "your own counts"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", f"{PRIVATE_NAME}: the file is empty."),
        (b"\n \n", f"{PRIVATE_NAME}: holds no counts."),
        (b"tea\t1\nDear Zanzibar, how are you\n", f"{PRIVATE_NAME}, line 2: must be a word and its count"),
        (b"tea\t1\nZanzibar\tmany\n", ", line 2: the count must be a finite number that is not negative."),
        (b"tea\t1\nZanzibar\tnan\n", ", line 2: the count must be a finite number that is not negative."),
        (b"tea\t1\nZanzibar\t-1\n", ", line 2: the count must be a finite number that is not negative."),
        (b"tea\t1\n\xffZanzibar\t1\n", ", line 2: is not valid UTF-8."),
        (b"Zanzibar\t1\nPemba\t4\n", "None of the counted words is in the vocabulary."),
        (b"tea\t0\n", "must hold a count above 0."),
        (b"tea\t1e300\n", "a number from 0 to 1e+200"),
    ],
)
def test_bad_counts_are_one_line_that_shows_nothing_of_them(
    content: bytes, message: str, counts: str, vectors: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / counts).write_bytes(content)
    assert perturb(vectors, "--frequencies", counts) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    for word in ("Zanzibar", "Pemba", "Dear", "many"):
        assert word not in error
    assert names(folder) == ["in.csv", counts]
    assert Ledger().entries() == []


def test_counts_that_are_not_there(vectors: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert perturb(vectors, "--frequencies", "absent.tsv") == 2
    assert capsys.readouterr().err == "wordveil: absent.tsv: No such file or directory.\n"
    assert perturb(vectors, "--frequencies-are-public") == 2
    assert "--frequencies-are-public is about --frequencies." in capsys.readouterr().err


def test_a_prior_from_python(small: wv.Embedding, noisy: wv.Perturber, folder: Path) -> None:
    uniform = wv.Prior.uniform(small)
    run = wv.perturb_file("in.csv", "out.csv", perturber=noisy, text="message", prior=uniform)
    attacker = json.loads(run.manifest.read_text())["attacker"]
    assert attacker == noisy.exposure(uniform).to_dict()
    assert attacker["prior"]["name"] == "uniform"


@pytest.mark.parametrize("case", ["a name", "counts", "another vocabulary"])
def test_a_wrong_prior_is_refused_before_any_work(
    case: str, noisy: wv.Perturber, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = wv.Embedding(["x", "y"], [[0.0], [1.0]], public=True)
    wrong: Any = {"a name": "english", "counts": {"tea": 1}, "another vocabulary": wv.Prior.uniform(other)}[
        case
    ]
    must = "must be made from the vectors" if case == "another vocabulary" else "must be a Prior. Got a "

    def started(*_: object, **__: object) -> None:
        raise AssertionError("worked in vain")

    monkeypatch.setattr(sys.modules["wordveil.runs.perturb_file"], "open_table", started)
    monkeypatch.setattr(sys.modules["wordveil.runs.perturb_frame"], "perturbed_texts", started)
    with pytest.raises(wv.ParameterError, match=f"'prior' parameter of perturb_file {must}"):
        wv.perturb_file("in.csv", "out.csv", perturber=noisy, text="message", prior=wrong)
    with pytest.raises(wv.ParameterError, match=f"'prior' parameter of exposure {must}"):
        noisy.exposure(wrong)
    pandas = pytest.importorskip("pandas")  # the tests of the oldest versions may lack it
    frame = pandas.DataFrame({"message": ["tea at noon"]})
    with pytest.raises(wv.ParameterError, match=f"'prior' parameter of perturb_frame {must}"):
        wv.perturb_frame(frame, perturber=noisy, text="message", prior=wrong)
    assert names(folder) == ["in.csv"]


def test_a_frame_warns_of_a_weak_setting(same: wv.Perturber, noisy: wv.Perturber) -> None:
    pandas = pytest.importorskip("pandas")  # the tests of the oldest versions may lack it
    frame = pandas.DataFrame({"message": ["tea at noon"]})
    with pytest.warns(wv.PrivacyWarning, match="This setting protects little") as caught:
        wv.perturb_frame(frame, perturber=same, text="message")
    assert caught[0].filename == __file__
    wv.perturb_frame(frame, perturber=noisy, text="message")  # a warning would be an error here


def test_a_file_warns_of_a_weak_setting(same: wv.Perturber, folder: Path) -> None:
    with pytest.warns(wv.PrivacyWarning, match="This setting protects little") as caught:
        wv.perturb_file("in.csv", "out.csv", perturber=same, text="message")
    assert caught[0].filename == __file__
