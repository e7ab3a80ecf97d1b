"""scikit-learn: what joblib's Memory would write, and why `PerturbTransformer` refuses to run below it."""

import pickle
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from joblib import Memory, Parallel, delayed
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer

import wordveil as wv

from .checks import SECRET, TEXT, check_distinct, check_no_secret, files_under

TEXTS = [TEXT, f"{TEXT} now", f"red {TEXT}", "tea at noon", "the red house is on fire", "call me now"]

CACHED = {
    "alone": lambda step, cache: Pipeline([("private", step), ("words", CountVectorizer())], memory=cache),
    "inside of columns, in other processes": lambda step, cache: Pipeline(
        [
            ("columns", ColumnTransformer([("a", step, [0]), ("b", clone(step), [1])], n_jobs=2)),
            ("first", FunctionTransformer(first_column)),
            ("words", CountVectorizer()),
        ],
        memory=cache,
    ),
}


def lower(texts: Any) -> Any:
    return np.array([[text.lower() for text in row] for row in texts], dtype=object)


def first_column(texts: Any) -> Any:
    return texts[:, 0]


@pytest.mark.parametrize("name", CACHED)
def test_a_cached_pipeline_is_refused_before_it_writes(name: str, transformer: Any, tmp_path: Path) -> None:
    model = CACHED[name](transformer, str(tmp_path))
    texts = TEXTS if name == "alone" else [[text, text] for text in TEXTS]
    with pytest.raises(wv.ParameterError, match="memory=None"):
        model.fit(np.array(texts, dtype=object))
    check_no_secret(tmp_path)


LAST: dict[str, Callable[[Any], Any]] = {
    "alone": lambda step: step,
    "in a pipeline": make_pipeline,
    "in columns, in other processes": lambda step: ColumnTransformer(
        [("a", step, [0]), ("b", clone(step), [1])], n_jobs=2
    ),
}


@pytest.mark.parametrize("name", LAST)
@pytest.mark.parametrize("is_nested", [False, True])
def test_the_last_step_of_a_cached_pipeline_is_refused(
    name: str, is_nested: bool, transformer: Any, tmp_path: Path
) -> None:
    """It is not cached itself, but the steps before it are, whose output has the texts."""
    cached = make_pipeline(FunctionTransformer(lower), LAST[name](transformer), memory=str(tmp_path))
    model = make_pipeline(cached, CountVectorizer()) if is_nested else cached
    with pytest.raises((wv.ParameterError, pickle.PicklingError)) as caught:
        model.fit_transform(np.array([[text, text] for text in TEXTS], dtype=object))
    assert "delete its folder" in f"{caught.value} {caught.value.__cause__}"
    with pytest.raises(AssertionError):
        check_no_secret(tmp_path)  # docs/integrations/sklearn.md says so
    cached.set_params(memory=Memory(None)).fit_transform(np.array([[TEXT, TEXT]], dtype=object))


def test_a_cached_function_is_refused(transformer: Any, tmp_path: Path) -> None:
    def private(texts: list[str]) -> Any:
        return transformer.transform(texts)

    with pytest.raises(wv.ParameterError, match="memory=None"):
        Memory(tmp_path, verbose=0).cache(private)(TEXTS)
    check_no_secret(tmp_path)


@pytest.mark.filterwarnings("ignore::wordveil.PrivacyWarning")
def test_clean_texts_in_a_cached_function_are_refused(transformer: Any, tmp_path: Path) -> None:
    def clean(texts: list[str]) -> Any:
        return fitted.transform(texts)

    fitted = transformer.set_params(unsafe_clean_at_predict=True).fit(TEXTS)
    with pytest.raises(wv.ParameterError, match="memory=None"):
        Memory(tmp_path, verbose=0).cache(clean)(TEXTS)
    check_no_secret(tmp_path)


@pytest.mark.parametrize("backend", ["threading", "loky", "multiprocessing"])
def test_a_cached_function_that_runs_in_parallel_is_refused(
    backend: str, transformer: Any, tmp_path: Path
) -> None:
    """Its threads do not have the function on their stacks, and neither has what sends to its processes."""

    def private(texts: list[str]) -> Any:
        calls = [delayed(transformer.fit_transform)(texts) for _ in range(4)]
        return Parallel(n_jobs=2, backend=backend)(calls)

    with pytest.raises((wv.ParameterError, pickle.PicklingError)) as caught:
        Memory(tmp_path, verbose=0).cache(private)(TEXTS)
    assert "memory=None" in f"{caught.value} {caught.value.__cause__}"
    check_no_secret(tmp_path)


def test_parallel_beside_a_cached_function_is_not_refused(transformer: Any, tmp_path: Path) -> None:
    def private(_: int) -> Any:
        with ThreadPoolExecutor(1) as pool:  # it has nothing to do with the cached function
            return pool.submit(transformer.transform, [TEXT]).result()

    calls = [delayed(transformer.transform)([TEXT]) for _ in range(4)]
    check_distinct(answer[0] for answer in Parallel(n_jobs=2, backend="threading")(calls))
    assert len(Memory(tmp_path, verbose=0).cache(private)(7)) == 1  # docs/integrations/sklearn.md says so


def test_without_the_refusal_joblib_writes_texts_and_repeats_noise(
    transformer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Why it is refused. If this fails, joblib has changed, and the refusal may be too strict."""
    monkeypatch.setattr("wordveil.integrations.sklearn._refuse_memory", lambda: None)
    model = CACHED["alone"](transformer, str(tmp_path))
    first = model.fit_transform(TEXTS)
    assert (first != model.fit_transform(TEXTS)).nnz == 0
    leaks = [path for path in files_under(tmp_path) if SECRET.encode() in path.read_bytes()]
    assert [path.name for path in leaks] == ["metadata.json"]
    assert leaks[0].stat().st_mode & 0o044 == 0o044
