"""Bad arguments from Python raise an error of ours that names the parameter."""

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import wordveil as wv


@pytest.mark.parametrize("path", [None, b"in.csv", 7, "in\0.csv", Path("in\0.csv"), ["in.csv"]])
def test_bad_paths_are_refused(path: Any, tmp_path: Path, same: wv.Perturber) -> None:
    (tmp_path / "in.csv").write_text("m\ntea\n")
    options: dict[str, Any] = {"perturber": same, "text": "m"}
    calls: dict[str, Callable[[], object]] = {
        "source": lambda: wv.perturb_file(path, tmp_path / "out.csv", **options),
        "target": lambda: wv.perturb_file(tmp_path / "in.csv", path, **options),
        "path": lambda: wv.read_embedding(path),
        "row_words": lambda: wv.read_embedding(tmp_path / "in.csv", row_words=cast(Any, path or 7)),
    }
    if path is not None:  # None is the default of these two
        calls |= {"Ledger": lambda: wv.Ledger(path), "load_embedding": lambda: wv.load_embedding(path)}
    for name, call in calls.items():
        with pytest.raises(wv.ParameterError, match=name):
            call()


def test_pandas_columns_of_one_name(same: wv.Perturber) -> None:
    frame = pd.DataFrame([["tea", "a", "b"]], columns=["m", "Okello", "Okello"])
    with pytest.raises(wv.FormatError, match="more than one column with the same name") as caught:
        wv.perturb_frame(frame, perturber=same, text="m")
    assert "Okello" not in str(caught.value)


def test_arrow_columns_of_one_name(same: wv.Perturber) -> None:
    table = pa.Table.from_arrays([pa.array(["tea"])] * 3, names=["m", "x", "x"])
    with pytest.raises(wv.FormatError, match="more than one column"):
        wv.perturb_frame(table, perturber=same, text="m")


@pytest.mark.parametrize("names", [None, 7, [7], [None], b"m", ["m", b"m"]])
def test_bad_names_of_columns_are_refused(names: Any, same: wv.Perturber) -> None:
    frame = pl.DataFrame({"m": ["tea"]})
    with pytest.raises(wv.ParameterError, match="names of columns must be str"):
        wv.perturb_frame(frame, perturber=same, text=names)
    with pytest.raises(wv.ParameterError, match="names of columns must be str"):
        wv.perturb_frame(frame, perturber=same, text="m", keep=names)


def test_lone_surrogates(same: wv.Perturber) -> None:
    """Python's own strings may hold them; Arrow's only by force."""
    assert wv.perturb_frame(pd.DataFrame({"m": ["tea \ud800 now"]}, dtype=object), perturber=same, text="m")[
        "m"
    ].to_list() == ["tea now"]
    data = "tea \ud800".encode("utf-8", "surrogatepass")
    buffers = pa.array([data]).buffers()
    table = pa.table({"m": pa.StringArray.from_buffers(1, buffers[1], buffers[2])})
    with pytest.raises(wv.FormatError, match="row 1: 'm' is not valid UTF-8"):
        wv.perturb_frame(table, perturber=same, text="m")


@pytest.mark.parametrize("frame", [None, 7, "m", {"m": ["tea"]}, [["tea"]], pl.LazyFrame({"m": ["tea"]})])
def test_bad_frames_are_refused(frame: Any, same: wv.Perturber) -> None:
    with pytest.raises(wv.ParameterError, match="'frame' parameter of perturb_frame"):
        wv.perturb_frame(frame, perturber=same, text="m")


def test_pandas_columns_that_are_not_str(same: wv.Perturber) -> None:
    frame = pd.DataFrame([["tea"]], columns=pd.MultiIndex.from_tuples([("m", "x")]))
    with pytest.raises(wv.FormatError, match="columns whose names are str"):
        wv.perturb_frame(frame, perturber=same, text="m")


def test_errors_can_be_pickled(tmp_path: Path, same: wv.Perturber) -> None:
    (tmp_path / "in.txt").write_bytes(b"tea\n\xff\n")
    with pytest.raises(wv.FormatError) as caught:
        wv.perturb_file(tmp_path / "in.txt", tmp_path / "out.txt", perturber=same)
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again)) == (type(caught.value), str(caught.value))
