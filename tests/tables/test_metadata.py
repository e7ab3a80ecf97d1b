"""What travels beside the columns of a table does not come out at the other end."""

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

import wordveil as wv

SECRET = b"Zanzibar"


def marked(name: str, kind: pa.DataType) -> pa.Field:
    return pa.field(name, kind, metadata={"note": SECRET})


def arrow_table() -> pa.Table:
    nested = pa.struct([marked("x", pa.int64()), marked("y", pa.list_(marked("item", pa.string())))])
    fields = [
        marked("message", pa.string()),
        marked("label", pa.string()),
        marked("nested", nested),
        marked("pairs", pa.map_(pa.string(), marked("value", pa.int64()))),
        marked("large", pa.large_list(marked("item", pa.int64()))),
        marked("fixed", pa.list_(marked("item", pa.int64()), 2)),
        marked("zanzibar_id", pa.string()),
    ]
    rows = {
        "message": ["tea at noon", None],
        "label": ["ham", "spam"],
        "nested": [{"x": 1, "y": ["a"]}, None],
        "pairs": [[("a", 1)], []],
        "large": [[1], [2]],
        "fixed": [[1, 2], [3, 4]],
        "zanzibar_id": ["1", "2"],
    }
    return pa.table(rows, schema=pa.schema(fields, metadata={"pandas": b'{"columns": ["Zanzibar"]}'}))


KEEP = ["label", "nested", "pairs", "large", "fixed"]


def check_values(table: pa.Table) -> None:
    assert table.column_names == ["message", *KEEP]
    for name in KEEP:
        assert table[name].to_pylist() == arrow_table()[name].to_pylist()


def has_secret(schema: pa.Schema) -> bool:
    return SECRET.lower() in schema.serialize().to_pybytes().lower()


def test_the_secret_is_in_the_input() -> None:
    assert has_secret(arrow_table().schema)


def test_arrow_tables(noisy: wv.Perturber) -> None:
    private = wv.perturb_frame(arrow_table(), perturber=noisy, text="message", keep=KEEP)
    check_values(private)
    assert not has_secret(private.schema)


def test_parquet(noisy: wv.Perturber, tmp_path: Path) -> None:
    pq.write_table(arrow_table(), tmp_path / "in.parquet")
    assert SECRET in (tmp_path / "in.parquet").read_bytes()
    run = wv.perturb_file(
        tmp_path / "in.parquet", tmp_path / "out.parquet", perturber=noisy, text="message", keep=KEEP
    )
    check_values(pq.read_table(run.output))
    assert not has_secret(pq.read_schema(run.output))
    assert SECRET not in run.output.read_bytes()


def test_pandas(noisy: wv.Perturber) -> None:
    frame = pd.DataFrame(
        {"message": ["tea"], "label": ["ham"]}, index=pd.Index(["Zanzibar"], name="Zanzibar")
    )
    frame.attrs["note"] = "Zanzibar"
    frame.columns.name = "Zanzibar"
    private = wv.perturb_frame(frame, perturber=noisy, text="message", keep="label")
    assert private.attrs == {}
    assert list(private.columns.names) == [None]
    assert list(private.index) == [0]
    assert (frame.attrs["note"], frame.columns.name) == ("Zanzibar", "Zanzibar")  # the input is as it was


def test_pandas_metadata_that_arrow_wrote(noisy: wv.Perturber) -> None:
    table = pa.Table.from_pandas(pd.DataFrame({"message": ["tea"], "Zanzibar": [1]}))
    private = wv.perturb_frame(table, perturber=noisy, text="message")
    assert private.schema.metadata is None
