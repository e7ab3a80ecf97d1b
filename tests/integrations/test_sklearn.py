"""scikit-learn: pipelines, searches and pickles, and what joblib would write."""

import io
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import StackingClassifier
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils import get_tags

import wordveil as wv

from .checks import (
    SECRET,
    TEXT,
    check_answers,
    check_distinct,
    check_pickle,
    run,
)

# All of them are long: two texts of three words often have the same answer, by chance.
LONG = " ".join(["tea at noon", "the red house is on fire", "call me now"] * 5)
TEXTS = [TEXT, f"{TEXT} now", f"red {TEXT}", f"tea {LONG}", f"fire {LONG}", f"call {LONG}"]
LABELS = [1, 1, 1, 0, 0, 0]


def recorder(seen: list[str]) -> Any:
    """Return a step that records the texts that it is given."""

    def record(texts: Any) -> Any:
        seen.extend(texts)
        return texts

    return FunctionTransformer(record)


def test_every_call_draws_anew(transformer: Any) -> None:
    answers = [transformer.transform([TEXT])[0], transformer.fit([TEXT]).transform([TEXT])[0]]
    check_distinct([*answers, *transformer.fit_transform([TEXT, TEXT]), *transformer.transform([TEXT, TEXT])])


def test_processes_draw_different_noise(transformer: Any) -> None:
    for backend in ("loky", "multiprocessing", "threading"):
        transformer.fit_transform([TEXT])  # a stream of this process exists when the others start
        calls = (delayed(transformer.transform)([TEXT]) for _ in range(6))
        answers = Parallel(n_jobs=2, backend=backend)(calls)
        check_distinct(answer[0] for answer in [*answers, transformer.transform([TEXT])])


def test_predict_sees_private_texts(transformer: Any) -> None:
    seen: list[str] = []
    model = make_pipeline(transformer, recorder(seen), CountVectorizer(), LogisticRegression())
    model.fit(TEXTS, LABELS)
    assert len(seen) == 6
    model.predict(TEXTS[:3])
    assert len(seen) == 9
    check_distinct(seen, TEXTS)


def test_clean_texts_at_predict_are_a_choice_that_warns(transformer: Any) -> None:
    seen: list[str] = []
    unsafe = transformer.set_params(unsafe_clean_at_predict=True)
    check_distinct(unsafe.transform([TEXT, TEXT]))  # not fitted yet: nothing says that it was trained
    model = make_pipeline(unsafe, recorder(seen), CountVectorizer(), LogisticRegression())
    with pytest.warns(wv.PrivacyWarning, match="plain pipeline"):
        model.fit(TEXTS, LABELS)
    check_distinct(seen, TEXTS)
    model.predict(TEXTS)
    assert seen[6:] == TEXTS


ENSEMBLES: dict[str, Callable[[Any], Any]] = {
    "stacking": lambda model: StackingClassifier([("a", model)], LogisticRegression(), cv=2),
    "calibration": lambda model: CalibratedClassifierCV(model, cv=2),
    "a tuned threshold": lambda model: TunedThresholdClassifierCV(model, cv=2),
}


@pytest.mark.filterwarnings("ignore::wordveil.PrivacyWarning")
@pytest.mark.parametrize("name", ENSEMBLES)
def test_ensembles_see_their_training_texts_clean_unless_they_are_perturbed_before(
    name: str, transformer: Any
) -> None:
    """docs/integrations/sklearn.md says so."""
    seen: list[str] = []
    transformer.set_params(unsafe_clean_at_predict=True)
    # Weak coefficients: otherwise all predictions can be equal, and then no threshold can be tuned.
    words = CountVectorizer(), LogisticRegression(C=1e-4)
    ENSEMBLES[name](make_pipeline(transformer, recorder(seen), *words)).fit(TEXTS, LABELS)
    assert {*TEXTS} <= {*seen}
    assert len(seen) - sum(text in TEXTS for text in seen) >= 6  # draws of six texts
    seen.clear()
    model = make_pipeline(transformer, ENSEMBLES[name](make_pipeline(recorder(seen), *words)))
    model.fit(TEXTS, LABELS)
    check_distinct({*seen}, TEXTS)
    assert len({*seen}) == 6  # one draw of each
    seen.clear()
    model.predict(TEXTS)
    assert {*seen} == {*TEXTS}


