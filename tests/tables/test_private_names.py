"""What a file calls its columns may be data: of a table without a header, or of JSON keyed by people."""

import time
import types
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import wordveil as wv
from wordveil.cli.main import main
from wordveil.tables.columns import described, missing_column

SECRETS = ("Okello", "pregnant", "messy divorce", "555-0117")
ROW = ",".join(("ham", *SECRETS))
COMMAND = ["--epsilon", "6", "--dims", "5"]


def check_silent(captured: Any) -> None:
    for secret in SECRETS:
        assert secret not in captured.err
        assert secret not in captured.out


@pytest.mark.parametrize("wanted", ["message", "pregnan", "divorce", "2"])
def test_a_table_without_a_header(wanted: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in.csv").write_text(f"{ROW}\n{ROW}\n")
    assert (
        main(["perturb", str(tmp_path / "in.csv"), str(tmp_path / "o.csv"), "--text", wanted, *COMMAND]) == 2
    )
    check_silent(capsys.readouterr())


@pytest.mark.parametrize("name", ["in.csv", "in.jsonl", "in.parquet"])
def test_what_is_left_out(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / name
    columns = {"text": ["tea"], "label": ["ham"], **{secret: ["1"] for secret in SECRETS}}
    frame = pd.DataFrame(columns)
    match source.suffix:
        case ".csv":
            frame.to_csv(source, index=False)
        case ".jsonl":
            frame.to_json(source, orient="records", lines=True)
        case _:
            pq.write_table(pa.table(columns), source)
    assert (
        main(["perturb", str(source), str(tmp_path / f"o{source.suffix}"), "--text", "text", *COMMAND]) == 0
    )
    captured = capsys.readouterr()
    check_silent(captured)
    assert "left out, since not named with --keep: label, columns 3, 4, 5 and 6 of 6" in captured.err


def test_a_frame(noisy: wv.Perturber) -> None:
    frame = pd.DataFrame({"Okello": ["tea"], "text": ["tea"]})
    with pytest.raises(wv.FormatError, match=r"has no column 'Okelo'\. Hint: did you mean column 1"):
        wv.perturb_frame(frame, perturber=noisy, text="Okelo")


@pytest.mark.parametrize("command", ["explain", "density", "utility"])
def test_the_other_commands(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "in.csv"
    source.write_text(f"{ROW}\n{ROW}\n")
    arguments = {
        "explain": ["explain", *COMMAND, "--file", str(source), "--text", "pregnan"],
        "density": ["experiment", "density", str(source), "--text", "pregnan"],
        "utility": ["experiment", "utility", str(source), "--text", "pregnan", "--label", "ham"],
    }
    assert main(arguments[command]) == 2
    check_silent(capsys.readouterr())


@pytest.mark.parametrize(
    "content", ["Okello = 1\n", "epsilon = 6\nOkello = 'pregnant'\n", f"{ROW}\n", "[Okello]\n"]
)
def test_a_wrong_file_of_settings(content: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "settings.toml").write_text(content)
    assert main(["perturb", "-", "-", "--config", str(tmp_path / "settings.toml"), *COMMAND]) == 2
    check_silent(capsys.readouterr())


def test_a_wrong_file_of_vectors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file that is no embedding may be the private one."""
    (tmp_path / "v.txt").write_text("Okello nan 1\npregnant 1 2\n")
    assert main(["embedding", "import", str(tmp_path / "v.txt"), "--name", "x"]) == 2
    check_silent(capsys.readouterr())


def test_ordinary_names_are_still_told() -> None:
    assert "did you mean 'message'?" in str(missing_column("mesage", ["id", "message"], "in.csv"))
    assert described(["created_at", "userId"], ["created_at", "text", "userId"]) == "created_at, userId"
    assert described(["text" + "1" * 9], ["text" + "1" * 9]) == "column 1 of 1"
    assert described([f"x{i}" for i in range(50)], [f"x{i}" for i in range(60)]) == "50 columns of 60"


@pytest.mark.parametrize("name", ["phone 06 12 34 56 78", "patient 12 03 19 85", "age 42", "id 4711"])
def test_numbers_are_no_part_of_an_ordinary_name(name: str) -> None:
    assert described([name], [name, "text"]) == "column 1 of 2"


def test_kinds_do_not_tell_what_they_hold(noisy: wv.Perturber, tmp_path: Path) -> None:
    frames = [
        pl.DataFrame({"m": pl.Series([{"Okello": 1}])}),
        pd.DataFrame({"m": pd.Categorical([1], categories=[1, 555]), "n": [1]}),
        pa.table({"m": pa.array([{"Okello": 1}])}),
    ]
    for frame in frames:
        with pytest.raises(wv.FormatError) as caught:
            wv.perturb_frame(frame, perturber=noisy, text="m")
        check_silent(types.SimpleNamespace(err=str(caught.value), out=""))
    pq.write_table(frames[2], tmp_path / "in.parquet")
    with pytest.raises(wv.FormatError, match="is not text but struct") as caught:
        wv.perturb_file(tmp_path / "in.parquet", tmp_path / "out.parquet", perturber=noisy, text="m")
    check_silent(types.SimpleNamespace(err=str(caught.value), out=""))
    enum = pl.DataFrame({"m": pl.Series(["tea", "pregnant"], dtype=pl.Enum(["tea", "pregnant"]))})
    assert len(wv.perturb_frame(enum, perturber=noisy, text="m")) == 2


def test_many_odd_names_take_no_time() -> None:
    names = [f"x{i}" for i in range(50_000)]
    begun = time.process_time()
    assert described(names[1:], names) == "49,999 columns of 50,000"
    assert time.process_time() - begun < 5.0
