"""Three text classifiers: the two of the paper, and one on mean embeddings (extra `utility`)."""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from wordveil.embedding import Embedding
from wordveil.errors import MachineError, MissingExtraError
from wordveil.evaluation import fasttext_fit
from wordveil.tokens import Tokenizer

__all__ = ["ClassifierName", "Fits", "classify"]

ClassifierName = Literal["fasttext", "bow", "embeddings"]
_MAX_FITS: Final = 20  # with cleared memory no fit has failed so far; this ends a loop that never succeeds
_MAX_ITERATIONS: Final = (
    1000  # scikit-learn's default is 100; a fit that stops before it converges scores worse
)


class Fits:
    """Counts the fits that had to be repeated, because fastText stopped with a NaN."""

    def __init__(self) -> None:
        self.failed = 0


def classify(
    name: ClassifierName,
    train: list[str],
    labels: NDArray[np.bool_],
    test: list[str],
    embedding: Embedding,
    fits: Fits,
) -> NDArray[np.bool_]:
    """Train a classifier on `train` and return its predictions for `test`."""
    match name:
        case "fasttext":
            return _fasttext(train, labels, test, fits)
        case "bow":
            return _bag_of_words(train, labels, test)
        case "embeddings":
            return _mean_embeddings(train, labels, test, embedding)


def _sklearn(load: Callable[[], Any]) -> Any:
    try:
        return load()
    except ImportError:
        raise MissingExtraError("scikit-learn", "utility", "This classifier") from None


def _bag_of_words(train: list[str], labels: NDArray[np.bool_], test: list[str]) -> NDArray[np.bool_]:
    """Classify by word counts and a logistic regression."""

    def load() -> tuple[Any, Any]:
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.linear_model import LogisticRegression

        return CountVectorizer, LogisticRegression

    vectorizer_class, regression = _sklearn(load)
    vectorizer = vectorizer_class(token_pattern=r"\S+", lowercase=False)  # noqa: S106  # not a password
    model = regression(max_iter=_MAX_ITERATIONS).fit(vectorizer.fit_transform(train), labels)
    return np.asarray(model.predict(vectorizer.transform(test)), dtype=bool)


def _mean_embeddings(
    train: list[str], labels: NDArray[np.bool_], test: list[str], embedding: Embedding
) -> NDArray[np.bool_]:
    """Classify by the mean vector of a text's words and a logistic regression."""

    def load() -> Any:
        from sklearn.linear_model import LogisticRegression

        return LogisticRegression

    regression = _sklearn(load)
    tokenizer = Tokenizer(embedding.index)
    model = regression(max_iter=_MAX_ITERATIONS).fit(_means(train, tokenizer, embedding), labels)
    return np.asarray(model.predict(_means(test, tokenizer, embedding)), dtype=bool)


def _means(texts: list[str], tokenizer: Tokenizer, embedding: Embedding) -> NDArray[np.float64]:
    means = np.zeros((len(texts), embedding.dim))
    for row, text in enumerate(texts):
        ids = [number for number in tokenizer.ids(text) if number >= 0]
        if ids:
            means[row] = embedding.vectors[ids].mean(axis=0)
    return means


def _fasttext(train: list[str], labels: NDArray[np.bool_], test: list[str], fits: Fits) -> NDArray[np.bool_]:
    """Classify by fastText's own supervised classifier, on single words."""
    if importlib.util.find_spec("fasttext") is None:
        raise MissingExtraError("fasttext-numpy2", "utility", "The fastText classifier")
    rows = zip(train, labels.tolist(), strict=True)
    labelled = [f"__label__{int(label)} {_line(text)}\n" for text, label in rows]
    texts = fasttext_fit.packed(labelled, [f"{_line(text)}\n" for text in test])
    return _fit_and_predict([sys.executable, "-m", fasttext_fit.__name__], texts, fits)


def _line(text: str) -> str:
    return " ".join(text.split())


def _fit_and_predict(command: list[str], texts: bytes, fits: Fits) -> NDArray[np.bool_]:
    for _ in range(_MAX_FITS):
        # Some fits stop with a NaN because the library does not clear its memory; this makes glibc clear it.
        environment = os.environ | {"MALLOC_PERTURB_": "255"}
        process = subprocess.run(  # noqa: S603  # our own module
            command, input=texts, capture_output=True, check=False, env=environment
        )
        if process.returncode == 0:
            return np.asarray(np.frombuffer(process.stdout, np.uint8) == ord("1"))
        if process.returncode != fasttext_fit.NAN:
            break
        fits.failed += 1
    raise MachineError("fastText could not be fitted: every attempt failed.")
