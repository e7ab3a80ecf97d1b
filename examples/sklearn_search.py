"""Choose a setting by how well a classifier works on private text: python examples/sklearn_search.py."""

import csv
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

import wordveil as wv


def mean_vectors(texts: list[str]) -> NDArray[np.float32]:
    """Return the mean of the public vectors of the words of each text: private texts have no other words."""
    vectors = wv.load_embedding()  # loaded once per process
    return np.array([vectors.vectors[vectors.ids_of(text.split())].mean(axis=0) for text in texts])


if __name__ == "__main__":
    with (Path(__file__).parent / "messages.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    model = Pipeline(
        [
            ("private", wv.sklearn.PerturbTransformer(epsilon=6.0, lam=0.0, dims=10)),
            ("vectors", FunctionTransformer(mean_vectors)),
            ("is_spam", LogisticRegression(class_weight="balanced", max_iter=1000)),
        ]
    )
    # Every fold of every setting perturbs the texts again. That is harmless as long as nobody else sees the
    # results: the scores are functions of the clean texts, so choose on public texts if they are published.
    settings = {"private__epsilon": [5.0, 7.0], "private__dims": [10, 20]}
    search = GridSearchCV(model, settings, n_jobs=2, cv=3, scoring="roc_auc")
    search.fit([row["message"] for row in rows], [row["label"] == "spam" for row in rows])
    for parameters, score in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        print(f"{score:.2f}", {name.removeprefix("private__"): value for name, value in parameters.items()})
