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
    ]  # list views and the like have a test of their own: not every format can hold them
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


def test_arrow_types_that_files_do_not_have(noisy: wv.Perturber) -> None:
    item = marked("item", pa.int64())
    kinds = {
        "view": pa.list_view(item),
        "large": pa.large_list_view(item),
        "encoded": pa.dictionary(pa.int8(), pa.struct([marked("x", pa.int64())])),
    }
    values = {
        "view": pa.array([[1]], kinds["view"]),
        "large": pa.array([[1]], kinds["large"]),
        "encoded": pa.DictionaryArray.from_arrays(
            pa.array([0], pa.int8()), pa.array([{"x": 1}], kinds["encoded"].value_type)
        ),
    }
    for name, kind in kinds.items():
        table = pa.table({"message": pa.array(["tea"]), name: values[name]}, schema=None)
        assert has_secret(pa.schema([pa.field(name, kind)]))
        private = wv.perturb_frame(table, perturber=noisy, text="message", keep=name)
        assert not has_secret(private.schema)
        assert private[name].to_pylist() == values[name].to_pylist()
