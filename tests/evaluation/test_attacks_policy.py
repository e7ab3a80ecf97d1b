"""Attacks see what the policy releases: what it cuts, what it sorts, and what it hides."""

from pathlib import Path

import pytest

import wordveil as wv
from wordveil.cli.main import main
from wordveil.evaluation.attacks import attack
from wordveil.evaluation.attacks_context import public_model

from .attacked_texts import TEXTS, named

BAG = wv.Policy(pad_to=2, bag=True)


@pytest.fixture(scope="module")
def clear(glove: wv.Embedding) -> wv.Mechanism:
    """Return a mechanism whose noise changes no word."""
    return wv.Laplace(glove.project(10), 1e6)


def test_a_bag_that_is_cut_keeps_a_random_choice_for_the_attacker_too(clear: wv.Mechanism) -> None:
    """Of eight words, two are released, so a watched one is seen in a quarter of the texts, wherever it is.

    The share of 400 texts is within five standard deviations, 0.11, except in about one run of two million.
    """
    texts = ["cancer and then many other words follow here"] * 400 + [
        "the red house is on fire again today"
    ] * 4
    perturber = wv.Perturber(clear, BAG)
    released = perturber.perturb(texts, stream=wv.secure_stream())
    result = attack(
        [perturber], texts, groups=["attributes"], sizes=[404], queries=404, stream=wv.secure_stream()
    )
    recall = named(result.attacks, "answers, recall")
    assert recall.count == 400
    assert recall.success.share == pytest.approx(0.25, abs=0.11)
    assert sum("cancer" in text.split() for text in released) / 400 == pytest.approx(0.25, abs=0.11)


def test_a_watched_word_that_is_cut_off_is_still_in_the_text(clear: wv.Mechanism) -> None:
    texts = ["the red house has cancer", "cancer in the red house", "tea at noon please", "call me now"]
    perturber = wv.Perturber(clear, wv.Policy(pad_to=2))
    result = attack([perturber], texts, groups=["attributes"], sizes=[4], stream=wv.insecure_stream(1))
    assert {a.success.share for a in result.attacks if a.name.endswith("recall")} == {0.5}
    assert {a.null for a in result.attacks if a.name.endswith("precision")} == {0.5}


def test_texts_that_begin_alike_are_told_apart_by_other_words_of_a_bag(clear: wv.Mechanism) -> None:
    names = ("boston", "london", "paris", "berlin", "madrid", "tokyo", "rome", "vienna")
    texts = [f"please call {name} {name} {name} {name} {name} {name}" for name in names]
    perturber = wv.Perturber(clear, BAG)
    options = {"groups": ["linkage", "averaging"], "sizes": [8], "draws": 50, "stream": wv.insecure_stream(1)}
    result = attack([perturber], texts, **options)  # type: ignore[arg-type]
    assert named(result.attacks, "tf-idf, rank 1").success.share > 0.6
    by_releases = result.find("averaging", "linkage by tf-idf, rank 1")
    assert by_releases[-1].success.share == 1.0
    first_words = attack([wv.Perturber(clear, wv.Policy(pad_to=2))], texts, **options)  # type: ignore[arg-type]
    assert named(first_words.attacks, "tf-idf, rank 1").success.share == pytest.approx(1 / 8)


def test_context_is_that_of_the_words_that_are_released(clear: wv.Mechanism) -> None:
    model = public_model(clear.embedding, TEXTS)
    options = {"groups": ["context", "words"], "context": model, "sizes": [10], "draws": 50}
    cut = attack([wv.Perturber(clear, wv.Policy(pad_to=2))], TEXTS, **options)  # type: ignore[arg-type]
    assert named(cut.attacks, "context of the public text").count == 2 * len(TEXTS)
    bag = attack([wv.Perturber(clear, wv.Policy(bag=True))], TEXTS, **options)  # type: ignore[arg-type]
    assert not bag.find("context", "context of the public text")


def test_the_command_has_no_context_for_a_bag(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "in.txt"
    file.write_text("\n".join(TEXTS) + "\n", encoding="utf-8")
    assert main(["attack", str(file), "--epsilon", "6", "--bag", "--context", str(file)]) == 2
    assert "--context needs the order of words" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore::wordveil.PrivacyWarning")
def test_what_is_copied_is_not_attacked(clear: wv.Mechanism) -> None:
    perturber = wv.Perturber(clear, wv.Policy(unsafe_keep=True))
    with pytest.raises(wv.ParameterError, match="must not copy from the text"):
        attack([perturber], TEXTS)
