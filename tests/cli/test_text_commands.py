"""`perturb`, `explain` and `show-noise` as a person runs them."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import wordveil as wv
from wordveil.cli.main import main
from wordveil.engines.base import perturbed_texts

SCRIPT = shutil.which("wordveil", path=str(Path(sys.executable).parent)) or "wordveil is not installed"
SECRET = "Zanzibar's patient 4711 has diabetes"


def perturb(data: bytes, *options: str) -> subprocess.CompletedProcess[bytes]:
    command = [SCRIPT, "perturb", "-", "-", "--epsilon", "5", "--dims", "10", *options]
    return subprocess.run(command, input=data, capture_output=True, check=False)


def test_a_text_a_line(glove: wv.Embedding) -> None:
    done = perturb("Book a flight!\n\nZoë\r\nno end".encode())
    assert (done.returncode, done.stderr.count(b"\n")) == (0, 1)
    assert done.stderr.startswith(b"Someone who knows how often English words are used, and sees ")
    lines = done.stdout.decode().split("\n")
    assert [len(line.split()) for line in lines] == [3, 0, 1, 2, 0]
    assert all(word in glove for line in lines for word in line.split())


def test_an_empty_pipe_is_an_error() -> None:
    done = perturb(b"")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr == b"wordveil: standard input: is empty. Hint: is it the right file?\n"


def seeded(perturber: wv.Perturber) -> str | None:
    """Return what the seed 5 makes of the secret as the first line of an input."""
    answers, _ = perturbed_texts(perturber, wv.insecure_key(5), 0, 0, {"line": [SECRET]})
    return answers["line"][0]


def test_options_reach_the_mechanism(glove: wv.Embedding) -> None:
    done = perturb(
        SECRET.encode(), "--lam", "0.3", "--dims", "25", "--unsafe-seed", "5", "--pad-to", "9", "--bag"
    )
    clean = wv.BlockList.english()
    perturber = wv.Perturber(
        wv.Mahalanobis(glove.project(25), 5.0, 0.3, blocked=clean), wv.Policy(pad_to=9, bag=True)
    )
    assert done.stdout.decode() == f"{seeded(perturber)}\n"
    laplace = perturb(SECRET.encode(), "--mechanism", "laplace", "--unsafe-seed", "5")
    assert (
        laplace.stdout.decode()
        == f"{seeded(wv.Perturber(wv.Laplace(glove.project(10), 5.0, blocked=clean)))}\n"
    )


def test_without_a_seed_no_two_runs_are_alike() -> None:
    assert perturb(SECRET.encode() * 3).stdout != perturb(SECRET.encode() * 3).stdout


def test_what_is_unsafe_is_warned_of_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "stop.txt").write_text("has\nhas\n\n")
    done = perturb(
        b"It has Qwxz, yes!", "--unsafe-keep", "--unsafe-keep-punctuation", "--unsafe-keep-case",
        "--unsafe-exempt", str(tmp_path / "stop.txt"),
    )  # fmt: skip
    assert done.returncode == 0
    warning, headline, _ = done.stderr.split(b"\n")
    assert warning.startswith(b"wordveil: warning: This policy reveals")
    assert headline.startswith(b"Someone who knows ")
    assert b" has Qwxz, " in done.stdout
    assert b"[X]" in perturb(b"qwxz tea", "--unsafe-mask", "[X]").stdout
    assert len(perturb(b"qwxz tea", "--unsafe-drop").stdout.split()) == 1


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (b"ok\n\xff\xfe\n", [], b"standard input, line 2: is not valid UTF-8"),
        (b"ok\n" + b"x" * (17 << 20), [], b"standard input, line 2: is over 16 MiB"),
        (b"x" * (17 << 20) + b"\n", [], b"standard input, line 1: is over 16 MiB"),
        (b"ok", ["--epsilon", "0"], b"wordveil: --epsilon must be finite and positive"),
        (b"ok", ["--epsilon", "nan"], b"must be finite and positive"),
        (b"ok", ["--lam", "2"], b"wordveil: --lam must be in [0, 1]. Got 2.0 instead."),
        (
            b"ok",
            ["--dims", "301"],
            b"wordveil: --dims must be a whole number from 1 to 300. Got 301 instead.",
        ),
        (b"ok", ["--workers", "0"], b"wordveil: --workers must be"),
        (b"ok", ["--device", "tpu"], b"'--device'"),
        (b"ok", ["--mechanism", "laplace", "--lam", "1"], b"has no option 'lam'. Hint: it has answer."),
        (b"ok", ["--mechanism", "gauss"], b"There is no mechanism of that name. Hint: there are mahalanobis"),
        (b"ok", ["--pad-to", "0"], b"wordveil: --pad-to must be"),
        (b"ok", ["--unsafe-keep", "--unsafe-drop"], b"only one"),
        (b"ok", ["--unsafe-seed", "-1"], b"wordveil: --unsafe-seed must be"),
        (b"ok", ["--unsafe-keep-nulls"], b"unsafe_keep_nulls needs pad_to"),
        (b"ok", ["--unsafe-exempt", "absent.txt"], b"absent.txt: No such file"),
        (b"ok", ["--embedding", "absent"], b"no embedding of that name"),
    ],
)
def test_bad_input_is_one_line_without_the_text(data: bytes, options: list[str], message: bytes) -> None:
    done = perturb(data, *options)
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert message in done.stderr
    assert b"Traceback" not in done.stderr


def test_epsilon_has_no_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["perturb", "-", "-"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("wordveil: A setting is missing. Hint: --profile balanced is a start")
    assert "--epsilon" in error
    assert error.count("\n") == 1


def test_a_seed_is_warned_of() -> None:
    done = perturb(b"tea", "--unsafe-seed", "5")
    assert done.returncode == 0
    assert b"warning: The noise comes from a seed: whoever knows or guesses it" in done.stderr


@pytest.mark.parametrize("closed", ["<&-", ">&-"])
def test_a_closed_input_or_output_is_the_environments_fault(closed: str) -> None:
    done = subprocess.run(
        f"{SCRIPT} perturb - - --epsilon 1 {closed}", shell=True, capture_output=True, check=False
    )
    assert done.returncode == 1
    assert b"is closed." in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_a_slow_writer_gets_its_answer_at_once() -> None:
    command = [SCRIPT, "perturb", "-", "-", "--epsilon", "10", "--dims", "5"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for count in (2, 3):
            process.stdin.write(b"tea " * count + b"\n")
            process.stdin.flush()
            assert len(process.stdout.readline().split()) == count
        process.stdin.close()


def test_private_text_is_in_no_error_or_trace() -> None:
    done = subprocess.run(
        [SCRIPT, "perturb", "-", "-", "--epsilon", "10"], input=SECRET.encode() + b"\xff",
        capture_output=True, check=False, env=os.environ | {"WORDVEIL_DEBUG": "1"},
    )  # fmt: skip
    for word in SECRET.split():
        assert word.encode() not in done.stderr


def test_explain_a_word(capsys: pytest.CaptureFixture[str], glove: wv.Embedding) -> None:
    arguments = [
        "explain",
        "--epsilon",
        "10",
        "--lam",
        "0",
        "--dims",
        "25",
        "--word",
        "Boston",
        "--draws",
        "200",
    ]
    assert main([*arguments, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["guarantee"]["epsilon"] == 10.0
    assert facts["projection_factor"] == 1.0  # at λ = 0 a projection never lengthens a distance
    axes = glove.project(25)
    word = facts["word"]
    assert (word["word"], word["draws"]) == ("boston", 200)
    assert word["largest"] >= max(word["named"], word["named_if_uniform"]) > 0.3
    exponents = [(row["word"], row["exponent"]) for row in word["neighbours"]]
    distances = np.linalg.norm(axes.vectors.astype(float) - axes.vector("boston"), axis=1)
    closest = [axes.words[i] for i in np.argsort(distances)[1:6]]
    assert [name for name, _ in exponents] == closest
    for name, exponent in exponents:
        assert exponent == pytest.approx(10.0 * distances[axes.ids_of([name])[0]], rel=1e-5)


def test_explain_fewer_dimensions(capsys: pytest.CaptureFixture[str], glove: wv.Embedding) -> None:
    setting = ["--epsilon", "6", "--dims", "25"]
    assert main(["explain", *setting, "--word", "Boston", "--draws", "100", "--full"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for part in ("What happens to 'boston'", "it stays", "█", "in a dense region", "in a sparse region"):
        assert part in shown
    assert "2.09 times those in all dimensions" in shown
    promise = wv.Perturber(wv.Mahalanobis(glove.project(25), 6.0)).guarantee
    assert f"The promise, exactly {' '.join(str(promise).split())} Distances here are" in shown


def test_explain_a_file_counts_and_quotes_nothing(
    vectors: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "notes.txt"
    path.write_text(f"{SECRET}\ntea\n\n", encoding="utf-8")
    arguments = ["explain", "--epsilon", "10", "--embedding", vectors, "--file", str(path)]
    assert main(arguments) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "3 texts of 1 words at the median and 6 at most" in shown
    assert "not for release" in shown
    for word in ("anzibar", "4711", "diabetes"):
        assert word not in shown
    assert main([*arguments, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    worst = facts["guarantee"]["worst_case_exponent"]["upper"]
    facts = facts["file"]
    assert (facts["texts"], facts["words"], facts["not_for_release"]) == (3, 7, True)
    assert facts["worst_case_exponent"] == pytest.approx({"median": worst, "most": 6 * worst})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--word", "qwxzsecret"], "not in the vocabulary"),
        (["--word", "two words"], "not in the vocabulary"),
        (["--file", "absent.txt"], "absent.txt: No such file"),
        (["--word", "boston", "--draws", "0"], "--draws must be"),
        (["--epsilon", "-1"], "finite and positive"),
    ],
)
def test_explain_refuses(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--epsilon", "10", "--dims", "5", *arguments]) == 2
    seen = capsys.readouterr().err
    assert message in seen
    assert "qwxzsecret" not in seen


@pytest.mark.parametrize("content", [b"", b"ok\n\xff\n"])
def test_explain_refuses_bad_files(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "f.txt").write_bytes(content)
    assert main(["explain", "--epsilon", "10", "--dims", "5", "--file", str(tmp_path / "f.txt")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_show_noise(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show-noise", "--epsilon", "3", "--out", str(tmp_path / "n.svg"), "--word", "tea"]) == 0
    assert (tmp_path / "n.svg").read_bytes().startswith(b"<?xml")
    capsys.readouterr()
    for options in (
        ["--out", str(tmp_path / "n.pdf")],
        ["--out", str(tmp_path / "n.png"), "--word", "qwxz"],
        ["--out", str(tmp_path / "n.png"), "--lam", "2"],
    ):
        assert main(["show-noise", "--epsilon", "3", *options]) == 2
        assert capsys.readouterr().err.count("\n") == 1
