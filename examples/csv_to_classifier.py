"""From a CSV file to a classifier that was trained on private text: python examples/csv_to_classifier.py."""

import csv
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

import wordveil as wv

MESSAGES = Path(__file__).parent / "messages.csv"
VECTORS = wv.load_embedding()


def rows_of(path: Path) -> list[dict[str, str]]:
    """Return the rows of a CSV file."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def features(rows: list[dict[str, str]]) -> NDArray[np.float32]:
    """Return the mean of the public vectors of the words of each message."""
    tokens = wv.tokens.Tokenizer(VECTORS.index)
    ids = [[word_id for word_id in tokens.ids(row["message"]) if word_id >= 0] for row in rows]
    return np.array([VECTORS.vectors[known].mean(axis=0) for known in ids])


def labels(rows: list[dict[str, str]]) -> list[str]:
    """Return what is to be learned."""
    return [row["label"] for row in rows]


# 1. A setting. Everything about it is public, and it was chosen before anybody looked at the messages.
perturber = wv.Perturber.from_profile("gentle")

# 2. What it is worth: how often somebody who knows English guesses a word, and what is proven.
print(perturber.exposure().headline)
print(perturber.guarantee.not_covered, "is not covered")

# 3. Part of the messages stays clean, to test with. The rest is made private; after that the clean
#    training messages are not needed any more.
train, test = train_test_split(rows_of(MESSAGES), test_size=0.3, random_state=0)
with tempfile.TemporaryDirectory() as folder:
    source, private = Path(folder, "train.csv"), Path(folder, "private.csv")
    with source.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, ["label", "message"])
        writer.writeheader()
        writer.writerows(train)
    ledger = wv.Ledger(Path(folder, "ledger.sqlite"))
    wv.perturb_file(source, private, perturber=perturber, text="message", keep="label", ledger=ledger)
    private_rows = rows_of(private)
print("first training message is now:", private_rows[0]["message"])

# 4. Two classifiers: one saw the private messages, one the clean ones. Both are asked about clean messages,
#    as when the people who use a classifier keep their messages on their own machine.
for name, training in (("private", private_rows), ("clean", train)):
    model = LogisticRegression(C=10.0, max_iter=1000).fit(features(training), labels(training))
    print(f"trained on {name} text: accuracy {model.score(features(test), labels(test)):.2f}")
print(f"by guessing: accuracy {1 / len({*labels(train)}):.2f}")
