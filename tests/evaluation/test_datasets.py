"""Labelled texts from files of every format, with random and fixed splits."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import wordveil as wv
from wordveil.evaluation.datasets import LabelledTexts, as_labelled, as_pair, load_labelled
from wordveil.evaluation.utility_experiment import utility


def test_the_two_data_sets_of_the_paper_are_recognised(tmp_path: Path) -> None:
    (tmp_path / "sms.tsv").write_text('ham\tsee "you\nspam\twin, now\nham\tok\n' * 4)
    sms = load_labelled(tmp_path / "sms.tsv")
    assert (sms.texts[:3], sms.labels[:3]) == (['see "you', "win, now", "ok"], ["ham", "spam", "ham"])
    assert (sms.positive, sms.paper_name, sms.name) == ("spam", "sms", "sms")
    rows = '1,,,"fire, now",1\n2,,,lovely day,0\n' * 4
    (tmp_path / "t.csv").write_text(f"id,keyword,location,text,target\n{rows}")
    tweets = load_labelled(tmp_path / "t.csv")
    assert (tweets.texts[:2], tweets.labels[:2]) == (["fire, now", "lovely day"], ["1", "0"])
    assert tweets.positive == "1"
    (tmp_path / "any.jsonl").write_text('{"m": "a", "y": 0}\n{"m": "b", "y": 1}\n{"m": null, "y": 0}\n' * 4)
    other = load_labelled(tmp_path / "any.jsonl", "m", "y")
    assert (other.texts[:3], other.labels[:3], other.positive) == (["a", "b", ""], ["0", "1", "0"], "")
    assert load_labelled(tmp_path / "any.jsonl", "m", "y", "0").positive == "0"


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("a,b\n1,2\n", {}, "which columns hold text and label"),
        ("a,b\nx,1\ny,1\n", {"text": "a", "label": "b"}, "at least two labels. It has 1"),
        (
            "a,b\n" + "x,1\ny,2\n" * 4,
            {"text": "a", "label": "b", "positive": "3"},
            "no record has the positive label",
        ),
        ("a,b\nx,1\ny,2\nz,2\n", {"text": "a", "label": "b"}, "at least 2 records of each label"),
        ("a,b\nx,1\ny,\n", {"text": "a", "label": "b"}, "row 2: has no label"),
        ("a,b\n" + f"x,{'y' * 41}\ny,2\n" * 4, {"text": "a", "label": "b"}, "longer than 40 letters"),
        ("a,b\nx,1\ny,2\n", {"text": "aa", "label": "b"}, "has no column 'aa'"),
        (
            "a,b\n" + "".join(f"x,{i}\n" * 2 for i in range(1001)),
            {"text": "a", "label": "b"},
            "over 1,000 labels",
        ),
        ("a,b,s\nx,1,train\ny,2,dev\n", {"text": "a", "label": "b", "split": "s"}, "both 'train' and 'test'"),
        (
            "a,b,s\nx,1,train\ny,2,test\n",
            {"text": "a", "label": "b", "split": "s"},
            "two labels to learn from",
        ),
        (
            "a,b,s\nx,1,train\ny,2,test\n",
            {"text": "a", "label": "b", "split": "s", "test_path": "in.csv"},
            "two ways to say the same",
        ),
    ],
)
def test_bad_data(content: str, options: dict[str, str], message: str, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text(content)
    with pytest.raises(wv.WordveilError, match=message):
        load_labelled(tmp_path / "in.csv", **options)  # type: ignore[arg-type]  # only texts


def test_real_data(real_data: Path) -> None:
    sms, tweets = load_labelled(real_data / "sms-spam.tsv"), load_labelled(real_data / "disaster-tweets.csv")
    assert (len(sms.texts), sms.labels.count("spam")) == (5574, 747)
    assert len(tweets.texts) == 7613
    assert 0.42 < tweets.labels.count("1") / 7613 < 0.44


def test_a_fixed_split_by_a_column_or_a_second_file(tmp_path: Path) -> None:
    lines = ["a,b,s", "one,x,Train", "two,y,train", "three,y,dev", "four,z,TEST", "five,x,test"]
    (tmp_path / "in.csv").write_text("\n".join(lines) + "\n")
    by_column = load_labelled(tmp_path / "in.csv", "a", "b", split="s")
    assert by_column.texts == ["one", "two", "four", "five"]
    assert by_column.is_test == [False, False, True, True]
    assert by_column.classes == ("x", "y", "z")
    assert by_column.left_out == 1
    (tmp_path / "test.csv").write_text("a,b\nfour,z\nfive,x\n")
    (tmp_path / "train.csv").write_text("a,b\none,x\ntwo,y\n")
    by_file = load_labelled(tmp_path / "train.csv", "a", "b", test_path=tmp_path / "test.csv")
    assert (by_file.texts, by_file.is_test) == (by_column.texts, by_column.is_test)
    assert by_file.left_out == 0


@pytest.mark.parametrize(
    ("values", "first"), [([1, 0], "1"), (["good", "bad"], "good"), ([True, False], "true")]
)
def test_parquet(tmp_path: Path, values: list[object], first: str) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    table = pa.table({"text": ["good film", "bad film"] * 3, "label": values * 3, "date": [b"x"] * 6})
    parquet.write_table(table, tmp_path / "in.parquet")
    data = load_labelled(tmp_path / "in.parquet", "text", "label")
    assert (data.texts[:2], data.labels[0]) == (["good film", "bad film"], first)
    with pytest.raises(wv.FormatError, match="neither text nor numbers"):
        load_labelled(tmp_path / "in.parquet", "text", "date")


def test_texts_are_not_shown_by_repr() -> None:
    assert "secret" not in repr(LabelledTexts("mine", ["secret", "b"] * 2, ["1", "0"] * 2))


def test_text_files_have_no_labels(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a text\n")
    with pytest.raises(wv.FormatError, match="CSV, TSV, JSON Lines or Parquet"):
        load_labelled(tmp_path / "in.txt", "text", "label")


@pytest.mark.parametrize(
    ("data", "mechanisms", "complaint"),
    [
        ((["a", "b"] * 2, ["x", "y"] * 2), 5, r"'mechanisms' parameter of utility must be .* Got 5 instead"),
        (
            (["a", "b"] * 2, ["x", "y"] * 2),
            [object()],
            r"'mechanisms' parameter of utility .* Got an object instead",
        ),
        (["a", "b", "c"], None, r"'data' parameter of utility must be .* Got a list instead"),
        (["ab", "xy"], None, "'data' parameter of utility"),
        ((["a", "b"], ["x"]), None, "'data' parameter of utility"),
        (7, None, r"'data' parameter of utility must be .* Got 7 instead"),
    ],
)
def test_wrong_arguments_have_the_sentence_of_every_parameter(
    data: Any, mechanisms: Any, complaint: str, small: wv.Embedding
) -> None:
    with pytest.raises(wv.ParameterError, match=complaint):
        utility(data, small if mechanisms is None else mechanisms, cache=False)
    good = ["a", "b"] * 2, ["x", "y"] * 2
    with pytest.raises(wv.ParameterError, match="'test' parameter of utility"):
        utility(good, small, test=["no pair"], cache=False)  # type: ignore[arg-type]


@pytest.mark.parametrize("missing", [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT, ""], ids=repr)
@pytest.mark.parametrize("owner", ["data", "test"])
def test_a_missing_label_is_refused_in_python_as_in_a_file(
    missing: Any, owner: str, small: wv.Embedding
) -> None:
    good, bad = (["tea"] * 4, ["x", "y"] * 2), (["tea"] * 4, ["x", "y", missing, "y"])
    data, test = (bad, None) if owner == "data" else (good, bad)
    with pytest.raises(wv.FormatError, match=r", row 3: has no label\. Hint: leave such rows out"):
        utility(data, wv.Laplace(small, 5.0), test=test, repetitions=1, cache=False)


def test_labels_of_labelled_texts_are_not_missing() -> None:
    with pytest.raises(wv.FormatError, match="a record has no label"):
        LabelledTexts("d", ["a"] * 4, ["x", "y", None, "y"])  # type: ignore[list-item]


@pytest.mark.parametrize("missing", [None, float("nan"), pd.NA], ids=repr)
def test_a_missing_text_is_empty(missing: Any) -> None:
    labelled = as_labelled((["tea", missing] * 2, [1, 0] * 2), "d")
    assert (labelled.texts, labelled.labels) == (["tea", ""] * 2, ["1", "0"] * 2)
    assert as_pair((["tea", missing], [1, 0]), "d", "utility", "test") == (["tea", ""], ["1", "0"])


def test_a_label_that_is_tested_on_only_is_warned_of(small: wv.Embedding) -> None:
    data = LabelledTexts("d", ["a"] * 5, ["x", "y", "x", "y", "z"], [False] * 4 + [True])
    with pytest.warns(UserWarning, match="1 of the labels are those of tested records only"):
        utility(data, wv.Laplace(small, 5.0), repetitions=1, cache=False)


def test_one_column_can_t_be_text_and_label(tmp_path: Path) -> None:
    (tmp_path / "d.csv").write_text("text,label\na,x\n")
    with pytest.raises(wv.ParameterError, match="--text and --label name the same column"):
        load_labelled(tmp_path / "d.csv", "text", "text")
