"""Parquet."""

import base64
import io
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import wordveil as wv
from wordveil.tables import Layout, open_table


def test_parquet_keeps_types_groups_and_compression(tmp_path: Path, same: wv.Perturber) -> None:
    kept = pa.array([{"a": [1]}, None, {"a": []}] * 2, pa.struct([("a", pa.list_(pa.int8()))]))
    large = pa.array(["tea", None, "noon"] * 2, pa.large_string())
    table = pa.table(
        {
            "big": large,
            "day": pa.array(range(6), pa.date32()),
            "cat": large.cast(pa.string()).dictionary_encode(),
            "nested": kept,
            "none": pa.nulls(6),
        }
    ).replace_schema_metadata({"secret": "Zanzibar"})
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=4, compression={"big": "gzip"})
    wv.perturb_file(
        tmp_path / "in.parquet",
        tmp_path / "out.parquet",
        perturber=same,
        text=["big", "cat", "none"],
        keep=["nested", "day"],
    )
    got = pq.ParquetFile(tmp_path / "out.parquet")
    assert got.schema_arrow.names == table.schema.names
    assert got.schema_arrow.field("big").type == pa.large_string()
    assert got.schema_arrow.field("cat").type == pa.string()
    assert got.schema_arrow.field("nested").type == kept.type
    assert got.schema_arrow.metadata is None
    assert [got.metadata.row_group(i).num_rows for i in range(got.num_row_groups)] == [4, 2]
    assert got.metadata.row_group(0).column(0).compression == "GZIP"
    assert got.metadata.row_group(0).column(1).compression == "UNCOMPRESSED"
    assert got.read().to_pylist() == table.to_pylist()
    assert b"Zanzibar" not in (tmp_path / "out.parquet").read_bytes()


def test_parquet_over_several_chunks(tmp_path: Path, same: wv.Perturber) -> None:
    texts = [random.Random(i).choice(["tea", "noon", None, "call me"]) for i in range(5000)]
    table = pa.table({"message": texts, "id": range(5000)})
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=2300, compression="none")
    wv.perturb_file(
        tmp_path / "in.parquet", tmp_path / "out.parquet", perturber=same, text="message", keep="id"
    )
    got = pq.ParquetFile(tmp_path / "out.parquet")
    assert got.read().to_pylist() == table.to_pylist()
    assert [got.metadata.row_group(i).num_rows for i in range(got.num_row_groups)] == [2300, 2300, 400]


def write_encrypted(path: Path, **options: Any) -> None:
    encryption = pytest.importorskip("pyarrow.parquet.encryption")  # not in every build of pyarrow

    class Plain(encryption.KmsClient):  # type: ignore[misc, name-defined]  # pyarrow has no types
        def wrap_key(self, key: bytes, name: str) -> bytes:
            return base64.b64encode(key)

        def unwrap_key(self, key: bytes, name: str) -> bytes:
            return base64.b64decode(key)

    factory = encryption.CryptoFactory(lambda _: Plain())
    config = encryption.EncryptionConfiguration(footer_key="f", **options)
    properties = factory.file_encryption_properties(encryption.KmsConnectionConfig(), config)
    table = pa.table({"message": ["tea"], "secret": ["x"]})
    with pq.ParquetWriter(path, table.schema, encryption_properties=properties) as writer:
        writer.write_table(table)


@pytest.mark.parametrize("plaintext_footer", [False, True])
def test_encrypted_parquet_is_called_encrypted(
    plaintext_footer: bool, tmp_path: Path, same: wv.Perturber
) -> None:
    write_encrypted(
        tmp_path / "in.parquet", column_keys={"k": ["message"]}, plaintext_footer=plaintext_footer
    )
    with pytest.raises(wv.FormatError, match=r"in\.parquet: is encrypted\. Hint: decrypt it first"):
        wv.perturb_file(tmp_path / "in.parquet", tmp_path / "out.parquet", perturber=same, text="message")


def test_an_encrypted_column_that_is_left_out_is_in_nobodys_way(tmp_path: Path, same: wv.Perturber) -> None:
    write_encrypted(tmp_path / "in.parquet", column_keys={"k": ["secret"]}, plaintext_footer=True)
    run = wv.perturb_file(tmp_path / "in.parquet", tmp_path / "o.parquet", perturber=same, text="message")
    assert pq.read_table(run.output).to_pylist() == [{"message": "tea"}]


def test_a_table_without_rows_gives_the_same(tmp_path: Path, same: wv.Perturber) -> None:
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    pq.write_table(pa.table({"message": pa.array([], pa.string())}), source)
    assert wv.perturb_file(source, target, perturber=same, text="message").rows == 0
    assert pq.read_table(target).schema.names == ["message"]


@pytest.mark.parametrize("longest", [20, 150, 1500, 60_000])
@pytest.mark.parametrize("pad_to", [None, 3000, 200_000])
def test_chunks_end_where_they_would_in_batches_of_four(
    longest: int, pad_to: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = random.Random(longest)
    texts = ["w " * numbers.randint(0, longest) for _ in range(30_000 // longest + 1500 * (longest < 1000))]
    table = pa.table({"text": [None if len(text) % 9 == 1 else text for text in texts], "more": texts})
    file = io.BytesIO()
    pq.write_table(table, file, row_group_size=1400)

    def chunks() -> list[list[str | None]]:
        file.seek(0)
        policy = wv.Policy(pad_to=pad_to)
        opened = open_table(file, "in", Layout("parquet"), "text", "more", policy=policy)
        return [chunk.texts["text"] for chunk in opened.chunks()]

    in_large_batches = chunks()
    assert sum(map(len, in_large_batches)) == len(texts)
    monkeypatch.setattr("wordveil.tables.parquet._STEPS", 1)
    assert chunks() == in_large_batches


def test_large_rows_after_many_small_ones_are_cut_as_in_batches_of_four(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts = ["tea"] * 20_001 + [f"{number} " * 5000 for number in range(150)] + ["tea"] * 3000
    file = io.BytesIO()
    pq.write_table(pa.table({"text": texts}), file)

    def rows() -> list[int]:
        file.seek(0)
        return [chunk.rows for chunk in open_table(file, "in", Layout("parquet"), "text").chunks()]

    in_large_batches = rows()
    assert min(in_large_batches) < 100
    monkeypatch.setattr("wordveil.tables.parquet._STEPS", 1)
    assert rows() == in_large_batches
