"""Every mechanism of the family in every command that takes one, on files with resuming, and sent to workers."""

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordveil as wv
from wordveil.cli.main import main
from wordveil.engines.transport import SentPerturber
from wordveil.mechanisms import Mechanism
from wordveil.runs import run as run_module

FAMILY: dict[str, dict[str, Any]] = {
    "clustered": {"regions": 2, "share": 0.3},
    "vickrey": {"t": 0.7, "lam": 0.5},
    "exponential": {"lam": 1.0},
    "tem": {"beta": 0.01},
    "custext": {"k": 4, "unsafe_no_uniform_guarantee": True},
}


LABELLED = "message,label\n" + "book a flight,ham\ntea at noon please,spam\n" * 12


@pytest.fixture(params=FAMILY)
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def setting(name: str, vectors: str) -> list[str]:
    options = [f"--option={key}={value}" for key, value in FAMILY[name].items()]
    return ["--embedding", vectors, "--mechanism", name, *options]


@pytest.fixture
def perturber(name: str, small: wv.Embedding) -> wv.Perturber:
    return wv.Perturber(wv.make_mechanism(name, small, 2.0, **FAMILY[name]))


def test_perturb_and_its_manifest(
    name: str, setting: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["perturb", "in.csv", "out.csv", "--text", "message", "--keep", "label", "--epsilon", "2"]
    assert main([*command, *setting]) == 0
    facts = json.loads((folder / "out.csv.manifest.json").read_text())
    assert facts["parameters"]["mechanism"] == name
    assert {key: facts["parameters"][key] for key in FAMILY[name]} == FAMILY[name]
    capsys.readouterr()
    assert main(["explain", "--manifest", "out.csv.manifest.json", *setting[:2]]) == 0
    assert f"the mechanism {name} with ε = 2" in capsys.readouterr().out


def test_explain(name: str, setting: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--epsilon", "2", "--word", "tea", *setting, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["setting"]["mechanism"] == name
    assert main(["explain", "--epsilon", "2", "--full", *setting]) == 0
    assert len(capsys.readouterr().out) < 20_000  # no number of 200 digits


@pytest.mark.parametrize("goal", [("--target-attack", "0.6"), ("--target-unchanged", "0.5")])
def test_calibrate(
    name: str, setting: list[str], goal: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["calibrate", *goal, *setting, "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["setting"]["mechanism"] == name
    assert facts["reached"]["share"] == pytest.approx(float(goal[1]), abs=0.02)


QUICK = ["--draws", "100", "--json"]


def test_experiment_privacy(name: str, setting: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    command = ["experiment", "privacy", "--epsilons", "2,8", "--draws", "5", "--words", "all", "--json"]
    assert main([*command, *setting]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {(row["mechanism"], row["epsilon"]) for row in rows} == {(name, 2.0), (name, 8.0)}
    unchanged = {row["epsilon"]: row["mean"] for row in rows if row["statistic"] == "N_w"}
    assert 0.0 <= unchanged[2.0] < unchanged[8.0] <= 100.0  # in a hundred draws


def test_experiment_utility(
    name: str, setting: list[str], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "texts.csv").write_text(LABELLED)
    texts = [
        "texts.csv",
        "--text",
        "message",
        "--label",
        "label",
        "--positive",
        "spam",
        "--classifier",
        "bow",
    ]
    command = ["experiment", "utility", *texts, "--epsilons", "2,1000", "--repetitions", "2", "--json"]
    assert main([*command, *setting]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    private = [row for row in rows if row["mechanism"] == name]
    assert {row["epsilon"] for row in private} == {2.0, 1000.0}


def test_frontier(name: str, vectors: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["frontier", "--mechanism", name, "--embedding", vectors, "--lams", "0,1"]
    assert main([*command, "--epsilons", "1,4", "--word-draws", "2", *QUICK]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert {(row["mechanism"], row["epsilon"]) for row in rows} == {(name, 1.0), (name, 4.0)}


def test_tune(name: str, vectors: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["tune", "--max-attack", "0.7", "--mechanism", name, "--embedding", vectors, "--lams", "0"]
    assert main([*command, *QUICK]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["kind"] == "tuning"
    assert {row["mechanism"] for row in facts["rows"]} == {name}


def test_mechanisms(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mechanisms", name]) == 0
    shown = capsys.readouterr().out
    assert all(option in shown for option in FAMILY[name])


def test_an_interrupted_file_is_resumed(
    perturber: wv.Perturber, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("n,m\n" + "".join(f"{i},tea at noon zanzibar\n" for i in range(20_000)))
    monkeypatch.setattr(run_module, "_COMMIT_SECONDS", 0.0)
    calls, usual = 0, Mechanism.perturb_ids

    def interrupted(self: Mechanism, ids: Any, **options: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls > 4:
            raise KeyboardInterrupt
        return usual(self, ids, **options)

    arguments: dict[str, Any] = {"perturber": perturber, "text": "m", "keep": "n"}
    with monkeypatch.context() as patch:
        patch.setattr(Mechanism, "perturb_ids", interrupted)
        with pytest.raises(KeyboardInterrupt):
            wv.perturb_file(source, target, **arguments)
    run = wv.perturb_file(source, target, **arguments, resume=True)
    assert 0 < run.resumed_rows < run.rows == 20_000


def test_a_worker_gives_the_same_answers(perturber: wv.Perturber) -> None:
    """As Spark sends it: in bytes, with the vectors, and with numbers that are not computed again."""
    received = pickle.loads(pickle.dumps(SentPerturber(perturber))).perturber
    assert received.fingerprint == perturber.fingerprint
    ids = np.random.default_rng(1).integers(-1, 18, 3000)
    expected, answers = (
        one.mechanism.perturb_ids(ids, stream=wv.insecure_stream(5)) for one in (perturber, received)
    )
    np.testing.assert_array_equal(answers, expected)
