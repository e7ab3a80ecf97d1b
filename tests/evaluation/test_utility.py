"""Classifiers learn from private text: scores, splits, estimators of one's own, and what is kept."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wordveil as wv
from tests.samples import TOPICS
from wordveil.evaluation import classifiers, make_grid, utility
from wordveil.evaluation.classifiers import Fits, classify
from wordveil.evaluation.datasets import LabelledTexts
from wordveil.evaluation.scores import best_constant, interval_of, p_not_better, scores_of
from wordveil.evaluation.student import half_width
from wordveil.evaluation.utility_experiment import OVERLAP, random_split

SPAM = ["free money win now", "win free prize now", "money prize free call", "call now free win"]
HAM = ["see you at home", "dinner at home tonight", "are you home", "see you tonight at dinner"]


def data(copies: int = 15) -> LabelledTexts:
    return LabelledTexts("synthetic", (SPAM + HAM) * copies, (["spam"] * 4 + ["ham"] * 4) * copies)


def questions(copies: int = 12) -> LabelledTexts:
    """Six classes, as in TREC, one of them rare."""
    rows = [
        (f"{words} {other}", topic)
        for other in ("today", "now", "here")
        for topic, words in TOPICS.items()
        for _ in range(copies if topic != "ABBR" else 2)
    ]
    return LabelledTexts("questions", [text for text, _ in rows], [topic for _, topic in rows])


@pytest.fixture(scope="module")
def space(glove: wv.Embedding) -> wv.Embedding:
    return glove.project(25)


@pytest.mark.parametrize("name", ["fasttext", "bow", "embeddings"])
def test_each_classifier_learns_what_is_easy(name: Any, glove: wv.Embedding) -> None:
    for easy, tests in (
        (data(), ["free prize money", "you are at home", ""]),
        (questions(80), ["who actor", "how many", ""]),
    ):
        (predicted,) = classify(name, easy.texts, easy.codes, [tests], glove, Fits())
        expected = {"synthetic": ["spam", "ham"], "questions": ["HUM", "NUM"]}[easy.name]
        assert [easy.classes[code] for code in predicted[:2]] == expected
        assert 0 <= predicted[2] < len(easy.classes)


def test_a_fit_that_ends_with_a_nan_is_repeated_and_counted(tmp_path: Path) -> None:
    """A stand-in for the process ends three times as after a NaN, then succeeds."""
    count = tmp_path / "count"
    script = (
        "import sys; from pathlib import Path; p = Path(sys.argv[1]); n = len(p.read_text()) if p.exists() else 0; "
        "p.write_text('x' * (n + 1)); n >= 3 or sys.exit(3); print('1', '0', '-1')"
    )
    fits = Fits()
    predicted = classifiers._fit_and_predict([sys.executable, "-c", script, str(count)], b"", fits)
    assert predicted.tolist() == [1, 0, -1]
    assert fits.failed == 3
    for code in (3, 1):
        with pytest.raises(wv.MachineError, match="could not be fitted"):
            classifiers._fit_and_predict([sys.executable, "-c", f"raise SystemExit({code})"], b"", Fits())


def accuracy(result: wv.evaluation.UtilityResult, tested_on: str) -> dict[float | None, float]:
    return {
        row["epsilon"]: row["mean"]
        for row in result.rows()
        if row["statistic"] == "accuracy" and row["tested_on"] == tested_on
    }


def test_little_noise_keeps_accuracy_and_much_noise_does_not(space: wv.Embedding) -> None:
    grid = make_grid(space, [0.5, 200.0], [0.0, 1.0])
    result = utility(data(), grid, repetitions=4, cache=False)
    for kind in ("private", "clean"):
        assert accuracy(result, kind)[200.0] == 1.0
        assert accuracy(result, kind)[0.5] < 0.8
    assert accuracy(result, "clean")[None] == 1.0
    rises, same = result.verdicts()[:2]
    assert rises.outcome == "holds"
    assert rises.claim.endswith("tested on private text")
    assert same.outcome != "does not hold"
    assert len(result.verdicts()) == 4
    again = utility(data(), reversed(grid), repetitions=4, cache=False)
    assert sorted(map(json.dumps, again.rows())) == sorted(map(json.dumps, result.rows()))
    assert wv.evaluation.result_from_dict(json.loads(json.dumps(result.to_dict()))) == result


def test_six_classes(space: wv.Embedding) -> None:
    result = utility(questions(), make_grid(space, [100.0], [0.0]), repetitions=3, cache=False)
    rows = [row for row in result.rows() if row["mechanism"] is not None]
    assert {row["label"] for row in rows} == {None, *TOPICS}
    assert {row["statistic"] for row in rows if row["label"]} == {"precision", "recall", "f1"}
    (private,) = (row for row in rows if row["statistic"] == "accuracy" and row["tested_on"] == "private")
    assert private["mean"] > 0.9
    assert private["majority"] == pytest.approx(36 / 186, abs=0.02)
    assert private["chance"] == pytest.approx(1 / 6)
    assert private["p_majority"] < 0.001
    assert all(0.0 <= row["low"] <= row["mean"] <= row["high"] <= 1.0 for row in rows)
    frame = result.to_frame()
    assert list(frame.columns) == list(rows[0])
    assert len(frame) == (4 + 3 * 6) * 3


def test_a_fixed_split_is_kept_and_its_intervals_count_the_tested_records(space: wv.Embedding) -> None:
    train, test = (SPAM + HAM) * 10, ["free prize", "at home", "money now", "you see me"] * 5
    labels, truth = (["spam"] * 4 + ["ham"] * 4) * 10, ["spam", "ham", "spam", "ham"] * 5
    grid = make_grid(space, [100.0], [0.0])
    result = utility((train, labels), grid, test=(test, truth), repetitions=1, name="fixed", cache=False)
    assert result.settings["split"] == "fixed"
    assert result.settings["tested_records"] == 20
    (row,) = (r for r in result.rows() if r["statistic"] == "accuracy" and r["tested_on"] == "private")
    assert row["mean"] == 1.0
    # One repetition is enough where records are resampled. The limit for 20 of 20 is 0.025^(1/20).
    assert (row["low"], row["high"]) == (pytest.approx(0.8316, abs=1e-4), 1.0)
    assert all(r["low"] < r["high"] for r in result.rows())
    rare = LabelledTexts("rare", [*train, "a"], [*labels, "once"], [False] * 80 + [True])
    with pytest.warns(UserWarning, match="rare: 1 of the labels are those of tested records only"):
        result = utility(rare, grid, repetitions=1, cache=False)
    assert result.settings["labels"] == ["ham", "once", "spam"]


def test_an_estimator_of_ones_own(space: wv.Embedding) -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.naive_bayes import MultinomialNB
    from sklearn.pipeline import make_pipeline

    own = make_pipeline(TfidfVectorizer(), MultinomialNB())
    result = utility(data(), make_grid(space, [200.0], [0.0]), classifier=own, repetitions=2, cache=False)
    assert result.settings["classifier"] == "TfidfVectorizer, MultinomialNB"
    assert accuracy(result, "private")[200.0] == 1.0
    assert not hasattr(own[0], "vocabulary_")  # a copy was fitted


class Wrong:
    """Predicts a label that does not exist."""

    def fit(self, texts: list[str], labels: Any) -> "Wrong":
        return self

    def predict(self, texts: list[str]) -> Any:
        return np.full(len(texts), 7)


def test_errors_of_an_estimator_show_no_text(space: wv.Embedding, check_sealed: Any) -> None:
    from sklearn.linear_model import LogisticRegression

    grid = make_grid(space, [200.0], [0.0])
    secret = LabelledTexts("mine", ["zanzibar", "boston"] * 4, ["1", "0"] * 4)
    with pytest.raises(wv.ParameterError, match=r"can't learn from texts \(ValueError\)") as caught:
        utility(secret, grid, classifier=LogisticRegression(), repetitions=1, cache=False)
    check_sealed(caught.value, "zanzibar")
    with pytest.raises(wv.ParameterError, match="one of the labels"):
        utility(secret, grid, classifier=Wrong(), repetitions=1, cache=False)
    for bad in ("svm", LogisticRegression, 7):
        with pytest.raises(wv.ParameterError, match="'classifier' parameter"):
            utility(secret, grid, classifier=bad, repetitions=1, cache=False)


def test_splits_are_stratified() -> None:
    codes = np.array([1] * 30 + [0] * 70 + [2] * 2)
    train, test = random_split(codes, 3, 0)
    assert sorted([*train, *test]) == list(range(102))
    assert np.bincount(codes[train]).tolist() == [49, 21, 1]
    for other in ((4, 0), (3, 1), (0, 3)):
        assert not (train[:20] == random_split(codes, *other)[0][:20]).all()


def test_texts_without_words_to_learn_from(space: wv.Embedding) -> None:
    empty = LabelledTexts("synthetic", ["?!"] * 8, ["1"] * 4 + ["0"] * 4)
    with pytest.raises(wv.FormatError, match="contain no words"):
        utility(empty, make_grid(space, [1.0], [0.0]), repetitions=2, cache=False)


@pytest.mark.parametrize("bad", [{"repetitions": 0}, {"seed": -1}, {"tested_on": ()}, {"tested_on": ("x",)}])
def test_parameters_are_checked(space: wv.Embedding, bad: dict[str, Any]) -> None:
    with pytest.raises(wv.ParameterError):
        utility(data(), make_grid(space, [1.0], [0.0]), cache=False, **bad)


@pytest.mark.parametrize(
    ("tested_on", "kinds"),
    [
        ("private", ["private"]),
        ("both", ["private", "clean"]),
        (["clean"], ["clean"]),
        (("clean", "private", "clean"), ["clean", "private"]),
    ],
)
def test_one_kind_of_test_text_both_or_a_list(small: wv.Embedding, tested_on: Any, kinds: list[str]) -> None:
    texts = (["tea"] * 3 + ["house"] * 3) * 2
    setting = wv.Laplace(small, 5.0)
    result = utility((texts, texts), setting, repetitions=1, tested_on=tested_on, cache=False)
    assert result.settings["tested_on"] == kinds


@pytest.mark.parametrize("tested_on", ["clear", 5, None, (), ["both"], [["clean"]]])
def test_other_kinds_of_test_text_are_refused(small: wv.Embedding, tested_on: Any) -> None:
    must = r"'tested_on' parameter of utility must be private, clean or both\. Got .* instead"
    with pytest.raises(wv.ParameterError, match=must):
        utility((["a", "b"] * 2, ["x", "y"] * 2), small, tested_on=tested_on, cache=False)


def test_scores_against_scikit_learn() -> None:
    from sklearn.metrics import precision_recall_fscore_support

    random = np.random.default_rng(4)
    true, predicted = random.integers(0, 5, 200), random.integers(0, 6, 200)
    matrix = np.zeros((6, 6), dtype=np.int64)
    np.add.at(matrix, (true, predicted), 1)
    scores = scores_of(matrix)
    by_label = precision_recall_fscore_support(true, predicted, labels=range(6), zero_division=0)
    assert scores[4:] == pytest.approx(np.concatenate(by_label[:3]))
    of_those_that_occur = precision_recall_fscore_support(
        true, predicted, labels=range(5), average="macro", zero_division=0
    )
    assert scores[1:4] == pytest.approx(of_those_that_occur[:3])


def simulated(random: Any, share: float, majority: int = 536, others: int = 464) -> Any:
    """The confusion matrix of a classifier that answers "others" for that share of either label's records."""
    wrong, right = random.binomial(majority, share), random.binomial(others, share)
    return np.array([[[majority - wrong, wrong], [others - right, right]]])


