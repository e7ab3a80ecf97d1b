"""Dask: the recipe of the example, in other processes."""

import pickle
import runpy
from pathlib import Path

import dask.dataframe as dd
import pandas as pd
import pytest

import wordveil as wv

from .checks import ROOT, SECRET, TEXT, check_distinct, check_no_keys, check_no_secret, check_pickle, run

EXAMPLE = ROOT / "examples" / "dask_partitions.py"
RECIPE = runpy.run_path(str(EXAMPLE))


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame({"id": [SECRET] * 6, "message": [TEXT] * 5 + [None], "label": list("abcabc")})


def test_partitions_and_computations_draw_different_noise(
    frame: pd.DataFrame, perturber: wv.Perturber
) -> None:
    partitions = dd.from_pandas(frame, npartitions=3)
    lazy = partitions[["label", "message"]].map_partitions(
        RECIPE["perturbed"], perturber, meta=frame[["label", "message"]].iloc[:0]
    )
    results = [lazy.compute(scheduler="threads") for _ in range(2)]  # why it is computed once
    check_distinct([text for result in results for text in result["message"].iloc[:5]])
    assert results[0]["label"].tolist() == list("abcabc")
    assert results[0]["message"].isna().tolist() == [False] * 5 + [True]


def test_what_is_sent_has_no_key(perturber: wv.Perturber) -> None:
    perturber(TEXT)
    check_pickle(pickle.dumps(perturber))


def test_what_is_written_by_processes(watched: Path) -> None:
    lines = run(
        f"""
        import runpy, pandas as pd, dask.dataframe as dd
        if __name__ == "__main__":
            recipe = runpy.run_path({str(EXAMPLE)!r})
            frame = pd.DataFrame({{"id": [SECRET] * 6, "message": [TEXT] * 6, "label": list("abcabc")}})
            private = recipe["private_frame"](dd.from_pandas(frame, npartitions=3), small_perturber())
            assert sorted(private.columns) == ["label", "message"]
            private.to_parquet("private.parquet")
            stored = [*pd.read_parquet("private.parquet")["message"]]
            assert [*private["message"]] == stored == [*private["message"]]  # computed once
            print(*stored, sep=chr(10))
        """,
        watched,
    )
    assert len(lines) == 6
    check_distinct(lines)
    assert "private.parquet" in {path.name for path in check_no_secret(watched)}
    check_no_keys(watched, least=2)
