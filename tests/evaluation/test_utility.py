import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordveil as wv
from wordveil.evaluation import classifiers
from wordveil.evaluation.classifiers import Fits, classify
from wordveil.evaluation.datasets import LabelledTexts, load_labelled
from wordveil.evaluation.student import half_width
from wordveil.evaluation.utility import OVERLAP, Utility, UtilityGrid, _split, utility, utility_claims

SPAM = ["free money win now", "win free prize now", "money prize free call", "call now free win"]
HAM = ["see you at home", "dinner at home tonight", "are you home", "see you tonight at dinner"]


def data(copies: int = 15) -> LabelledTexts:
    return LabelledTexts(
        "synthetic", (SPAM + HAM) * copies, ([True] * 4 + [False] * 4) * copies, "spam", "ham"
    )


@pytest.mark.parametrize("name", ["fasttext", "bow", "embeddings"])
def test_each_classifier_learns_what_is_easy(name: Any, glove: wv.Embedding) -> None:
    easy = data()
    test = ["free prize money", "you are at home", ""]
    predicted = classify(name, easy.texts, np.array(easy.labels), test, glove, Fits())
    assert predicted[:2].tolist() == [True, False]
    assert predicted.dtype == bool
    assert len(predicted) == 3


def test_a_fit_that_ends_with_a_nan_is_repeated_and_counted(tmp_path: Path) -> None:
    """A stand-in for the process ends three times as after a NaN, then succeeds."""
    count = tmp_path / "count"
    script = (
        "import sys; from pathlib import Path; p = Path(sys.argv[1]); n = len(p.read_text()) if p.exists() else 0; "
        "p.write_text('x' * (n + 1)); n >= 3 or sys.exit(3); print('10', end='')"
    )
    fits = Fits()
    assert classifiers._fit_and_predict([sys.executable, "-c", script, str(count)], b"", fits).tolist() == [
        True,
        False,
    ]
    assert fits.failed == 3
    for code in (3, 1):
        with pytest.raises(wv.MachineError, match="could not be fitted"):
            classifiers._fit_and_predict([sys.executable, "-c", f"raise SystemExit({code})"], b"", Fits())


def test_little_noise_keeps_accuracy_and_much_noise_does_not(glove: wv.Embedding) -> None:
    grid = UtilityGrid((0.5, 200.0), (0.0, 1.0), repetitions=4)
    result = utility(data(), glove.project(25), grid)
    assert result.scores.shape == (2, 2, 4, 6)
    accuracy = result.scores[..., 0].mean(axis=2)
    assert (accuracy[:, 1] == 1.0).all()
    assert (accuracy[:, 0] < 0.8).all()
    assert (result.clean == 1.0).all()
    rises, same = utility_claims(result)
    assert rises.holds
    assert same.holds is not False
    again = utility(data(), glove.project(25), grid)
    assert (again.scores == result.scores).all()
    clean = utility(data(), glove.project(25), UtilityGrid((0.5,), (1.0,), 2, test="clean"))
    assert clean.scores.shape == (1, 1, 2, 6)


def test_a_difference_between_lams_is_found() -> None:
    random = np.random.default_rng(1)
    scores = 0.8 + 0.01 * random.normal(size=(2, 2, 8, 6))
    scores[1] += 0.1
    grid = UtilityGrid((1.0, 5.0), (0.0, 1.0), 8)
    clean = np.full((8, 6), 0.95)
    verdicts = utility_claims(Utility(grid, scores, clean, 0.6), ("spam", "ham"))
    assert [verdict.holds for verdict in verdicts[1:]] == [False, False, False]
    assert "recall of spam" in verdicts[2].claim
    verdicts = utility_claims(Utility(grid, scores + 0.2, clean, 0.6), ("spam", "ham"))
    assert [verdict.holds for verdict in verdicts[2:]] == [True, True]
    scores[1] = scores[0] + 0.1  # the same in every repetition, so without any variance
    assert utility_claims(Utility(grid, scores, clean, 0.6))[1].holds is False


def test_a_difference_of_a_lam_in_the_middle_is_found() -> None:
    scores = 0.8 + 0.001 * np.random.default_rng(1).normal(size=(3, 1, 8, 6))
    grid = UtilityGrid((5.0,), (0.0, 0.5, 1.0), 8)
    assert utility_claims(Utility(grid, scores, np.full((8, 6), 0.95), 0.6))[1].holds is True
    scores[1] -= 0.1
    assert utility_claims(Utility(grid, scores, np.full((8, 6), 0.95), 0.6))[1].holds is False


def test_wide_intervals_are_undecided() -> None:
    scores = 0.8 + 0.1 * np.random.default_rng(1).normal(size=(2, 1, 3, 6))
    result = Utility(UtilityGrid((5.0,), (0.0, 1.0), 3), scores, np.full((3, 6), 0.95), 0.6)
    assert utility_claims(result)[1].holds is None


def test_a_classifier_that_has_not_learnt_decides_nothing() -> None:
    grid = UtilityGrid((1.0, 5.0), (0.0, 1.0), 3)
    result = Utility(grid, np.full((2, 2, 3, 6), 0.866), np.full((3, 6), 0.866), 0.866)
    verdicts = utility_claims(result, ("spam", "ham"))
    assert [verdict.holds for verdict in verdicts] == [None] * 4
    assert "does not beat the more frequent label (0.866)" in verdicts[0].found


