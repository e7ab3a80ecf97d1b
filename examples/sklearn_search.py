"""Choose a setting by how well a classifier works on private text: python examples/sklearn_search.py."""

import csv
from pathlib import Path

from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline

import wordveil as wv

if __name__ == "__main__":
    with (Path(__file__).parent / "messages.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    model = Pipeline(
        [
            ("private", wv.sklearn.PerturbTransformer(epsilon=6.0, lam=0.0, dims=10)),
            ("words", TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4))),
            ("is_spam", LogisticRegression(C=10.0, class_weight="balanced")),
        ]
    )
    # Every fold of every setting perturbs the texts again. That is harmless as long as nobody else sees the
    # results: the scores are functions of the clean texts, so choose on public texts if they are published.
    settings = {"private__epsilon": [2.0, 6.0], "private__dims": [10, 20]}
    search = GridSearchCV(model, settings, n_jobs=2, cv=3, scoring="roc_auc")
    search.fit([row["message"] for row in rows], [row["label"] == "spam" for row in rows])
    for parameters, score in zip(
        search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True
    ):
        print(f"{score:.2f}", {name.removeprefix("private__"): value for name, value in parameters.items()})