def test_a_classifier_as_good_as_the_majority_is_rarely_called_better() -> None:
    """α = 5%, n = 500 simulated classifiers each: none that knows nothing, most that know something."""
    random = np.random.default_rng(1)
    nothing = [p_not_better(simulated(random, share)) for share in (0.1, 0.5, 0.9) for _ in range(167)]
    assert np.mean(np.array(nothing) < 0.05) <= 0.07
    # As many records are won as lost: the hardest case, in which exactly 5% should be below.
    even = []
    for _ in range(500):
        won = random.binomial(100, 0.5)
        even.append(p_not_better(np.array([[[436 + won, 100 - won], [464 - won, won]]])))
    assert np.mean(np.array(even) < 0.05) <= 0.07
    better = []
    for _ in range(100):
        wrong, right = random.binomial(536, 0.1), random.binomial(464, 0.2)
        better.append(p_not_better(np.array([[[536 - wrong, wrong], [464 - right, right]]])))
    assert np.mean(np.array(better) < 0.05) > 0.8


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


def test_intervals_of_a_fixed_split_are_honest() -> None:
    """The interval from resampled records contains the true accuracy in at least 90% of 200 cases."""

    def cases() -> Iterator[bool]:
        for seed in range(200):
            random = np.random.default_rng(seed)
            right = random.binomial(150, 0.8, 2)
            matrix = np.array([[[right[0], 150 - right[0]], [150 - right[1], right[1]]]])
            low, high = interval_of(matrix, scores_of(matrix), None)[0]
            assert low is not None
            assert high is not None
            yield low <= 0.8 <= high

    assert np.mean(list(cases())) >= 0.9


