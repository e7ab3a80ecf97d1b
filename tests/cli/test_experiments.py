"""`wordveil experiment`: what is printed and written, and that pages need no network and quote no text."""

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from wordveil.cli.experiment import app
from wordveil.cli.main import main
from wordveil.engines.base import perturbed_texts

OPTIONS = ["--epsilons", "5,10,20", "--lams", "0,1", "--draws", "10", "--words", "64", "--dims", "20"]


def check_page(path: Path) -> str:
    page = path.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert "<script" not in page
    assert not re.search(r"(?:src|href)=[\"']?(?:https?:)?//", page)
    assert "@import" not in page
    pictures = re.findall(r'<img alt="[^"]+" src="data:image/svg\+xml;base64,([^"]+)">', page)
    assert pictures
    assert all(b"</svg>" in base64.b64decode(picture) for picture in pictures)
    assert "Settings" in page
    return page


def test_privacy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiment", "privacy", *OPTIONS, "--compare-paper", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    for part in ("N_w", "S_w", "ε = 10", "words in sparse regions", "the paper's mean", "95th percentile"):
        assert part in printed
    # S_w of 10 draws can't be compared with the paper's, nor 20 axes with a benchmark on 300.
    assert "27.80" not in printed
    assert "answers in 10 draws" in (tmp_path / "privacy.csv").read_text()
    assert not re.search(r"99\.46 \(", printed)
    facts = json.loads((tmp_path / "privacy.json").read_text())
    assert len(facts["rows"]) == 12
    assert facts["rows"][0].keys() >= {"mean", "deviation", "low", "high", "paper_low", "p5", "p50", "p95"}
    assert len((tmp_path / "privacy.csv").read_text().splitlines()) == 13
    assert r"\toprule" in (tmp_path / "privacy.tex").read_text()
    assert "| 0 |" in (tmp_path / "privacy.md").read_text()
    for name in ("n-w-percentiles", "s-w-percentiles"):
        assert (tmp_path / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (tmp_path / f"{name}.svg").read_text()
    page = check_page(tmp_path / "privacy.html")
    assert "does not hold" in page or "holds" in page
    assert main(["experiment", "privacy", *OPTIONS, "--json"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["rows"] == facts["rows"]


def test_words_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "w.txt").write_text("boston\nmonday\nqwxz\n")
    options = ["--epsilons", "10", "--lams", "0", "--dims", "5", "--words", str(tmp_path / "w.txt"), "--json"]
    assert main(["experiment", "privacy", *options]) == 0
    captured = capsys.readouterr()
    assert json.loads(captured.out)["settings"]["words"] == 2
    assert "w.txt: 1 words have no vector and are left out." in captured.err


def test_several_numbers_of_axes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--epsilons", "5,10", "--lams", "0,1", "--draws", "5", "--words", "70", "--dims", "20,5"]
    assert main(["experiment", "privacy", *options, "--compare-paper", "--out", str(tmp_path)]) == 0
    printed = capsys.readouterr().out
    for part in ("on 5 axes", "on 20 axes", "n-w-percentiles-5.png", "s-w-percentiles-20.svg"):
        assert part in printed.replace("\n", " ")
    facts = json.loads((tmp_path / "privacy.json").read_text())
    assert facts["settings"]["dims"] == [5, 20]
    assert [row["dims"] for row in facts["rows"]] == [5] * 8 + [20] * 8
    assert sum(row["dims"] == 5 and row["lam"] == 0 for row in facts["rows"]) == 4
    alone = [*options[:-1], "5", "--json"]
    assert main(["experiment", "privacy", *alone]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == facts["rows"][:8]
    check_page(tmp_path / "privacy.html")


def test_density(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in.csv").write_text("m,x\nZanzibar has a red house,1\nbook a flight to boston,2\n")
    assert main(["experiment", "density", str(tmp_path / "in.csv"), "--text", "m", "--compare-paper",
                 "--out", str(tmp_path / "o"), "--draws", "10"]) == 0  # fmt: skip
    printed = capsys.readouterr().out
    assert "35.28" in printed
    page = check_page(tmp_path / "o" / "density.html")
    for word in ("Zanzibar", "zanzibar", "boston"):
        assert word not in printed
        assert word not in page
    assert (tmp_path / "o" / "density.png").exists()
    assert main(["experiment", "density", str(tmp_path / "in.csv"), "--text", "m", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["records"] == 2
    for path in (tmp_path / "o").iterdir():
        assert path.stat().st_mode & 0o777 == 0o600
    assert "not for release" in page


def test_density_of_several_columns_and_of_a_pipe(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in.csv").write_text("m,x\na red house,to boston\nbook a flight,\n")
    options = ["--text", "m", "--text", "x", "--json"]
    assert main(["experiment", "density", str(tmp_path / "in.csv"), *options]) == 0
    row = json.loads(capsys.readouterr().out)["rows"][0]
    assert (row["records"], row["words_per_record_mean"]) == (2, 4.0)
    (tmp_path / "in.txt").write_text("a red house\nto boston\n")
    with (tmp_path / "in.txt").open() as file:
        monkeypatch.setattr("sys.stdin", file)
        assert main(["experiment", "density", "-", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["records"] == 2


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("name", ["sms.tsv", "sms.tsv.gz"])
def test_density_of_a_data_set_of_the_paper(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, mark: bytes
) -> None:
    data = mark + b'ham\tbook a "flight\nspam\tfree money now\n'
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    assert main(["experiment", "density", str(tmp_path / name), "--json"]) == 0
    row = json.loads(capsys.readouterr().out)["rows"][0]
    assert (row["records"], row["words_per_record_mean"]) == (2, 3.0)


def test_utility(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = "".join("spam\twin free money now\nham\tsee you at home\n" for _ in range(30))
    (tmp_path / "sms.tsv").write_text(rows)
    options = ["--epsilons", "1,40", "--lams", "0,1", "--dims", "10", "--repetitions", "2"]
    assert (
        main(["experiment", "utility", str(tmp_path / "sms.tsv"), *options, "--out", str(tmp_path / "o")])
        == 0
    )
    printed = capsys.readouterr().out
    for part in (
        "Accuracy, sms, tested on private text",
        "tested on clean text",
        "unperturbed",
        "majority",
        "chance",
    ):
        assert part in printed
    page = check_page(tmp_path / "o" / "utility.html")
    assert "free money" not in page + printed
    rows = json.loads((tmp_path / "o" / "utility.json").read_text())["rows"]
    assert len(rows) == (4 + 3 * 2) * (1 + 2 * 2 * 2)  # scores × (unperturbed + λ × ε × test texts)
    for path in (tmp_path / "o").iterdir():
        assert path.stat().st_mode & 0o777 == 0o600
    assert (
        main(["experiment", "utility", str(tmp_path / "sms.tsv"), *options, "--json", "--test", "clean"]) == 0
    )
    assert {row["tested_on"] for row in json.loads(capsys.readouterr().out)["rows"]} == {"clean"}


def test_no_perturbed_text_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    perturbed: list[str] = []

    def recorded(*arguments: Any) -> Any:
        answers, report = perturbed_texts(*arguments)
        perturbed.extend(text for text in answers["text"] if text is not None)
        return answers, report

    monkeypatch.setattr("wordveil.evaluation.utility_experiment.perturbed_texts", recorded)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "sms.tsv").write_text("spam\twin free money now\nham\tsee you at home\n" * 10)
    arguments = [
        str(tmp_path / "in" / "sms.tsv"),
        "--epsilons",
        "1",
        "--lams",
        "1",
        "--out",
        str(tmp_path / "o"),
    ]
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert main(["experiment", "utility", *arguments]) == 0
    assert len(set(perturbed)) > 90
    captured = capsys.readouterr()
    written = [
        path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.parent.name != "in"
    ]
    assert len(written) > 7  # the report, and the scores that are kept
    assert any(path.suffix == ".json" and path.parent.name == "utility" for path in tmp_path.rglob("*"))
    for text in perturbed:
        assert not any(
            text.encode() in data for data in [*written, captured.out.encode(), captured.err.encode()]
        )


@pytest.mark.parametrize(
    ("command", "parts"),
    [
        ("privacy", ["Public words only"]),
        ("density", ["the texts' words", "not for release if the texts are private"]),
        ("utility", ["perturbed texts must not be released", "temporary file", "only scores are written"]),
    ],
)
def test_the_help_of_a_seed(command: str, parts: list[str]) -> None:
    commands: Any = get_command(app)
    (text,) = (option.help for option in commands.commands[command].params if option.name == "seed")
    assert all(part in text for part in parts)
    assert ("Public words only" in text) == (command == "privacy")


@pytest.mark.parametrize("name", ["privacy", "density", "utility"])
def test_the_help_of_a_profile_names_options_that_exist(name: str) -> None:
    group: Any = get_command(app)
    command = group.commands[name]
    options = {option for parameter in command.params for option in parameter.opts}
    (profile,) = (parameter for parameter in command.params if parameter.name == "profile")
    replaced = re.findall(r"--[a-z-]+", profile.help)
    assert len(replaced) >= 2
    assert set(replaced) <= options


def test_a_data_set_of_the_paper_is_compared_with_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sms.tsv").write_text("spam\twin free money now\nham\tsee you at home\n" * 10)
    options = ["--epsilons", "40", "--lams", "0", "--dims", "5", "--repetitions", "1", "--positive", "ham"]
    assert main(["experiment", "utility", str(tmp_path / "sms.tsv"), *options]) == 0
    printed = capsys.readouterr().out
    for part in (
        "ours, bag of words, about 'ham'",
        "ours, bag of words, about 'spam'",
        "the paper's, bag of words",
        "0.92",
    ):
        assert part in printed
    assert "recall of ham" in printed
    assert "majority" in printed


def test_a_folder_that_cannot_be_written_is_an_error_before_the_work_begins(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert main(["experiment", "privacy", *OPTIONS, "--out", str(tmp_path / "file" / "x")]) != 0
    assert "drawing" not in capsys.readouterr().err


def test_a_run_continues_without_a_cache_that_cannot_be_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setattr("wordveil.evaluation.sweep_cache.user_folder", lambda *_: tmp_path / "file")
    assert main(["experiment", "privacy", *OPTIONS, "--json"]) == 0
    assert "The cache folder can't be written" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["privacy", "--epsilons", "1,x"], "--epsilons must be numbers"),
        (["privacy", "--epsilons", "5,1"], "--epsilons must be different numbers in ascending order"),
        (["utility", "--lams", "0,0", "in.csv"], "--lams must be different numbers in ascending order"),
        (["privacy", "--lams", "0,2"], "be in [0, 1]"),
        (["privacy", "--dims", "5,many"], "--dims must be whole numbers"),
        (["privacy", "--dims", "0"], "--dims must be"),
        (["privacy", "--dims", "301"], "--dims must be"),
        (["privacy", "--words", "absent.txt"], "absent.txt: No such file"),
        (["privacy", "--draws", "0"], "--draws must be"),
        (["privacy", "--workers", "0"], "--workers must be"),
        (["density", "absent.txt"], "absent.txt: No such file"),
        (["utility", "absent.csv"], "absent.csv: No such file"),
    ],
)
def test_mistakes(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experiment", *arguments]) == 2
    errors = capsys.readouterr().err
    assert message in errors
    assert errors.count("\n") == 1