def test_what_cannot_be_tested_is_undecided() -> None:
    for shape, grid in (
        ((1, 2, 8, 6), UtilityGrid((1.0, 5.0), (0.0,), 8)),
        ((2, 2, 2, 6), UtilityGrid((1.0, 5.0), (0.0, 1.0), 2)),
    ):
        result = Utility(grid, np.full(shape, 0.5), np.full((shape[2], 6), 0.9), 0.6)
        assert utility_claims(result)[1].holds is None
    grid = UtilityGrid((1.0,), (0.0, 1.0), 8)
    single = Utility(grid, np.full((2, 1, 8, 6), 0.5), np.full((8, 6), 0.9), 0.6)
    assert utility_claims(single)[0].holds is None


def test_splits_are_stratified() -> None:
    labels = np.array([True] * 30 + [False] * 70)
    train, test = _split(labels, 3, 0)
    assert sorted([*train, *test]) == list(range(100))
    assert (labels[train].sum(), len(train)) == (21, 70)
    for other in ((4, 0), (3, 1), (0, 3)):
        assert not (train[:20] == _split(labels, *other)[0][:20]).all()


def test_the_two_data_sets_of_the_paper_are_recognised(tmp_path: Path) -> None:
    (tmp_path / "sms.tsv").write_text('ham\tsee "you\nspam\twin, now\nham\tok\n' * 4)
    sms = load_labelled(tmp_path / "sms.tsv")
    assert (sms.texts[:3], sms.labels[:3]) == (['see "you', "win, now", "ok"], [False, True, False])
    assert sms.positive == "spam"
    rows = '1,,,"fire, now",1\n2,,,lovely day,0\n' * 4
    (tmp_path / "t.csv").write_text(f"id,keyword,location,text,target\n{rows}")
    tweets = load_labelled(tmp_path / "t.csv")
    assert (tweets.texts[:2], tweets.labels[:2]) == (["fire, now", "lovely day"], [True, False])
    assert tweets.positive == "1"
    (tmp_path / "any.jsonl").write_text('{"m": "a", "y": 0}\n{"m": "b", "y": 1}\n{"m": null, "y": 0}\n' * 4)
    other = load_labelled(tmp_path / "any.jsonl", "m", "y")
    assert (other.texts[:3], other.labels[:3], other.positive) == (["a", "b", ""], [False, True, False], "1")
    assert load_labelled(tmp_path / "any.jsonl", "m", "y", "0").labels[:3] == [True, False, True]


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("a,b\n1,2\n", {}, "which columns hold text and label"),
        ("a,b\nx,1\ny,1\n", {"text": "a", "label": "b"}, "must have two labels. It has 1"),
        (
            "a,b\n" + "x,1\ny,2\n" * 4,
            {"text": "a", "label": "b", "positive": "3"},
            "no record has the positive label",
        ),
        ("a,b\nx,1\ny,2\n", {"text": "a", "label": "b"}, "at least 4 records of each label"),
        ("a,b\nx,1\ny,\n", {"text": "a", "label": "b"}, "row 2: has no label"),
        ("a,b\n" + f"x,{'y' * 41}\ny,2\n" * 4, {"text": "a", "label": "b"}, "longer than 40 letters"),
        ("a,b\nx,1\ny,2\n", {"text": "aa", "label": "b"}, "has no column 'aa'"),
    ],
)
def test_bad_data(content: str, options: dict[str, str], message: str, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(content)
    with pytest.raises(wv.WordveilError, match=message):
        load_labelled(tmp_path / "in.csv", **options)  # type: ignore[arg-type]  # only texts


def test_real_data(real_data: Path) -> None:
    sms, tweets = load_labelled(real_data / "sms-spam.tsv"), load_labelled(real_data / "disaster-tweets.csv")
    assert (len(sms.texts), sum(sms.labels)) == (5574, 747)
    assert len(tweets.texts) == 7613
    assert 0.42 < sum(tweets.labels) / 7613 < 0.44


@pytest.mark.parametrize(
    "bad",
    [
        {"repetitions": 0},
        {"epsilons": (2.0, 1.0)},
        {"epsilons": (-1.0,)},
        {"lams": (2.0,)},
        {"lams": ()},
        {"seed": -1},
    ],
)
def test_grids_are_checked(bad: dict[str, Any]) -> None:
    with pytest.raises(wv.ParameterError):
        UtilityGrid(**{"epsilons": (1.0,), "lams": (0.0,)} | bad)


def test_texts_without_words_to_learn_from(glove: wv.Embedding) -> None:
    empty = LabelledTexts("synthetic", ["?!"] * 8, [True] * 4 + [False] * 4, "1", "0")
    with pytest.raises(wv.FormatError, match="contain no words"):
        utility(empty, glove, UtilityGrid((1.0,), (0.0,), 2))


def test_intervals_are_honest_where_repetitions_share_the_data() -> None:
    """The corrected interval of a mean accuracy over random splits contains the truth in 95% ± 3% of 400 cases.

    The classifier is fixed, so accuracy on a test part of 300 of 1,000 records has a known mean.
    """
    corrected = uncorrected = 0
    for seed in range(400):
        random = np.random.default_rng(seed)
        correct = random.random(1000) < 0.8
        accuracies = np.array([correct[random.permutation(1000)[:300]].mean() for _ in range(5)])
        corrected += abs(accuracies.mean() - 0.8) <= half_width(accuracies, OVERLAP)
        uncorrected += abs(accuracies.mean() - 0.8) <= half_width(accuracies)
    assert 0.92 <= corrected / 400 <= 0.98
    assert uncorrected / 400 < 0.9
