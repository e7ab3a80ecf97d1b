"""Tables written and read without wordveil, to compare with what it reads and writes."""

import csv
import gzip
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import zstandard

from wordveil.tables import Format

Row = dict[str, Any]
PACKINGS = ["", ".gz", ".zst"]


def _write_parquet(rows: Sequence[Row]) -> bytes:
    out = io.BytesIO()
    schema = pa.schema([(name, pa.string()) for name in rows[0]])
    pq.write_table(pa.Table.from_pylist(list(rows), schema), out, row_group_size=3)
    return out.getvalue()


# A format that is neither delimited nor without columns needs a writer and a reader here.
_WRITERS: dict[str, Callable[[Sequence[Row]], bytes]] = {
    "jsonl": lambda rows: "".join(json.dumps(row) + "\n" for row in rows).encode(),
    "parquet": _write_parquet,
}
_READERS: dict[str, Callable[[bytes], list[Row]]] = {
    "jsonl": lambda data: [json.loads(line) for line in data.splitlines()],
    "parquet": lambda data: pq.read_table(io.BytesIO(data)).to_pylist(),
}


def encoded(rows: Sequence[Row], format: Format) -> bytes:
    """Return rows as a file of that format; without columns, only their messages."""
    if not format.has_columns:
        return "".join((row["message"] or "").replace("\n", " ") + "\r\n" for row in rows).encode()
    if format.delimiter is None:
        return _WRITERS[format.name](rows)
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(rows[0]), delimiter=format.delimiter)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()


def decoded(data: bytes, format: Format) -> list[Row]:
    """Return the rows of a file of that format."""
    if not format.has_columns:
        return [{"message": line} for line in data.decode().replace("\r\n", "\n").split("\n")[:-1]]
    if format.delimiter is None:
        return _READERS[format.name](data)
    text = io.StringIO(data.decode(), newline="")
    return list(csv.DictReader(text, delimiter=format.delimiter))


def packed(data: bytes, suffix: str) -> bytes:
    """Return data as two members of a compressed file, if the suffix is one of a compressed file."""
    match suffix:
        case ".gz":
            return gzip.compress(data[:10]) + gzip.compress(data[10:]) + b"\0" * 5000
        case ".zst":
            return zstandard.compress(data[:10]) + zstandard.compress(data[10:])
        case _:
            return data


def unpacked(path: Path) -> bytes:
    """Return the content of a file, without its compression."""
    data = path.read_bytes()
    match path.suffix:
        case ".gz":
            return gzip.decompress(data)
        case ".zst":
            return zstandard.ZstdDecompressor().stream_reader(data, read_across_frames=True).read()
        case _:
            return data


class Slowly(io.RawIOBase):
    """A pipe that hands out one piece per read, however many bytes are asked for."""

    def __init__(self, pieces: list[bytes]) -> None:
        self.pieces = pieces

    def read(self, size: int = -1) -> bytes:
        return self.pieces.pop(0) if self.pieces else b""