def test_clean_texts_are_chosen_in_fit(transformer: Any) -> None:
    fitted = transformer.fit(TEXTS).set_params(unsafe_clean_at_predict=True)
    check_distinct([*fitted.transform([TEXT, TEXT]), *pickle.loads(pickle.dumps(fitted)).transform([TEXT])])
    with pytest.warns(wv.PrivacyWarning, match="plain pipeline"):
        assert fitted.fit(TEXTS).transform([TEXT])[0] == TEXT
    with pytest.raises(wv.ParameterError):
        fitted.set_params(epsilon=-1.0).fit(TEXTS)
    check_distinct(fitted.set_params(epsilon=0.01).transform([TEXT, TEXT]))  # no fit has warned of it
    check_distinct(clone(fitted).transform([TEXT, TEXT]))


@pytest.mark.parametrize("name", ["fit", "fit_transform"])
def test_warnings_are_at_the_call(name: str, glove: wv.Embedding) -> None:
    weak = wv.sklearn.PerturbTransformer(1e6, embedding=glove, dims=10, unsafe_clean_at_predict=True)
    with pytest.warns(wv.PrivacyWarning) as caught:
        getattr(weak, name)(["book a flight"])
    assert [warning.filename for warning in caught] == [__file__] * 2


def test_names_of_columns_are_known_without_a_fit(transformer: Any) -> None:
    assert list(transformer.get_feature_names_out()) == ["x0"]
    assert list(transformer.get_feature_names_out(["message"])) == ["message"]
    frame = pd.DataFrame({"a": TEXTS, "b": TEXTS})
    assert list(transformer.fit(frame).get_feature_names_out()) == ["a", "b"]


def test_tags(transformer: Any) -> None:
    tags = get_tags(transformer)
    assert tags.input_tags.string
    assert tags.input_tags.one_d_array
    assert not tags.input_tags.two_d_array  # of numbers
    assert tags.input_tags.allow_nan
    assert tags.non_deterministic
    assert not tags.requires_fit


def test_a_clone_shares_the_vectors(glove: wv.Embedding, transformer: Any) -> None:
    assert clone(transformer).embedding is transformer.embedding  # which has no name to load it by
    policy = wv.Policy(pad_to=5)
    original = wv.sklearn.PerturbTransformer(3.0, lam=0.5, dims=20, embedding=glove, policy=policy)
    copy = clone(make_pipeline(original)).steps[0][1]
    assert copy is not original
    assert copy.get_params() == original.get_params()
    assert copy.embedding is glove
    assert copy.perturber is original.perturber
    assert copy.guarantee.to_dict() == original.guarantee.to_dict()


@pytest.mark.parametrize("embedding", [None, "glove-840b-300d"])
def test_a_pickle_has_no_vectors(embedding: str | None) -> None:
    fitted = wv.sklearn.PerturbTransformer(6.0, dims=25, embedding=embedding).fit([TEXT])
    assert fitted.transform([TEXT])[0] != TEXT
    data = pickle.dumps(fitted)
    check_pickle(data, most_bytes=2_000)
    loaded = pickle.loads(data)
    check_distinct([fitted.transform([TEXT])[0], loaded.transform([TEXT])[0]])
    named = wv.sklearn.PerturbTransformer(6.0, embedding=wv.load_embedding())
    check_pickle(pickle.dumps(named), most_bytes=2_000)


def test_other_vectors_than_those_of_the_fit_are_refused(transformer: Any) -> None:
    fitted = pickle.loads(pickle.dumps(transformer.fit(TEXTS)))
    fitted.embedding = wv.load_embedding()
    with pytest.raises(wv.IntegrityError, match="differ from those that it was fitted with"):
        fitted.transform(TEXTS)
    fitted.fit(TEXTS).transform(TEXTS)


def test_columns_of_frames(transformer: Any) -> None:
    frame = pd.DataFrame({"a": TEXTS, "b": [None, float("nan"), pd.NA, TEXT, TEXT, ""], "n": range(6)})
    columns = ColumnTransformer([("text", transformer, ["a", "b"])], verbose_feature_names_out=False)
    private = columns.set_output(transform="pandas").fit_transform(frame)
    assert list(private.columns) == ["a", "b"]
    assert private["b"].isna().tolist() == [True, True, True, False, False, False]
    check_distinct([*private["a"], *private["b"][3:5]], TEXTS)
    polars = columns.set_output(transform="polars").fit_transform(frame)
    assert polars.columns == ["a", "b"]
    assert clone(transformer).fit_transform(frame[["a"]]).columns == ["a"]  # polars still
    transformer.set_output(transform="default").set_params(policy=wv.Policy(pad_to=3))
    padded = transformer.fit_transform(frame["b"])
    assert [len(text.split()) for text in padded] == [3] * 6


