import subprocess
import sys
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import wordveil as wv

DATA = {"id": [1, 2, 3], "message": ["Book a flight!", None, "tea"], "label": ["x", "y", None]}
MAKERS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}


def rows(frame: Any) -> list[dict[str, Any]]:
    if isinstance(frame, pd.DataFrame):
        frame = pa.Table.from_pandas(frame, preserve_index=False)
    return frame.to_pylist() if isinstance(frame, pa.Table) else frame.to_dicts()  # type: ignore[no-any-return]  # a frame of any library


@pytest.mark.parametrize("kind", MAKERS)
def test_the_same_frame_comes_out(kind: str, same: wv.Perturber) -> None:
    frame = MAKERS[kind](DATA)
    private = wv.perturb_frame(frame, perturber=same, text="message", keep=["label"])
    assert type(private) is type(frame)
    assert rows(private) == [
        {"message": "book a flight", "label": "x"},
        {"message": None, "label": "y"},
        {"message": "tea", "label": None},
    ]
    assert rows(frame)[0]["message"] == "Book a flight!"


@pytest.mark.parametrize("kind", MAKERS)
def test_noise_is_new_each_time_unless_asked(kind: str, noisy: wv.Perturber) -> None:
    frame = MAKERS[kind]({"message": ["tea " * 50] * 2, "again": ["tea " * 50] * 2})
    first, second = (rows(wv.perturb_frame(frame, perturber=noisy, text=["message", "again"])) for _ in "ab")
    texts = [row[name] for row in first + second for name in row]
    assert len(set(texts)) == 8
    seeded = [
        rows(wv.perturb_frame(frame, perturber=noisy, text="again", key=wv.insecure_key(3))) for _ in "ab"
    ]
    assert seeded[0] == seeded[1]


def test_under_one_key_noise_depends_on_columns_and_texts(noisy: wv.Perturber) -> None:
    key, text = wv.insecure_key(3), "tea " * 50
    frames = [pa.table({"a": [text], "b": [text]}), pa.table({"a": [text + "now"]})]
    first, second = (
        wv.perturb_frame(frame, perturber=noisy, text=frame.column_names, key=key) for frame in frames
    )
    answers = [first["a"][0].as_py(), first["b"][0].as_py(), second["a"][0].as_py().rpartition(" ")[0]]
    assert len(set(answers)) == 3


@pytest.mark.parametrize("key", [wv.secure_stream(), b"key", 7, True])
def test_what_is_no_key(key: Any, same: wv.Perturber) -> None:
    with pytest.raises(wv.ParameterError, match="'key' parameter of perturb_frame must be a RunKey"):
        wv.perturb_frame(pa.table(DATA), perturber=same, text="message", key=key)


def test_an_insecure_key_raises_a_warning(same: wv.Perturber) -> None:
    with pytest.warns(wv.PrivacyWarning, match="The noise comes from a seed"):
        wv.perturb_frame(pa.table(DATA), perturber=same, text="message", key=wv.insecure_key(1))


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize(
    ("chosen", "message"),
    [
        ({"text": "mesage"}, "has no column 'mesage'. Hint: did you mean 'message'?"),
        ({"text": "id"}, "column 'id' is not text but Int64"),
        ({"text": []}, "Which column"),
        ({"text": "message", "keep": "message"}, "both perturbed and kept"),
    ],
)
def test_bad_columns(kind: str, chosen: dict[str, Any], message: str, same: wv.Perturber) -> None:
    with pytest.raises(wv.WordveilError, match=message):
        wv.perturb_frame(MAKERS[kind](DATA), perturber=same, **chosen)


def test_the_index_of_pandas_is_left_out(same: wv.Perturber) -> None:
    frame = pd.DataFrame({"message": ["tea", "noon"]}, index=["Zanzibar", "Zoë"])
    private = wv.perturb_frame(frame, perturber=same, text="message")
    assert list(private.index) == [0, 1]


def test_columns_of_objects_and_of_categories(same: wv.Perturber) -> None:
    frame = pd.DataFrame(
        {
            "a": pd.Series(["tea", None, float("nan")], dtype=object),
            "b": pd.Series(["tea", "noon", None], dtype="category"),
        }
    )
    private = wv.perturb_frame(frame, perturber=same, text=["a", "b"])
    assert rows(private) == [{"a": "tea", "b": "tea"}, {"a": None, "b": "noon"}, {"a": None, "b": None}]
    mixed = pd.DataFrame({"a": pd.Series(["tea", 4711], dtype=object)})
    with pytest.raises(wv.FormatError, match="row 2: 'a' is not text") as caught:
        wv.perturb_frame(mixed, perturber=same, text="a")
    assert "4711" not in str(caught.value)


def test_frames_without_rows(same: wv.Perturber) -> None:
    frame = pl.DataFrame({"message": []}, schema={"message": pl.String})
    assert wv.perturb_frame(frame, perturber=same, text="message").height == 0


@pytest.mark.parametrize("frame", [pl.LazyFrame(DATA), DATA, "Zanzibar"], ids=["lazy", "dict", "text"])
def test_what_is_no_frame_in_memory(frame: Any, same: wv.Perturber) -> None:
    with pytest.raises(wv.ParameterError, match="must be a pandas, polars or Arrow table"):
        wv.perturb_frame(frame, perturber=same, text="message")


def test_what_is_no_perturber() -> None:
    with pytest.raises(wv.ParameterError, match="must be a Perturber"):
        wv.perturb_frame(pa.table(DATA), perturber=print, text="message")  # type: ignore[arg-type]  # that is the test


ABSENT = """
import sys
for name in ({absent!r}).split():
    sys.modules[name] = None
import io
import wordveil as wv
from wordveil.tables import Layout, open_table
try:
    {call}
except wv.MissingExtraError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("absent", "call", "message"),
    [
        ("narwhals", "wv.perturb_frame(1, perturber=wv.Perturber(wv.Laplace(wv.load_embedding(), 1.0)), text='a')", "A frame needs narwhals"),
        ("pyarrow pyarrow.parquet", "open_table(io.BytesIO(), 'in', Layout('parquet'), 'a')", "Parquet needs pyarrow"),
        ("zstandard", "open_table(io.BytesIO(), 'in', Layout('csv'), 'a', compression='zst')", "A .zst file needs zstandard"),
        ("pyspark", "wv.spark.spark_engine()", "Spark needs pyspark"),
        ("pyspark", "wv.spark.perturb(1, perturber=wv.Perturber(wv.Laplace(wv.load_embedding(), 1.0)), text='a')", "Spark needs pyspark"),
    ],
)  # fmt: skip
def test_a_missing_extra_is_named(absent: str, call: str, message: str) -> None:
    code = ABSENT.format(absent=absent, call=call)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    extra = "spark" if absent == "pyspark" else "files"
    assert done.stdout == f"{message}, which is not installed. Hint: pip install 'wordveil[{extra}]'.\n"
