"""`wordveil experiment` on anyone's data: six classes, fixed splits, Parquet, settings files, own mechanisms."""

import json
import random
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

import wordveil as wv
from tests.own_mechanisms import WithoutGuarantee
from tests.samples import TOPICS
from wordveil.cli.main import main
from wordveil.evaluation import load_labelled, make_grid, utility

from .commands import SCRIPT, without_coverage

GRID = ["--epsilons", "1,100", "--lams", "0,1", "--dims", "20", "--repetitions", "3"]


def six_classes(path: Path) -> list[str]:
    """As TREC: questions of six classes, one of them rare."""
    rows = [
        f"{topic},{words} {other}\n"
        for other in ("today", "now", "here")
        for topic, words in TOPICS.items()
        for _ in range(10 if topic != "ABBR" else 2)
    ]
    path.write_text("label,text\n" + "".join(rows))
    return ["--text", "text", "--label", "label"]


def fixed_split(path: Path) -> list[str]:
    """As SST-2: two labels, and a column that says which part a record belongs to."""
    rows = [
        {"sentence": f"a {word} film {place}", "label": label, "split": part}
        for part, copies in (("train", 20), ("validation", 3), ("test", 10))
        for word, label in (("wonderful", 1), ("terrible", 0))
        for place in ("here", "there")
        for _ in range(copies)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return ["--text", "sentence", "--label", "label", "--split-column", "split"]


def parquet_file(path: Path) -> list[str]:
    import pyarrow as pa
    from pyarrow import parquet

    texts = ["win free money now", "see you at home"] * 30
    table = pa.table({"message": texts, "spam": [True, False] * 30})
    parquet.write_table(table, path)
    return ["--text", "message", "--label", "spam"]


@pytest.mark.parametrize(
    ("name", "write", "labels", "split"),
    [
        ("trec.csv", six_classes, 6, "random, 70% to learn from"),
        ("sst.jsonl", fixed_split, 2, "fixed"),
        ("sms.parquet", parquet_file, 2, "random, 70% to learn from"),
    ],
)
def test_from_the_command_and_from_python(
    name: str, write: Any, labels: int, split: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    options = write(path)
    assert (
        main(["experiment", "utility", str(path), *options, *GRID, "--json", "--out", str(tmp_path / "o")])
        == 0
    )
    printed = json.loads(capsys.readouterr().out)
    assert printed["settings"]["split"] == split
    assert len(printed["settings"]["labels"]) == labels
    best = [
        row
        for row in printed["rows"]
        if row["statistic"] == "accuracy" and row["epsilon"] == 100.0 and row["tested_on"] == "private"
    ]
    assert [row["mean"] > 0.9 for row in best] == [True, True]
    assert all(row["majority"] < row["low"] and row["chance"] == pytest.approx(1 / labels) for row in best)
    assert "majority" in (tmp_path / "o" / "utility.html").read_text()
    named = dict(zip(options[::2], options[1::2], strict=True))
    data = load_labelled(path, named["--text"], named["--label"], split=named.get("--split-column"))
    grid = make_grid(wv.load_embedding(), [1.0, 100.0], [0.0, 1.0], dims=[20])
    result = utility(data, grid, repetitions=3)
    assert result.rows() == printed["rows"]
    assert [verdict.outcome for verdict in result.verdicts()] == [c["outcome"] for c in printed["claims"]]


def test_labelled_texts_from_standard_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    options = six_classes(tmp_path / "trec.csv")
    chosen = [*options, "--epsilons", "100", "--lams", "0", "--dims", "20", "--repetitions", "2", "--json"]

    def piped(*arguments: str) -> int:
        with (tmp_path / "trec.csv").open() as file:
            monkeypatch.setattr("sys.stdin", file)
            return main(["experiment", "utility", "-", *chosen, *arguments])

    assert piped("--format", "csv") == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["name"] == "standard input"
    assert main(["experiment", "utility", str(tmp_path / "trec.csv"), *chosen]) == 0
    named = json.loads(capsys.readouterr().out)
    assert [row["mean"] for row in named["rows"]] == [row["mean"] for row in printed["rows"]]
    assert piped() == 2
    assert "must be CSV, TSV, JSON Lines or Parquet. Hint: --format" in capsys.readouterr().err


def test_a_test_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    six_classes(tmp_path / "train.csv")
    (tmp_path / "test.csv").write_text("label,text\nHUM,who was the singer\nNUM,how many miles\n")
    arguments = [str(tmp_path / "train.csv"), "--text", "text", "--label", "label", *GRID, "--json"]
    assert main(["experiment", "utility", *arguments, "--test-file", str(tmp_path / "test.csv")]) == 0
    settings = json.loads(capsys.readouterr().out)["settings"]
    assert (settings["split"], settings["tested_records"]) == ("fixed", 2)


def test_rows_of_neither_part_are_counted_and_not_quoted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parts = ["train", "test", "train", "test", "secret", "", "dev"] * 4
    lines = [f"{('tea', 'house')[i % 2]},{i % 2},{part}" for i, part in enumerate(parts)]
    (tmp_path / "in.csv").write_text("\n".join(["text,label,part", *lines]) + "\n")
    arguments = ["experiment", "utility", str(tmp_path / "in.csv"), "--text", "text", "--label", "label"]
    arguments += ["--split-column", "part", "--epsilons", "5", "--lams", "0", "--dims", "3"]
    assert main([*arguments, "--repetitions", "1", "--no-cache"]) == 0
    captured = capsys.readouterr()
    assert "note: 12 rows are left out: --split-column says neither train nor test there." in captured.err
    assert "secret" not in captured.err + captured.out


def test_named_settings(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = parquet_file(tmp_path / "sms.parquet")
    settings = tmp_path / "settings.toml"
    settings.write_text(
        '[flat]\nmechanism = "laplace"\nepsilon = [5, 50]\ndims = 10\n\n'
        '[shaped]\nepsilon = 50\nlam = 1.0\ndims = 10\n\n[ready]\nprofile = "gentle"\n'
    )
    arguments = [
        str(tmp_path / "sms.parquet"),
        *options,
        "--settings",
        str(settings),
        "--repetitions",
        "2",
        "--json",
    ]
    assert main(["experiment", "utility", *arguments]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    chosen = {
        (row["setting"], row["mechanism"], row["dims"], row["epsilon"]) for row in rows if row["setting"]
    }
    assert len(chosen) == 4
    assert ("flat", "laplace", 10, 5.0) in chosen
    assert {row["answer"] for row in rows if row["setting"] == "ready"} == {"closest"}
    assert main(["experiment", "utility", *arguments, "--epsilons", "5"]) == 2
    assert "--settings names all settings" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("epsilon = 5", "entry 1 is not a table"),
        ("[secret]\nlam = 1.0", "table 1 has no 'epsilon'"),
        ("[secret]\nepsilon = 5\nlamb = 1.0", "did you mean 'lam'?"),
        ('[secret]\nepsilon = "zanzibar"', "table 1 has an invalid value 'epsilon'"),
        ("[secret]\nepsilon = 5\nlam = 7.0", "table 1 has an invalid value 'lam'"),
        ('[secret]\nprofile = "gentle"\nlam = 1', "keep only the profile"),
        ('[secret]\nepsilon = 5\nmechanism = "zanzibar"', "table 1 has an invalid value"),
        ("[secret", "is not valid TOML"),
        ("", "has no settings"),
    ],
)
def test_mistakes_in_a_settings_file(
    content: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "s.toml").write_text(content)
    assert main(["experiment", "privacy", "--settings", str(tmp_path / "s.toml")]) == 2
    errors = capsys.readouterr().err
    assert message in errors
    assert "secret" not in errors
    assert "zanzibar" not in errors
    assert errors.count("\n") == 1


class Random(WithoutGuarantee):
    """Answers with a random word, except for a share that stays."""

    name = "random-word"
    options = (wv.Option("stay", float, "the share that stays", default=0.5, low=0.0, high=1.0),)

    def __init__(self, embedding: wv.Embedding, epsilon: float, stay: float = 0.5) -> None:
        self.embedding, self.epsilon, self.stay = embedding, epsilon, stay

    def parameters(self) -> dict[str, Any]:
        return {"epsilon": self.epsilon, "stay": self.stay}

    def _perturb(self, ids: Any, stream: wv.Stream) -> Any:
        others = stream.integers(len(self.embedding), ids.shape)
        stays = (stream.uniforms(ids.shape) < self.stay) & (ids >= 0)
        others[stays] = ids[stays]
        return others


def test_a_mechanism_of_ones_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("wordveil.mechanisms.registry._registered", dict(wv.mechanisms.registry._registered))
    wv.register_mechanism(Random)
    chosen = ["--mechanism", "random-word", "--mechanism", "laplace", "--option", "stay=0.8", "--dims", "5"]
    grid = ["--epsilons", "5,10", "--lams", "0,1"]
    assert main(["experiment", "privacy", *chosen, *grid, "--words", "200", "--draws", "50", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {row["mechanism"] for row in rows} == {"random-word", "laplace"}
    own = [row for row in rows if row["mechanism"] == "random-word" and row["statistic"] == "N_w"]
    assert [row["options"] for row in own] == ["stay=0.8"] * 2
    # 200 words × 50 draws: a standard error of 0.4.
    assert all(abs(row["mean"] - 80.0) < 2.0 and row["lam"] is None for row in own)
    options = parquet_file(tmp_path / "sms.parquet")
    arguments = [str(tmp_path / "sms.parquet"), *options, *chosen, *grid, "--repetitions", "2"]
    assert main(["experiment", "utility", *arguments, "--out", str(tmp_path / "o")]) == 0
    assert "random-word" in capsys.readouterr().out
    assert main(["experiment", "privacy", *chosen, "--option", "other=1"]) == 2
    assert "no chosen mechanism has an option of that name" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["privacy", "utility"])
def test_ctrl_c_keeps_what_was_computed(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real SIGINT at a random moment, until one comes in the middle; then the same command continues."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    # A shell that starts the tests in the background lets them, and what they start, ignore the signal.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if command == "privacy":
        arguments = ["--words", "4000", "--draws", "40", "--lams", "0,1", "--dims", "30", "--workers", "1"]
    else:
        six_classes(tmp_path / "trec.csv")
        arguments = [
            str(tmp_path / "trec.csv"),
            "--text",
            "text",
            "--label",
            "label",
            *GRID,
            "--repetitions",
            "10",
        ]
    run = [SCRIPT, "experiment", command, *arguments, "--json"]

    def kept() -> dict[Path, int]:
        pattern = "sweeps/**/*.npy" if command == "privacy" else "utility/*.json"
        return {path: path.stat().st_mtime_ns for path in (tmp_path / "cache").rglob(pattern)}

    with subprocess.Popen(
        run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=without_coverage()
    ) as process:
        while len(kept()) < 2 and process.poll() is None:
            time.sleep(0.02)
        time.sleep(random.Random().uniform(0.0, 0.2))
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert b"Run the same command again to continue" in errors
    assert b"Traceback" not in errors
    before = kept()
    assert len(before) >= 2
    resumed = subprocess.run(run, capture_output=True, env=without_coverage())
    assert resumed.returncode == 0, resumed.stderr
    after = kept()
    assert len(after) > len(before)
    assert all(after[path] == before[path] for path in before)  # none was computed again
    fresh = subprocess.run([*run, "--no-cache"], capture_output=True, env=without_coverage())
    assert json.loads(fresh.stdout) == json.loads(resumed.stdout)
    assert kept() == after


@pytest.mark.slow
def test_the_paper_on_small_files(
    vectors: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "sms.tsv").write_text("spam\tbook a flight now\nham\ttea at noon\n" * 12)
    arguments = [
        "--sms",
        str(tmp_path / "sms.tsv"),
        "--embedding",
        vectors,
        "--draws",
        "5",
        "--repetitions",
        "1",
    ]
    run = ["experiment", "paper", "--out", str(tmp_path / "o"), *arguments]
    assert main(run) == 0
    captured = capsys.readouterr()
    assert "Claim by claim" in captured.out
    assert re.search(r"Expected time: about \d+ (s|min) \(privacy ", captured.err)
    assert "without --tweets FILE" in captured.err
    assert "is not the file that the documented numbers for the sms come from" in captured.err
    for name in (
        "privacy/privacy.html",
        "density-sms/density.html",
        "utility-sms/utility.html",
        "paper.html",
    ):
        assert (tmp_path / "o" / name).exists()
    result = wv.evaluation.result_from_dict(json.loads((tmp_path / "o" / "paper.json").read_text()))
    assert {row["part"] for row in result.rows()} == {"privacy", "utility"}
    assert all(row["paper"] for row in result.rows())
    page = (tmp_path / "o" / "paper.html").read_text()
    assert "tea at noon" not in page + captured.out
    assert wv.make_report(result).text("csv") == (tmp_path / "o" / "paper.csv").read_text()
    assert main([*run, "--json"]) == 0
    again = capsys.readouterr()
    assert "Expected time: about 1 s" in again.err
    assert json.loads(again.out) == result.to_dict()
    assert main([*run[:4], "--tweets", str(tmp_path / "sms.tsv")]) == 2
    assert "does not begin like the tweets of the paper" in capsys.readouterr().err
