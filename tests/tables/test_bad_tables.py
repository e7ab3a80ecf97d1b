"""Input that can't be read: one line, which holds nothing of the content."""

import gzip
import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

import wordveil as wv


def parquet_of(column: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.table({"message": column}), out)
    return out.getvalue()


SECRET = b"Zanzibar"

HUGE = b"x" * (17 << 20)

NO_QUOTES = "Hint: --no-quotes"

CASES: list[tuple[str, bytes, str]] = [
    ("in.csv", b"id,messages\n1,Zanzibar\n", "in.csv: has no column 'message'. Hint: did you mean 'messages'?"),
    ("in.csv", b"Zanzibar,x\n", "in.csv: has no column 'message'. Hint: the first row names the columns"),
    ("in.csv", b"message,message\n1,2\n", "more than one column 'message'"),
    ("in.csv", b'message,b\nok,1\n"Zanzibar,2\n', f"row 2 (line 3): a quote is opened and never closed. {NO_QUOTES}"),
    ("in.csv", b'message,b\n"Zanzibar"x,2\n', f"row 1 (line 2): something follows a closing quote. {NO_QUOTES}"),
    ("in.csv", b'message,b\n"a\nb",1\nZanzibar\n', "row 2 (line 4): has 1 fields, but there are 2 columns."),
    ("in.csv", b"message,b\n\nZanzibar,1,2\n", "row 1 (line 3): has 3 fields, but there are 2 columns."),
    ("in.csv", b'message,b\n"a\nb",1\nZanzibar\xff,1\n', "row 2 (line 4): is not valid UTF-8."),
    ("in.csv", b"\xff\n", "the header (line 1): is not valid UTF-8."),
    ("in.csv", b"message,b\rZanzibar,1\r", "carriage return is outside of quotes"),
    ("in.csv", b"message\n" + HUGE, "row 1 (line 2): is over 16 MiB. Hint: cut it"),
    ("in.csv", b"message,b\n1,2\n" + HUGE[: 9 << 20] + b"," + HUGE[: 9 << 20], "row 2 (line 3): is over 16 MiB."),
    ("in.csv", b'message\n"' + b"x\n" * (9 << 20), f"row 1 (line 2): is over 16 MiB, or a quote in it is never closed. {NO_QUOTES}"),
    ("in.csv", b'message,b\n"' + b"x\n" * (5 << 20) + b'","' + b"x\n" * (5 << 20) + b'"\n', "row 1 (line 2): is over 16 MiB"),
    ("in.tsv", b"message\tb\nZanzibar\n", "row 1 (line 2): has 1 fields"),
    ("in.txt", b"ok\nZanzibar\xff\n", "in.txt, line 2: is not valid UTF-8."),
    ("in.txt", b"ok\n" + HUGE, "line 2: is over 16 MiB."),
    ("in.jsonl", b'{"message": "x"}\n{"message": "Zanzibar"\n', "in.jsonl, line 2: is not valid JSON."),
    ("in.jsonl", b'{"message": "x", "k": NaN}\n', "line 1: is not valid JSON."),
    ("in.jsonl", b"[" * 100_000 + b"\n", "line 1: is nested too deeply."),
    ("in.csv", b"mesage,b\nZanzibar\n", "did you mean column 1?"),
    ("in.jsonl", b'["Zanzibar"]\n', "line 1: is not a JSON object."),
    ("in.jsonl", b'{"message": "x"}\n\n{"message": 4711}\n', "line 3: 'message' is not text."),
    ("in.jsonl", b'{"massage": "Zanzibar"}\n', "did you mean column 1?"),
    ("in.jsonl", b'{"message": "Zanzibar\xff"}\n', "line 1: is not valid UTF-8."),
    ("in.parquet", b"PAR1Zanzibar", "is not a Parquet file, or it is damaged."),
    ("in.parquet", parquet_of([4711]), "column 'message' is not text but int64"),
    ("in.parquet", parquet_of([b"Zanzibar"]), "column 'message' is not text but binary"),
    ("in.parquet", parquet_of(["ok", HUGE.decode()]), "row 2: 'message' is over 16 MiB."),
    ("in.parquet", parquet_of(["tea"]).replace(b"tea", b"te\xff"), "row 1: is not valid UTF-8."),
    ("in.csv.gz", b"message\nZanzibar\n", "in.csv.gz: is not a gzip file, or it is damaged."),
    ("in.csv.gz", gzip.compress(b"message\nZanzibar\n")[:-3], "in.csv.gz: is cut short."),
    ("in.csv.gz", gzip.compress(b"message\nZanzibar\n") + b"more", "is not a gzip file, or it is damaged."),
    ("in.parquet.gz", b"Zanzibar", "in.parquet.gz: is not a gzip file, or it is damaged."),
    ("in.parquet.gz", gzip.compress(b"PAR1Zanzibar"), "is not a Parquet file, or it is damaged."),
    ("in.csv.zst", b"message\nZanzibar\n", "in.csv.zst: is not a Zstandard file, or it is damaged."),
    ("in.csv.zst", zstandard.compress(b"message\nZanzibar\n")[:-3], "in.csv.zst: is cut short."),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "content", "message"), CASES, ids=[f"{i}-{case[0]}" for i, case in enumerate(CASES)]
)
def test_bad_input_is_one_line_without_the_text(
    name: str, content: bytes, message: str, tmp_path: Path, same: wv.Perturber
) -> None:
    (tmp_path / name).write_bytes(content)
    chosen = {} if name == "in.txt" else {"text": "message"}
    with pytest.raises(wv.FormatError) as caught:
        wv.perturb_file(
            tmp_path / name,
            tmp_path / name.replace("in", "out"),
            perturber=same,
            **chosen,  # type: ignore[arg-type]  # keyword arguments of several types
        )
    assert message in str(caught.value)
    assert str(caught.value).count("\n") == 0
    assert SECRET.decode() not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("source", "chosen", "message"),
    [
        ("in.csv", {}, "which column has the texts"),
        ("in.csv", {"text": ["a"], "keep": ["a"]}, "can't be both perturbed and kept"),
        ("in.csv", {"text": [3]}, "must be str"),
        ("in.txt", {"text": "a"}, "plain text has no columns"),
        ("in.dat", {"text": "a"}, "the extension does not name a format"),
    ],
)
def test_choices_are_checked(
    source: str, chosen: dict[str, Any], message: str, tmp_path: Path, same: wv.Perturber
) -> None:
    (tmp_path / source).write_text("a\nb\n")
    with pytest.raises(wv.ParameterError, match=message):
        wv.perturb_file(tmp_path / source, tmp_path / f"out{Path(source).suffix}", perturber=same, **chosen)
