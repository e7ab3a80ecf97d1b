"""Scores are kept without any text, readable by their owner only, and only used where they belong."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import wordveil as wv
from wordveil.evaluation import make_grid, utility, utility_experiment
from wordveil.evaluation.classifiers import classify
from wordveil.evaluation.utility_cache import ScoreCache

TEXTS = ["win zanzibar money now", "dinner at home tonight"] * 10
LABELS = ["spam", "ham"] * 10


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The classifiers that were fitted."""
    fitted: list[str] = []
    real = classify

    def counted(classifier: Any, *arguments: Any) -> Any:
        fitted.append(str(classifier))
        return real(classifier, *arguments)

    monkeypatch.setattr(utility_experiment, "classify", counted)
    return fitted


def run(small: wv.Embedding, folder: Path, **options: Any) -> wv.evaluation.UtilityResult:
    epsilons = options.pop("epsilons", [5.0, 10.0])
    texts = options.pop("texts", TEXTS)
    chosen: dict[str, Any] = {"repetitions": 2, "cache": folder} | options
    return utility((texts, LABELS), make_grid(small, epsilons, [0.0]), **chosen)


def test_a_second_call_uses_what_was_kept(small: wv.Embedding, tmp_path: Path, fits: list[str]) -> None:
    first = run(small, tmp_path)
    assert len(fits) == 2 * (1 + 2)
    assert run(small, tmp_path) == first
    assert len(fits) == 6
    run(small, tmp_path, epsilons=[5.0, 10.0, 20.0])
    assert len(fits) == 8
    assert run(small, tmp_path, tested_on=["clean"]).settings["tested_on"] == ["clean"]
    assert len(fits) == 8


@pytest.mark.parametrize(
    "changed",
    [
        {"seed": 1},
        {"texts": [*TEXTS[:-1], "dinner at home today"]},
        {"classifier": "embeddings"},
        {"cache": False},
    ],
)
def test_what_changes_a_score_changes_the_key(
    small: wv.Embedding, tmp_path: Path, fits: list[str], changed: dict[str, Any]
) -> None:
    run(small, tmp_path)
    run(small, tmp_path, **changed)
    assert len(fits) == 12


def test_a_stopped_call_continues(small: wv.Embedding, tmp_path: Path, fits: list[str]) -> None:
    def stop(done: int, total: int) -> None:
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(small, tmp_path, watch=stop)
    assert len(fits) == 4
    resumed = run(small, tmp_path)
    assert len(fits) == 6
    assert resumed == run(small, tmp_path, cache=False)


def test_a_damaged_file_is_computed_again(small: wv.Embedding, tmp_path: Path, fits: list[str]) -> None:
    first = run(small, tmp_path)
    files = sorted(tmp_path.glob("*.json"))
    for path, content in zip(files, (b"torn", b"{}", b'{"clean": [[9, 9, 9]], "private": 1}'), strict=False):
        path.write_bytes(content)
    assert run(small, tmp_path) == first
    assert len(fits) == 9


def test_nothing_that_is_kept_reveals_a_text(small: wv.Embedding, tmp_path: Path) -> None:
    folder = tmp_path / "scores"
    run(small, folder)
    assert folder.stat().st_mode & 0o777 == 0o700
    paths = list(folder.iterdir())
    assert len(paths) == 7
    secret = (folder / "key").read_bytes()
    assert len(secret) == 32
    for path in paths:
        assert path.stat().st_mode & 0o777 == 0o600
        content = path.read_bytes()
        for word in ("zanzibar", "dinner", "spam", "ham"):
            assert word.encode() not in content
        if path.suffix == ".json":
            assert all(
                isinstance(n, int) for cells in json.loads(content).values() for cell in cells for n in cell
            )
    # Whoever guesses the texts needs the key to check the guess.
    cache = ScoreCache(folder, TEXTS + LABELS, 2)
    other = ScoreCache(tmp_path / "other", TEXTS + LABELS, 2)
    assert cache._path({}) != folder / other._path({}).name
    assert hashlib.blake2b(b"", digest_size=32).digest() != cache._texts


def test_a_folder_or_key_that_others_can_read_is_not_used(
    small: wv.Embedding, tmp_path: Path, fits: list[str]
) -> None:
    run(small, tmp_path)
    (tmp_path / "key").chmod(0o644)
    run(small, tmp_path)
    assert len(fits) == 12


def test_estimators_are_told_apart(small: wv.Embedding, tmp_path: Path, fits: list[str]) -> None:
    from sklearn.feature_extraction.text import CountVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline

    for strength in (1.0, 1.0, 2.0):
        own = make_pipeline(CountVectorizer(), LogisticRegression(C=strength))
        run(small, tmp_path, classifier=own)
    assert len(fits) == 12
    for _ in range(2):  # a function can't be told from another one, so nothing is kept
        run(
            small,
            tmp_path,
            classifier=make_pipeline(CountVectorizer(analyzer=str.split), LogisticRegression()),
        )
    assert len(fits) == 24
