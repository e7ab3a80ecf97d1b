"""A user's own mechanism (examples/softened.py) works everywhere, with no change to wordveil."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats

import wordveil as wv
from wordveil.mechanisms import registry
from wordveil.runs import run as run_module

EXAMPLES = Path(__file__).parents[2] / "examples"
ROWS = 4000


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The class of the example, importable here and in every child process; registered for one test."""
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(EXAMPLES), os.environ.get("PYTHONPATH", "")]))
    import softened

    return wv.register_mechanism(softened.Softened)  # as it did itself, if an earlier test imported it


def write_rows(path: Path) -> Path:
    path.write_text("n,m\n" + "".join(f"{i},tea at noon zanzibar\n" for i in range(ROWS)))
    return path


def test_its_distribution(own: Any, small: wv.Embedding) -> None:
    """Chi-square, n = 50,000, α = 1e-6."""
    mechanism = own(small, 2.0)
    answers = mechanism.perturb_ids(np.zeros(50_000, dtype=int))
    distances = np.linalg.norm(small.vectors.astype(float) - small.vectors[0], axis=1)
    weights = np.exp(-distances) / np.exp(-distances).sum()
    counts = np.bincount(answers, minlength=len(small))
    assert scipy.stats.chisquare(counts, weights * len(answers)).pvalue > 1e-6


def test_perturber_and_repr(own: Any, small: wv.Embedding) -> None:
    perturber = wv.Perturber(own(small, 2.0, 0.5), wv.Policy(pad_to=4))
    assert len(perturber("tea at noon").split()) == 4
    assert repr(perturber.mechanism).startswith("Softened(epsilon=2.0, sharpness=0.5, Embedding(")
    assert "ε = 2 per unit of Euclidean distance" in str(perturber.guarantee)
    again = pickle.loads(pickle.dumps(perturber))
    assert again.fingerprint == perturber.fingerprint
    assert wv.Perturber(own(small, 2.0, 0.4), wv.Policy(pad_to=4)).fingerprint != perturber.fingerprint


def test_a_file_with_its_manifest_and_the_ledger(own: Any, small: wv.Embedding, tmp_path: Path) -> None:
    source, ledger = write_rows(tmp_path / "in.csv"), wv.Ledger(tmp_path / "ledger.sqlite")
    options: dict[str, Any] = {"text": "m", "keep": "n", "ledger": ledger}
    run = wv.perturb_file(source, tmp_path / "a.csv", perturber=wv.Perturber(own(small, 2.0, 0.5)), **options)
    facts = json.loads(run.manifest.read_text())
    assert facts["parameters"] == {"mechanism": "softened", "epsilon": 2.0, "sharpness": 0.5, "dims": 3}
    assert facts["guarantee"]["epsilon"] == 2.0
    other = wv.Perturber(own(small, 3.0))
    with pytest.raises(wv.ParameterError, match="perturbed before, once"):
        wv.perturb_file(source, tmp_path / "b.csv", perturber=other, **options)
    with pytest.warns(wv.PrivacyWarning, match=r"one release at ε = 2 \+ 3 = 5 would"):
        wv.perturb_file(source, tmp_path / "b.csv", perturber=other, again=True, **options)
    assert [entry.setting["parameters"]["sharpness"] for entry in ledger.entries()] == [0.5, 1.0]
    mixed = wv.Perturber(wv.Mahalanobis(small, 1.0, 1.0))
    with pytest.warns(wv.PrivacyWarning, match="exponents add up, each by its own rule"):
        wv.perturb_file(source, tmp_path / "c.csv", perturber=mixed, again=True, **options)


STOPPED = """
import sys, wordveil as wv, softened
from wordveil.runs import run
run._COMMIT_SECONDS = 0.0
emb = wv.load_embedding().project(3)
wv.perturb_file(
    sys.argv[1], sys.argv[2], perturber=wv.Perturber(softened.Softened(emb, 2.0, 0.5)), text="m", keep="n"
)
"""


def test_killed_and_resumed(own: Any, tmp_path: Path, glove: wv.Embedding) -> None:
    """Killed by SIGKILL halfway: it is resumed with the same setting, and refused with any other."""
    source, target = write_rows(tmp_path / "in.csv"), tmp_path / "out.csv"
    child = subprocess.Popen([sys.executable, "-c", STOPPED, source, target], env=os.environ)
    journal = tmp_path / ".out.csv.wordveil" / "journal"
    deadline = time.monotonic() + 120
    while not (journal.exists() and journal.read_text().count("\n") >= 3):
        assert child.poll() is None, "it finished before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.005)
    child.send_signal(signal.SIGKILL)
    child.wait()
    embedding = glove.project(3)
    options: dict[str, Any] = {"text": "m", "keep": "n", "resume": True}
    for epsilon, sharpness in ((2.0, 0.25), (1.0, 0.5)):
        changed = wv.Perturber(own(embedding, epsilon, sharpness))
        with pytest.raises(wv.ParameterError, match="had a different input or different settings"):
            wv.perturb_file(source, target, perturber=changed, **options)
    run = wv.perturb_file(source, target, perturber=wv.Perturber(own(embedding, 2.0, 0.5)), **options)
    assert 0 < run.resumed_rows < run.rows == ROWS
    lines = run.output.read_text().splitlines()[1:]
    assert [int(line.split(",")[0]) for line in lines] == list(range(ROWS))


def test_one_key_at_two_settings_shares_no_noise(own: Any, small: wv.Embedding, tmp_path: Path) -> None:
    source, outputs = write_rows(tmp_path / "in.csv"), []
    for number, sharpness in enumerate((0.5, 0.5, 0.500001)):
        perturber = wv.Perturber(own(small, 1.0, sharpness))
        run = wv.perturb_file(
            source, tmp_path / f"{number}.csv", perturber=perturber, text="m", key=wv.insecure_key(1)
        )
        outputs.append(run.output.read_text().split())
    assert outputs[0] == outputs[1]
    agreement = np.mean([a == b for a, b in zip(outputs[0], outputs[2], strict=True)])
    assert agreement < 0.5  # with the same noise, nearly all would agree


def test_parameters_that_are_not_json_are_refused(own: Any, small: wv.Embedding) -> None:
    class Odd(own):  # type: ignore[misc]  # a class that is only known at run time
        def parameters(self) -> dict[str, Any]:
            return {"epsilon": float("nan")}

    with pytest.raises(wv.ParameterError, match=r"Odd\.parameters\(\) must return finite numbers"):
        Odd(small, 1.0).setting()


SPARK = """
import sys, softened, wordveil as wv
from wordveil.engines import engine_maker
perturber = wv.Perturber(softened.Softened(wv.load_embedding().project(3), 1.0, 0.5))
for name in ("local", "spark"):
    wv.perturb_file(
        sys.argv[1], f"{sys.argv[2]}/{name}.csv", perturber=perturber, text="m", key=wv.insecure_key(1),
        engine=engine_maker(name),
    )
"""


@pytest.mark.spark
def test_spark_gives_the_answers_of_the_threads(own: Any, tmp_path: Path) -> None:
    """In a process of its own: the Java of another test has started with another PYTHONPATH."""
    source = write_rows(tmp_path / "in.csv")
    subprocess.run([sys.executable, "-c", SPARK, source, tmp_path], check=True)
    outputs = [(tmp_path / f"{name}.csv").read_bytes() for name in ("local", "spark")]
    assert outputs[0] == outputs[1]
    assert outputs[0].count(b"\n") == ROWS + 1


def test_the_constant_that_a_child_sets_exists() -> None:
    """The child process above sets it by name."""
    assert run_module._COMMIT_SECONDS > 0.0
