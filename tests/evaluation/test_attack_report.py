"""The report on attacks, and the command."""

import json
from pathlib import Path

import pytest

import wordveil as wv
from wordveil.cli.main import main
from wordveil.evaluation.attacks import attack
from wordveil.report.output import check_folder
from wordveil.report.report import make_report

from .attacked_texts import TEXTS


def test_the_picture_and_the_page(tmp_path: Path, small: wv.Embedding) -> None:
    perturbers = [wv.Perturber(wv.Mahalanobis(small, epsilon)) for epsilon in (1.0, 4.0)]
    result = attack(perturbers, TEXTS, groups=["words", "linkage"], sizes=[10], draws=100)
    report = make_report(result)
    assert report.is_private
    panels = {panel.title: panel for panel in report.charts[0].panels}
    assert set(panels) == {"words", "linkage"}
    assert panels["linkage"].levels[0].value == 10.0
    paths = report.write(tmp_path / "out")
    assert {path.suffix for path in paths} == {".html", ".csv", ".md", ".tex", ".json", ".png", ".svg"}
    assert all(path.stat().st_mode & 0o077 == 0 for path in paths)
    page = (tmp_path / "out" / "attacks.html").read_text(encoding="utf-8")
    assert "not for release" in page
    assert "easiest to recover, with mahalanobis, ε = 4" in page.replace("\N{NO-BREAK SPACE}", " ")
    assert {"surrogate, rank 1", "learned, rank 1"} <= {line.name for line in panels["linkage"].lines}
    assert "surrogate from ε·d alone" in {line.name for line in panels["words"].lines}
    assert len(result.easiest) == 10
    one = attack(perturbers[:1], groups=["words"], draws=100)
    assert not one.is_private
    assert not make_report(one).charts


def test_the_picture_has_a_panel_per_setting_and_a_floor_per_null(small: wv.Embedding) -> None:
    perturbers = [
        wv.Perturber(wv.Mahalanobis(small, epsilon, lam)) for lam in (0.0, 1.0) for epsilon in (1.0, 4.0)
    ]
    panels = make_report(attack(perturbers, groups=["words"], draws=100)).charts[0].panels
    assert [panel.title.split(", ")[-1] for panel in panels] == ["λ = 0", "λ = 1"]
    assert all(len(line.x) == 2 for panel in panels for line in panel.lines)
    nulls = {level.name: level.value for level in panels[0].levels}
    assert nulls["topic prior, without output"] > nulls["without the output"]


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "in.txt"
    file.write_text("\n".join(TEXTS * 2) + "\n", encoding="utf-8")
    options = ["--dims", "5", "--lam", "0", "--draws", "100", "--most", "20", "--context", str(file)]
    assert main(["attack", str(file), "--epsilon", "3,6", *options, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["not_for_release"] is True
    assert {row["group"] for row in facts["attacks"]} == {
        "words",
        "context",
        "linkage",
        "attributes",
        "averaging",
    }
    assert main(["attack", "--profile", "balanced", "--only", "words", "--draws", "100"]) == 0
    shown = capsys.readouterr()
    assert "topic prior" in shown.out
    assert "not for release" not in shown.err
    assert main(["attack", "--only", "words"]) == 2
    assert main(["attack", "--profile", "balanced", "--epsilon", "3"]) == 2


@pytest.mark.parametrize("group", ["linkage", "attributes", "context"])
def test_attacks_on_texts_need_a_file(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["attack", "--epsilon", "6", "--dims", "5", "--only", group]) == 2
    assert f"--only {group} needs FILE" in capsys.readouterr().err


def test_context_needs_texts_and_public_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "in.txt"
    file.write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    small = ["attack", "--epsilon", "6", "--dims", "5", "--draws", "100", "--most", "10"]
    assert main([*small, "--context", str(file)]) == 2
    assert "--context needs FILE" in capsys.readouterr().err
    assert main([*small, str(file), "--only", "context"]) == 2
    assert "--only context needs --context" in capsys.readouterr().err
    assert main([*small, str(file), "--json"]) == 0
    assert "not guessed from their context" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["message\n@@\n!!\n", "message\n"])
def test_a_column_without_words_is_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    file = tmp_path / "in.csv"
    file.write_text(content, encoding="utf-8")
    assert main(["attack", str(file), "--text", "message", "--epsilon", "6", "--dims", "5"]) == 2
    error = capsys.readouterr().err
    assert "column of texts has no words" in error
    assert "@" not in error


@pytest.fixture
def lines(tmp_path: Path) -> str:
    """A file with one text per line."""
    file = tmp_path / "in.txt"
    file.write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    return str(file)


def test_the_least_number_of_candidates_is_that_of_the_help(
    lines: str, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["attack", lines, "--epsilon", "6", "--dims", "5", "--only", "linkage", "--most"]
    assert main([*options, "3"]) == 2
    assert "--most" in capsys.readouterr().err
    assert main([*options, "4"]) == 0


def test_a_bad_line_of_counts_is_named_by_its_number(
    lines: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    counts = tmp_path / "counts.txt"
    counts.write_text("hot tea 3\n\ncold zanzibar x\nice tea 1\n", encoding="utf-8")
    options = ["--epsilon", "6", "--dims", "5", "--only", "context", "--context", str(counts)]
    assert main(["attack", lines, *options]) != 0
    error = capsys.readouterr().err
    assert "Line 3 of the public counts" in error
    assert "zanzibar" not in error


def test_a_table_without_a_named_column_is_asked_for_its_texts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "in.csv"
    file.write_text("a,b\nhot tea,ice\n", encoding="utf-8")
    assert main(["attack", str(file), "--epsilon", "6", "--dims", "5", "--only", "linkage"]) == 2
    assert "which column has the texts" in capsys.readouterr().err


def test_work_that_is_stopped_leaves_no_folder(tmp_path: Path) -> None:
    check_folder(tmp_path / "a" / "out")
    assert [*tmp_path.iterdir()] == []
    (tmp_path / "b").mkdir()
    check_folder(tmp_path / "b")
    assert [*tmp_path.iterdir()] == [tmp_path / "b"]
