"""Memory does not grow with the number of rows, even if they are very wide or padded very far."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

WIDE = "x" * (1 << 20)
LIMIT = 400 << 20
pytestmark = pytest.mark.skipif(
    not Path("/proc/self/status").exists(), reason="only Linux has /proc/self/status"
)
COMMAND = """
import sys
import wordveil as wv
source, target, keep, pad_to = sys.argv[1:]
emb = wv.load_embedding().project(3)
perturber = wv.Perturber(wv.Laplace(emb, 6.0), wv.Policy(pad_to=int(pad_to) if pad_to else None))
run = wv.perturb_file(source, target, perturber=perturber, text="message", keep=keep.split())
# The high-water mark of this process alone: that of wait4 includes what its parent had when it was forked.
print(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])
"""


def csv(path: Path, rows: int) -> None:
    with path.open("w") as file:
        file.write("message,wide\n")
        for _ in range(rows):
            file.write(f"book a flight,{WIDE}\n")


def jsonl(path: Path, rows: int) -> None:
    with path.open("w") as file:
        for _ in range(rows):
            file.write(json.dumps({"message": "book a flight", "wide": WIDE}) + "\n")


def parquet(path: Path, rows: int) -> None:
    batch = pa.table({"message": ["book a flight"] * 50, "wide": [WIDE] * 50})
    with pq.ParquetWriter(path, batch.schema, use_dictionary=False, compression="snappy") as writer:
        for _ in range(rows // 50):
            writer.write_table(batch)


def peak(source: Path, keep: str, pad_to: str = "") -> int:
    """Return the peak memory of a separate process, in bytes."""
    target = source.with_name(f"out{source.suffix}")
    target.unlink(missing_ok=True)
    for beside in source.parent.glob("out.*.json"):
        beside.unlink()
    command = [sys.executable, "-c", COMMAND, str(source), str(target), keep, pad_to]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout) * 1024


def parquet_of_one_value(path: Path, rows: int) -> None:
    """One value, stored once and repeated: the file is much smaller than the sizes that it states."""
    table = pa.table({"message": ["book a flight"] * rows, "wide": [WIDE] * rows})
    pq.write_table(table, path.with_suffix(".parquet"))


def parquet_of_all_sizes(path: Path, rows: int) -> None:
    """Thousands of small records, then large ones, in one row group."""
    wide = ["x"] * 50_000 + [f"{i}{WIDE}" for i in range(rows)]
    table = pa.table({"message": ["book a flight"] * len(wide), "wide": wide})
    pq.write_table(
        table,
        path.with_suffix(".parquet"),
        use_dictionary=False,
        row_group_size=len(wide),
        write_batch_size=16,
    )


@pytest.mark.parametrize("write", [parquet_of_one_value, parquet_of_all_sizes])
def test_parquet_with_misleading_sizes(write: Callable[[Path, int], None], tmp_path: Path) -> None:
    write(tmp_path / "in", 250)
    # Pages of the input are decoded as a whole, and those of mixed sizes are large; it was 1.9 GB and more.
    assert peak(tmp_path / "in.parquet", "wide") < LIMIT + (200 << 20)


@pytest.mark.parametrize("keep", ["", "wide"], ids=["left out", "kept"])
@pytest.mark.parametrize("write", [csv, jsonl, parquet])
def test_records_of_a_mebibyte(write: Callable[[Path, int], None], keep: str, tmp_path: Path) -> None:
    source = tmp_path / f"in.{write.__name__}"
    write(source, 120)
    few = peak(source, keep)
    write(source, 240)
    many = peak(source, keep)
    assert many < LIMIT
    assert many < few + (60 << 20)  # 100 records more would show; it settles 40 MiB higher


def test_texts_padded_very_far(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text("message\n" + "tea\n" * 8)
    few = peak(source, "", "100000")
    source.write_text("message\n" + "tea\n" * 40)
    many = peak(source, "", "100000")
    assert many < LIMIT
    assert many < few + (20 << 20)
