"""The checks of this folder find what they look for."""

import pickle
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import datasets as hf
import duckdb
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest
import spacy

import wordveil as wv

from .checks import SECRET, TEXT, check_distinct, check_no_keys, check_no_secret, check_pickle, run


@pytest.mark.parametrize(
    "content",
    [
        TEXT.encode(),
        f"\0\1{SECRET.upper()}".encode(),
        TEXT.encode("utf-16"),
        np.array([TEXT]).tobytes(),  # UTF-32
    ],
)
def test_a_planted_secret_is_found(content: bytes, watched: Path) -> None:
    (watched / "a").mkdir()
    (watched / "a" / "cache.bin").write_bytes(b"nothing")
    assert check_no_secret(watched) == [watched / "a" / "cache.bin"]
    (watched / "a" / "cache.bin").write_bytes(content)
    with pytest.raises(AssertionError):
        check_no_secret(watched)


def test_a_secret_in_the_name_of_a_file_is_found(watched: Path) -> None:
    (watched / f"{SECRET}.txt").touch()
    with pytest.raises(AssertionError):
        check_no_secret(watched)


def test_a_key_in_a_file_is_found(watched: Path) -> None:
    code = "key = wv.RunKey(); import os, sys, subprocess; fork = os.fork(); fork and os.wait(); fork or wv.RunKey(); "
    spawn = (
        "fork and subprocess.run([sys.executable, '-c', 'import wordveil as wv; wv.RunKey()'], check=True)"
    )
    run(code + spawn, watched)
    assert len((watched.parent / f"{watched.name}.keys").read_text().split()) == 3
    check_no_keys(watched, least=3)
    with pytest.raises(AssertionError):
        check_no_keys(watched, least=4)
    run("open('cache.bin', 'wb').write(b'x' + wv.RunKey().expose()[0])", watched)
    with pytest.raises(AssertionError):
        check_no_keys(watched)


@pytest.mark.parametrize("answers", [["a", "a"], ["a", TEXT], ["a", f"b {SECRET}"], ["a"]])
def test_equal_and_unchanged_answers_are_found(answers: list[str]) -> None:
    check_distinct(["a", "b"])
    with pytest.raises(AssertionError):
        check_distinct(answers)


def test_a_pickled_key_is_found(perturber: wv.Perturber) -> None:
    check_pickle(pickle.dumps(perturber))
    key = wv.RunKey().expose()
    for bad in (
        wv.randomness.thread_stream,
        (wv.Policy, TEXT),
        (wv.Policy, key),
        (wv.Policy, b"x" * 200_000),
    ):
        with pytest.raises(AssertionError):
            check_pickle(pickle.dumps(bad))


def test_no_answer_is_likelier_than_half(perturber: wv.Perturber) -> None:
    """What `TEXT` says. Of 20,000 draws the likeliest answer has well below half."""
    answers = perturber(" ".join(["tea"] * 20_000)).split()
    assert max(map(answers.count, set(answers))) < 9_000


def docbin(path: Path) -> None:
    from spacy.tokens import DocBin

    path.write_bytes(zlib.decompress(DocBin(docs=[spacy.blank("en")(TEXT)]).to_bytes()))


def database(path: Path) -> None:
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE t AS SELECT ? AS m FROM range(5)", [TEXT])
        connection.execute("CHECKPOINT")


def copied(path: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS SELECT ? AS m FROM range(5)", [TEXT])
        connection.execute(f"COPY t TO '{path}' (FORMAT parquet)")


ROWS = {"message": [TEXT] * 5, "label": [*range(5)]}
FORMATS: dict[str, Callable[[Path], Any]] = {
    "Parquet of Polars": lambda path: pl.LazyFrame(ROWS).sink_parquet(path),
    "IPC of Polars": lambda path: pl.LazyFrame(ROWS).sink_ipc(path),
    "Parquet of Arrow": lambda path: pa.parquet.write_table(pa.table(ROWS), path),
    "Parquet of datasets": lambda path: hf.Dataset.from_dict(ROWS).to_parquet(path),
    "folder of datasets": lambda path: hf.Dataset.from_dict(ROWS).save_to_disk(path),
    "Parquet of DuckDB": copied,
    "database of DuckDB": database,
    "Doc of spaCy": lambda path: spacy.blank("en")(TEXT).to_disk(path),
    "vocabulary of spaCy": spacy.blank("en")(TEXT).vocab.to_disk,
    "DocBin of spaCy, decompressed": docbin,
    "pickle": lambda path: path.write_bytes(pickle.dumps(ROWS)),
    "array of NumPy": lambda path: np.save(path, np.array(TEXT.split())),
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_secret_is_found_in_every_format(name: str, tmp_path: Path) -> None:
    """Or the check would say nothing about files of that format."""
    FORMATS[name](tmp_path / "planted")
    with pytest.raises(AssertionError):
        check_no_secret(tmp_path)


def test_a_script_that_asks_the_network_is_found(watched: Path) -> None:
    asked = "import contextlib, socket\nwith contextlib.suppress(OSError): socket.getaddrinfo({!r}, 80)"
    run(asked.format("localhost"), watched)
    with pytest.raises(AssertionError, match=r"example\.org"):
        run(asked.format("example.org"), watched)