def test_text_columns_beside_numbers(transformer: Any) -> None:
    frame = pd.DataFrame({"message": TEXTS, "n": range(6)})
    text = make_pipeline(transformer, CountVectorizer())
    columns = ColumnTransformer([("text", text, "message"), ("n", "passthrough", ["n"])])
    model = make_pipeline(columns, LogisticRegression()).fit(frame, LABELS)
    assert model.predict(frame).shape == (6,)


def test_a_search_over_all_parameters(perturber: wv.Perturber) -> None:
    strong = wv.sklearn.PerturbTransformer(1e9, embedding=perturber.mechanism.embedding)
    model = Pipeline([("private", strong), ("words", CountVectorizer()), ("fit", LogisticRegression())])
    grid = {
        "private__epsilon": [1e-9, 1e9],
        "private__lam": [0.0, 1.0],
        "private__dims": [None, 2],
        "private__mechanism": ["mahalanobis"],
    }
    texts, labels = ["fire now"] * 30 + ["red tea"] * 30, [1] * 30 + [0] * 30
    search = GridSearchCV(model, grid, n_jobs=2, cv=2, error_score="raise").fit(texts, labels)
    assert len(search.cv_results_["params"]) == 8
    assert search.best_params_["private__epsilon"] == 1e9
    assert search.best_score_ == 1.0
    noisy = search.cv_results_["mean_test_score"][search.cv_results_["param_private__epsilon"] == 1e-9]
    assert (noisy < 1).all()  # 60 answers of two random words each


def test_a_search_reaches_every_parameter(perturber: wv.Perturber) -> None:
    def reached(model: Any, texts: Any, labels: Any) -> dict[str, float]:
        """Return what the mechanism of a fitted pipeline has, in the process that fitted it."""
        mechanism = model.steps[0][1].perturber.mechanism
        return {"epsilon": mechanism.epsilon, "lam": mechanism.lam, "dims": mechanism.embedding.dim}

    step = wv.sklearn.PerturbTransformer(1.0, embedding=perturber.mechanism.embedding)
    model = Pipeline([("private", step), ("words", CountVectorizer()), ("fit", LogisticRegression())])
    grid = {"private__epsilon": [2.0, 3.0], "private__lam": [0.0, 1.0], "private__dims": [1, 2]}
    search = GridSearchCV(model, grid, n_jobs=2, cv=2, scoring=reached, refit=False, error_score="raise")
    results = search.fit(TEXTS, LABELS).cv_results_
    for name in ("epsilon", "lam", "dims"):
        assert [*results[f"mean_test_{name}"]] == [row[f"private__{name}"] for row in results["params"]]


def test_a_search_writes_nothing(watched: Path) -> None:
    lines = run(
        """
        from joblib import Parallel, delayed
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import GridSearchCV, TunedThresholdClassifierCV
        from sklearn.pipeline import make_pipeline
        step = wv.sklearn.PerturbTransformer(0.01, embedding=small_perturber().mechanism.embedding)
        model = make_pipeline(step, CountVectorizer(), LogisticRegression())
        texts = [TEXT + " now" * (i % 2) for i in range(2000)]
        grid = {"perturbtransformer__epsilon": [0.01, 0.1]}
        search = GridSearchCV(model, grid, n_jobs=2, cv=2, error_score="raise")
        search.fit(texts, [i % 2 for i in range(2000)])
        for answer in Parallel(n_jobs=2)(delayed(step.transform)([TEXT]) for _ in range(4)):
            print(answer[0])
        """,
        watched,
    )
    check_answers(lines, watched, count=4, least_keys=3)


BAD: list[dict[str, Any]] = [
    {"epsilon": -1.0},
    {"epsilon": [1.0]},
    {"lam": 2.0},
    {"dims": 0},
    {"mechanism": 7},
    {"embedding": 7},
    {"policy": "pad"},
    {"answer": 3},
    {"unsafe_clean_at_predict": "yes"},
]


@pytest.mark.parametrize("parameters", BAD, ids=lambda bad: str(*bad))
def test_bad_parameters(parameters: dict[str, Any], transformer: Any) -> None:
    with pytest.raises(wv.ParameterError, match=rf"'({next(iter(parameters))}|k)'"):
        transformer.set_params(**parameters).fit(TEXTS)


@pytest.mark.parametrize("texts", [TEXT, [1.5], [[[TEXT]]], [b"tea"], 7])
def test_bad_texts(texts: Any, transformer: Any) -> None:
    with pytest.raises(wv.ParameterError) as caught:
        transformer.fit_transform(texts)
    assert SECRET not in str(caught.value)


def test_a_fitted_model_is_small_and_has_no_texts(transformer: Any) -> None:
    file = io.BytesIO()
    pickle.dump(make_pipeline(transformer).fit(TEXTS), file)
    check_pickle(file.getvalue())
