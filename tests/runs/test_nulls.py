"""Missing texts under padding look like empty ones, in every format."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import wordveil as wv

LENGTH = 4
TEXTS = ["", None, "tea at noon", "call me at the red house now please"]


@pytest.fixture
def padded(small: wv.Embedding) -> wv.Perturber:
    return wv.Perturber(wv.Mahalanobis(small, 1.0), wv.Policy(pad_to=LENGTH))


@pytest.fixture
def keeping(small: wv.Embedding) -> wv.Perturber:
    with pytest.warns(wv.PrivacyWarning, match="reveals which texts are missing. The guarantee"):
        policy = wv.Policy(pad_to=LENGTH, unsafe_keep_nulls=True)
    return wv.Perturber(wv.Mahalanobis(small, 1.0), policy)


def lengths(texts: list[str | None]) -> list[int | None]:
    return [None if text is None else len(text.split()) for text in texts]


def through_json(perturber: wv.Perturber, folder: Path) -> list[str | None]:
    (folder / "in.jsonl").write_text("".join(json.dumps({"m": text}) + "\n" for text in TEXTS))
    run = wv.perturb_file(folder / "in.jsonl", folder / "out.jsonl", perturber=perturber, text="m")
    assert json.loads(run.private.read_text())["nulls"] == 1
    return [json.loads(line)["m"] for line in run.output.read_text().splitlines()]


def through_parquet(perturber: wv.Perturber, folder: Path) -> list[str | None]:
    pq.write_table(pa.table({"m": TEXTS}), folder / "in.parquet")
    run = wv.perturb_file(folder / "in.parquet", folder / "out.parquet", perturber=perturber, text="m")
    assert json.loads(run.private.read_text())["nulls"] == 1
    texts: list[str | None] = pq.read_table(run.output)["m"].to_pylist()
    return texts


def through_frame(perturber: wv.Perturber, frame: Any) -> list[str | None]:
    private = wv.perturb_frame(frame, perturber=perturber, text="m")["m"]
    values = private.to_pylist() if hasattr(private, "to_pylist") else private.to_list()
    return [None if value is None or value != value else value for value in values]


WAYS: dict[str, Any] = {
    "json": through_json,
    "parquet": through_parquet,
    "pandas": lambda perturber, _: through_frame(perturber, pd.DataFrame({"m": TEXTS})),
    "polars": lambda perturber, _: through_frame(perturber, pl.DataFrame({"m": TEXTS})),
    "arrow": lambda perturber, _: through_frame(perturber, pa.table({"m": TEXTS})),
}


@pytest.mark.parametrize("way", WAYS)
def test_nulls_are_padded_like_empty_texts(way: str, padded: wv.Perturber, tmp_path: Path) -> None:
    assert lengths(WAYS[way](padded, tmp_path)) == [LENGTH] * 4
    assert "which texts are empty or missing" not in padded.guarantee.not_covered


@pytest.mark.parametrize("way", WAYS)
def test_nulls_are_kept_only_by_an_unsafe_choice(way: str, keeping: wv.Perturber, tmp_path: Path) -> None:
    assert lengths(WAYS[way](keeping, tmp_path)) == [LENGTH, None, LENGTH, LENGTH]
    assert "which texts are missing" in keeping.guarantee.not_covered
    assert "which texts are empty or missing" in keeping.guarantee.not_covered


@pytest.mark.parametrize("way", WAYS)
def test_without_padding_nulls_stay_null(way: str, noisy: wv.Perturber, tmp_path: Path) -> None:
    assert lengths(WAYS[way](noisy, tmp_path)) == [0, None, 3, 8]


def test_an_absent_member_looks_like_an_empty_one(padded: wv.Perturber, tmp_path: Path) -> None:
    """Not by its absence, and not by its place in the object either."""
    records = [{"k": 1, "m": "tea"}, {"k": 2}, {"m": None, "k": 3}, {"k": 4, "m": ""}]
    (tmp_path / "in.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    run = wv.perturb_file(tmp_path / "in.jsonl", tmp_path / "o.jsonl", perturber=padded, text="m", keep="k")
    got = [json.loads(line) for line in run.output.read_text().splitlines()]
    assert [list(record) for record in got] == [["m", "k"]] * 4
    assert [record["k"] for record in got] == [1, 2, 3, 4]
    assert lengths([record["m"] for record in got]) == [LENGTH] * 4


def test_a_parquet_column_of_nulls_is_padded(padded: wv.Perturber, tmp_path: Path) -> None:
    pq.write_table(pa.table({"m": pa.nulls(3)}), tmp_path / "in.parquet")
    run = wv.perturb_file(tmp_path / "in.parquet", tmp_path / "out.parquet", perturber=padded, text="m")
    assert lengths(pq.read_table(run.output)["m"].to_pylist()) == [LENGTH] * 3


def test_unsafe_keep_nulls_needs_padding() -> None:
    with pytest.raises(wv.ParameterError, match="unsafe_keep_nulls needs pad_to"):
        wv.Policy(unsafe_keep_nulls=True)
