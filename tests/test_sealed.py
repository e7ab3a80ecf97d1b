"""No text of the input can be reached from an exception that leaves the library."""

import io
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import wordveil as wv
from wordveil.errors import sealed
from wordveil.runs import perturb_pipe

SECRET = "Zanzibar-pregnant-555"


Check = Callable[[BaseException], None]


@pytest.fixture
def check_clean(check_sealed: Callable[[BaseException, str], None]) -> Check:
    return lambda error: check_sealed(error, SECRET)


BAD_UTF8 = SECRET.encode() + b" \xff\n"
FILES: dict[str, bytes] = {
    "not-utf8.txt": BAD_UTF8,
    "not-utf8.csv": b"m\n" + BAD_UTF8,
    "not-utf8.jsonl": b'{"m": "' + BAD_UTF8,
    "not-json.jsonl": b'{"m": "' + SECRET.encode() + b'"\n',
    "no-text.jsonl": b'{"m": ["' + SECRET.encode() + b'"]}\n',
    "nested.jsonl": b'{"m": ' + b"[" * 100_000 + b'"' + SECRET.encode() + b'"\n',
    "ragged.csv": b"m,n\n" + SECRET.encode() + b"\n",
    "quote.csv": b'm\n"' + SECRET.encode() + b"\n",
    "after-quote.csv": b'm\n"x"' + SECRET.encode() + b"\n",
    "not-gzip.csv.gz": SECRET.encode() * 10,
    "not-parquet.parquet": SECRET.encode() * 10,
}


@pytest.mark.parametrize("name", FILES)
def test_files(name: str, tmp_path: Path, noisy: wv.Perturber, check_clean: Check) -> None:
    (tmp_path / name).write_bytes(FILES[name])
    chosen: dict[str, Any] = {} if name.endswith(".txt") else {"text": "m"}
    with pytest.raises(wv.FormatError) as caught:
        wv.perturb_file(tmp_path / name, tmp_path / f"out-{name}", perturber=noisy, **chosen)
    check_clean(caught.value)


def bad_array(**options: Any) -> pa.Array:
    texts = pa.array([b"tea", SECRET.encode() + b"\xff"])
    return pa.StringArray.from_buffers(2, texts.buffers()[1], texts.buffers()[2], **options)


@pytest.mark.parametrize("dictionary", [False, True])
def test_parquet_and_frames_of_bad_text(
    dictionary: bool, tmp_path: Path, noisy: wv.Perturber, check_clean: Check
) -> None:
    column = bad_array()
    if dictionary:
        column = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), column)
    table = pa.table({"m": column})
    with pytest.raises(wv.FormatError, match="row 2: 'm' is not valid UTF-8") as caught:
        wv.perturb_frame(table, perturber=noisy, text="m")
    check_clean(caught.value)
    pq.write_table(table, tmp_path / "in.parquet")
    where = "row 1 or later" if dictionary else "row 2"
    with pytest.raises(wv.FormatError, match=f"{where}: is not valid UTF-8") as caught:
        wv.perturb_file(tmp_path / "in.parquet", tmp_path / "out.parquet", perturber=noisy, text="m")
    check_clean(caught.value)


def test_frames_of_other_things(noisy: wv.Perturber, check_clean: Check) -> None:
    with pytest.raises(wv.FormatError, match="row 1: 'm' is not text") as caught:
        wv.perturb_frame(pd.DataFrame({"m": [{"x": SECRET}]}), perturber=noisy, text="m")
    check_clean(caught.value)


def test_texts(noisy: wv.Perturber, check_clean: Check) -> None:
    with pytest.raises(wv.ParameterError, match="Text 1") as caught:
        noisy.perturb([SECRET, SECRET.encode()])  # type: ignore[list-item]  # that is the test
    check_clean(caught.value)
    with pytest.raises(wv.ParameterError, match="Text 0") as caught:
        noisy(SECRET * (1 << 20))
    check_clean(caught.value)
    with pytest.raises(wv.ParameterError, match="different numbers of words") as caught:
        noisy.guarantee.exponent(SECRET, f"{SECRET} tea")
    check_clean(caught.value)


def test_pipes(noisy: wv.Perturber, check_clean: Check) -> None:
    with pytest.raises(wv.FormatError) as caught:
        perturb_pipe(io.BytesIO(BAD_UTF8), io.BytesIO(), "in", perturber=noisy, layout=wv.Layout("text"))
    check_clean(caught.value)


def test_a_ledger(tmp_path: Path, noisy: wv.Perturber, check_clean: Check) -> None:
    ledger = wv.Ledger(tmp_path / "ledger.sqlite")
    (tmp_path / "in.txt").write_text("tea\n")
    wv.perturb_file(tmp_path / "in.txt", tmp_path / "out.txt", perturber=noisy, ledger=ledger)
    with closing(sqlite3.connect(ledger.path)) as base:
        base.execute("UPDATE entry SET setting = ?", (f'{{"{SECRET}',))
        base.commit()
    with pytest.raises(wv.MachineError, match="entry 1 is not readable") as caught:
        ledger.entries()
    check_clean(caught.value)


def test_a_wrong_file_of_vectors(tmp_path: Path, check_clean: Check) -> None:
    (tmp_path / "v.txt").write_bytes(BAD_UTF8 * 3)
    for read in (wv.load_embedding, wv.read_embedding):
        with pytest.raises(wv.WordveilError) as caught:
            read(tmp_path / "v.txt")
        check_clean(caught.value)


def test_the_seal_itself_would_show_a_leak(check_clean: Check) -> None:
    """Without the seal the checks above fail, so they look in the right places."""

    def leaking(text: bytes) -> None:
        try:
            text.decode("utf-8")
        except UnicodeDecodeError:
            raise wv.FormatError("is not valid UTF-8.") from None

    fails: Callable[[bytes], None]
    for fails, leaks in ((leaking, True), (sealed(leaking), False)):
        with pytest.raises(wv.FormatError) as caught:
            fails(BAD_UTF8)
        if leaks:
            with pytest.raises(AssertionError):
                check_clean(caught.value)
        else:
            check_clean(caught.value)