def test_intervals_of_a_fixed_split_do_not_collapse() -> None:
    """Both labels perfect, or one never recognised: every score has an interval, and it contains the score."""
    for cells in ([[20, 0], [0, 5]], [[20, 0], [5, 0]], [[1, 0], [0, 1]]):
        matrix = np.array([cells])
        scores = scores_of(matrix)
        intervals = interval_of(matrix, scores, None)
        for score, (low, high) in zip(scores[0], intervals, strict=True):
            assert low is not None
            assert high is not None
            assert 0.0 <= low <= score <= high <= 1.0
            assert high - low > 0.05


def test_a_constant_answer_is_no_better_than_itself() -> None:
    """Balanced to learn from, 450 and 550 to test on: "1" is right 550 times, significantly more than "0"."""
    always = np.array([[[0, 450], [0, 550]]])
    assert p_not_better(always) == 1.0
    assert best_constant(always) == 1


def test_the_majority_is_that_of_the_tested_records(space: wv.Embedding) -> None:
    train, labels = (SPAM + HAM) * 10, (["spam"] * 4 + ["ham"] * 4) * 10
    test, truth = ["free prize", "at home", "money now", "win"] * 5, ["spam", "ham", "spam", "spam"] * 5
    result = utility(
        (train, labels), make_grid(space, [100.0], [0.0]), test=(test, truth), repetitions=1, cache=False
    )
    assert result.settings["majority_label"] == "spam"
    assert {row["majority"] for row in result.rows() if row["statistic"] == "accuracy"} == {0.75}
