"""What wordveil 0.1.0 wrote can still be read. tests/data/0.1.0 was written by it, but for the folder names."""

import json
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

import wordveil as wv
from wordveil.cli.main import main
from wordveil.runs.sums import in_words

DATA = Path(__file__).parents[1] / "data" / "0.1.0"
FINGERPRINT = "2571f9cbe77105e4bc80af56dfbce65f94e807fc4aff9f2326f55bf05fa4d060"


@pytest.fixture
def ledger(tmp_path: Path) -> wv.Ledger:
    path = tmp_path / "ledger.sqlite"
    with closing(sqlite3.connect(path)) as base:
        base.executescript((DATA / "ledger.sql").read_text())
    return wv.Ledger(path)


@pytest.fixture
def embedding() -> wv.Embedding:
    return wv.load_embedding(str(DATA / "store.safetensors"))


def test_a_store(embedding: wv.Embedding) -> None:
    embedding.verify()
    assert embedding.fingerprint == FINGERPRINT
    assert embedding.words[:3] == ("book", "a", "flight")
    np.testing.assert_array_equal(
        embedding.vectors, np.random.default_rng(1).normal(size=(8, 3)).astype(np.float32)
    )


def test_a_ledger(ledger: wv.Ledger) -> None:
    entries = ledger.entries()
    assert [entry.outcome for entry in entries] == ["released", "released"]
    assert [in_words(entry.setting) for entry in entries] == [
        "mahalanobis, ε 2, λ 0.5, dims 3",
        "laplace, ε 3, λ 0, dims 3",
    ]


def test_the_ledger_knows_the_content_again(
    ledger: wv.Ledger, embedding: wv.Embedding, tmp_path: Path
) -> None:
    """0.1.0 did not note whether its noise was secure, so the sum of the promises is void."""
    shutil.copy(DATA / "in.csv", tmp_path / "in.csv")
    perturber = wv.Perturber(wv.Laplace(embedding, 1.0))
    with pytest.raises(
        wv.ParameterError, match=r"perturbed before, 2 times.*promise nothing: release 1 of 3"
    ):
        wv.perturb_file(
            tmp_path / "in.csv", tmp_path / "out.csv", perturber=perturber, text="m", ledger=ledger
        )
    with pytest.warns(wv.PrivacyWarning, match="promise nothing"):
        wv.perturb_file(
            tmp_path / "in.csv",
            tmp_path / "out.csv",
            perturber=perturber,
            text="m",
            ledger=ledger,
            again=True,
        )
    assert [entry.number for entry in ledger.entries()] == [1, 2, 3]


def test_a_manifest_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    path = DATA / "mahalanobis.csv.manifest.json"
    facts = json.loads(path.read_text())
    assert main(["explain", "--manifest", str(path)]) == 0
    text = capsys.readouterr().out
    assert facts["fingerprints"]["vectors"][:16] in text
    assert "ε = 2" in text or "epsilon" in text
