"""Linkage by tf-idf on the SMS, against a short script of its own."""

import math
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import wordveil as wv
from wordveil.evaluation.attacks_linkage import observe, ranked, tfidf_scores
from wordveil.evaluation.datasets import load_labelled


def script(originals: list[list[str]], outputs: list[list[str]]) -> list[float]:
    """Return for each output the chance that its original comes first, by tf-idf with plain dictionaries."""
    df = Counter(word for text in originals for word in set(text))
    idf = {word: math.log((1 + len(originals)) / (1 + count)) + 1 for word, count in df.items()}

    def vector(text: list[str]) -> dict[str, float]:
        raw = {word: count * idf[word] for word, count in Counter(text).items() if word in idf}
        length = math.sqrt(sum(value * value for value in raw.values())) or 1.0
        return {word: value / length for word, value in raw.items()}

    known = [vector(text) for text in originals]
    chances = []
    for number, output in enumerate(outputs):
        seen = vector(output)
        scores = [sum(value * other.get(word, 0.0) for word, value in seen.items()) for other in known]
        best = max(scores)
        first = [i for i, score in enumerate(scores) if score > best - 1e-9]
        chances.append(1.0 / len(first) if number in first else 0.0)
    return chances


@pytest.mark.parametrize("epsilon", [6.0, 9.0])
def test_tf_idf_agrees_with_a_script(glove: wv.Embedding, real_data: Path, epsilon: float) -> None:
    """The script gets texts and outputs as strings; they have only letters, so that words end at spaces."""
    messages = load_labelled(real_data / "sms-spam.tsv").texts
    texts = [text for text in messages if re.fullmatch("[A-Za-z ,.!?]*[a-z]{3}[A-Za-z ,.!?]*", text)][:600]
    assert len(texts) == 600
    observed = observe(
        wv.Perturber(wv.Laplace(glove.project(25), epsilon)), texts, 150, wv.insecure_stream(4)
    )
    outputs = [" ".join(glove.words[number] for number in ids) for ids in observed.answers]
    known = set(glove.words)
    originals = [
        [word if word in known else "<unknown>" for word in re.findall("[a-z]+", text.lower())]
        for text in texts
    ]
    ours = ranked("tf-idf", tfidf_scores(observed, len(glove) + 1), np.arange(150), {})[0].success.share
    assert ours == pytest.approx(np.mean(script(originals, [text.split() for text in outputs])), abs=1e-9)
    assert 0.1 < ours < 0.99
