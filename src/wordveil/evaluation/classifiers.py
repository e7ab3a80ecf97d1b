"""Text classifiers: the two of the paper, one on mean embeddings (extra `utility`), or one of your own."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from wordveil.embedding import Embedding
from wordveil.errors import MachineError, MissingExtraError, ParameterError, sealed
from wordveil.evaluation import fasttext_fit
from wordveil.tokens import Tokenizer

__all__ = ["Classifier", "ClassifierName", "Fits", "check_classifier", "classifier_name", "classify"]

ClassifierName = Literal["fasttext", "bow", "embeddings"]
Classifier = Any
"""One of the names, or an estimator of scikit-learn that takes texts."""
_MAX_FITS: Final = 20  # with cleared memory no fit has failed so far; this ends a loop that never succeeds
_MAX_ITERATIONS: Final = (
    1000  # scikit-learn's default is 100; a fit that stops before it converges scores worse
)

Ints = NDArray[np.int64]


class Fits:
    """Counts the fits that had to be repeated, because fastText stopped with a NaN."""

    def __init__(self) -> None:
        self.failed = 0


def check_classifier(classifier: Classifier, owner: str) -> None:
    """Refuse what is neither the name of a classifier nor something that can fit and predict."""
    if isinstance(classifier, str):
        if classifier not in get_args(ClassifierName):
            names = ", ".join(get_args(ClassifierName))
            raise ParameterError(f"The 'classifier' parameter of {owner} must be one of {names}.")
    elif isinstance(classifier, type) or not all(
        callable(getattr(classifier, name, None)) for name in ("fit", "predict")
    ):
        raise ParameterError(
            f"The 'classifier' parameter of {owner} must be a name, or an estimator with fit and predict."
        )


def classifier_name(classifier: Classifier) -> str:
    """Return what to call a classifier: its name, or its class and the classes of its steps.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import TfidfVectorizer
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import LinearSVC
    >>> classifier_name("bow"), classifier_name(make_pipeline(TfidfVectorizer(), LinearSVC()))
    ('bow', 'TfidfVectorizer, LinearSVC')
    """
    if isinstance(classifier, str):
        return classifier
    steps = getattr(classifier, "steps", [("", classifier)])
    return ", ".join(type(step).__name__ for _, step in steps)


@sealed
def classify(
    classifier: Classifier,
    train: list[str],
    labels: Ints,
    tests: list[list[str]],
    embedding: Embedding,
    fits: Fits,
) -> list[Ints]:
    """Train a classifier on `train` and return its predictions for each list of texts."""
    if not isinstance(classifier, str):
        return _own(classifier, train, labels, tests)
    match classifier:
        case "fasttext":
            return _fasttext(train, labels, tests, fits)
        case "embeddings":
            return _mean_embeddings(train, labels, tests, embedding)
        case _:
            return _bag_of_words(train, labels, tests)


def _own(classifier: Any, train: list[str], labels: Ints, tests: list[list[str]]) -> list[Ints]:
    """Train a copy of a user's estimator. Its errors may quote texts, so only their type is shown."""

    def load() -> Any:
        from sklearn.base import clone

        return clone

    clone = _sklearn(load)
    try:
        model = clone(classifier, safe=False).fit(train, labels)
        predicted = [np.asarray(model.predict(test)) for test in tests]
    except Exception as error:
        raise ParameterError(
            f"The classifier can't learn from texts ({type(error).__name__}). Hint: a pipeline that begins "
            "with a vectorizer, such as make_pipeline(TfidfVectorizer(), LinearSVC())."
        ) from None
    known = np.unique(labels)
    for answers, test in zip(predicted, tests, strict=True):
        if answers.shape != (len(test),) or not np.isin(answers, known).all():
            raise ParameterError("The classifier must predict one of the labels for each text.")
    return [answers.astype(np.int64) for answers in predicted]


def _sklearn(load: Callable[[], Any]) -> Any:
    try:
        return load()
    except ImportError:
        raise MissingExtraError("scikit-learn", "utility", "This classifier") from None


def _bag_of_words(train: list[str], labels: Ints, tests: list[list[str]]) -> list[Ints]:
    """Classify by word counts and a logistic regression."""

    def load() -> tuple[Any, Any]:
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.linear_model import LogisticRegression

        return CountVectorizer, LogisticRegression

    vectorizer_class, regression = _sklearn(load)
    vectorizer = vectorizer_class(token_pattern=r"\S+", lowercase=False)  # noqa: S106  # not a password
    model = regression(max_iter=_MAX_ITERATIONS).fit(vectorizer.fit_transform(train), labels)
    return [np.asarray(model.predict(vectorizer.transform(test)), dtype=np.int64) for test in tests]


def _mean_embeddings(
    train: list[str], labels: Ints, tests: list[list[str]], embedding: Embedding
) -> list[Ints]:
    """Classify by the mean vector of a text's words and a logistic regression."""

    def load() -> Any:
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression

    regression = _sklearn(load)
    tokenizer = Tokenizer(embedding.index)
    model = regression(max_iter=_MAX_ITERATIONS).fit(_means(train, tokenizer, embedding), labels)
    return [np.asarray(model.predict(_means(test, tokenizer, embedding)), dtype=np.int64) for test in tests]


def _means(texts: list[str], tokenizer: Tokenizer, embedding: Embedding) -> NDArray[np.float64]:
    means = np.zeros((len(texts), embedding.dim))
    for row, text in enumerate(texts):
        ids = [number for number in tokenizer.ids(text) if number >= 0]
        if ids:
            means[row] = embedding.vectors[ids].mean(axis=0)
    return means


def _fasttext(train: list[str], labels: Ints, tests: list[list[str]], fits: Fits) -> list[Ints]:
    """Classify by fastText's own supervised classifier, on single words."""
    if importlib.util.find_spec("fasttext") is None:
        raise MissingExtraError("fasttext-numpy2", "utility", "The fastText classifier")
    rows = zip(train, labels.tolist(), strict=True)
    labelled = [f"{fasttext_fit.LABEL}{label} {_line(text)}\n" for text, label in rows]
    texts = fasttext_fit.packed(labelled, [f"{_line(text)}\n" for test in tests for text in test])
    predicted = _fit_and_predict([sys.executable, "-m", fasttext_fit.__name__], texts, fits)
    predicted[predicted < 0] = np.bincount(labels).argmax()
    return np.split(predicted, np.cumsum([len(test) for test in tests])[:-1])


def _line(text: str) -> str:
    return " ".join(text.split())


def _fit_and_predict(command: list[str], texts: bytes, fits: Fits) -> Ints:
    for _ in range(_MAX_FITS):
        # Some fits stop with a NaN because the library does not clear its memory; this makes glibc clear it.
        environment = os.environ | {"MALLOC_PERTURB_": "255"}
        process = subprocess.run(  # noqa: S603  # our own module
            command, input=texts, capture_output=True, check=False, env=environment
        )
        if process.returncode == 0:
            return np.array(process.stdout.split(), dtype=np.int64)
        if process.returncode != fasttext_fit.NAN:
            break
        fits.failed += 1
    raise MachineError("fastText could not be fitted: every attempt failed.")
