"""Private Docs from a spaCy pipeline: python examples/spacy_pipeline.py."""

import csv
from pathlib import Path

import spacy

if __name__ == "__main__":
    with (Path(__file__).parent / "messages.csv").open(encoding="utf-8", newline="") as file:
        rows = [(row["message"], row["label"]) for row in csv.DictReader(file)]
    nlp = spacy.blank("en")
    nlp.add_pipe("wordveil", config={"profile": "balanced"}, first=True)
    nlp.add_pipe("sentencizer")
    docs = list(nlp.pipe(rows, as_tuples=True))
    print(len(docs), docs[0][1], docs[0][0].text)
