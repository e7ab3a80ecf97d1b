"""Every example script runs, offline, and no folder that others can read is left with a message in it."""

import csv
from pathlib import Path

import pytest

from .checks import ROOT, files_under, run

EXAMPLES = ROOT / "examples"
SCRIPTS = [
    "csv_to_classifier",
    "sklearn_search",
    "huggingface_datasets",
    "prompts_langchain",
    "polars_frames",
    "duckdb_sql",
    "presidio_placeholders",
    "spacy_pipeline",
    "dask_partitions",
]
TESTED_ELSEWHERE = {"softened", "side_by_side", "prompts_litellm", "ray_batches"}


def messages() -> list[str]:
    with (EXAMPLES / "messages.csv").open(encoding="utf-8", newline="") as file:
        return [row["message"] for row in csv.DictReader(file)]


def test_every_script_is_run() -> None:
    assert {*SCRIPTS} | TESTED_ELSEWHERE == {path.stem for path in EXAMPLES.glob("*.py")}


@pytest.mark.parametrize("name", SCRIPTS)
def test_examples_run(name: str, watched: Path) -> None:
    lines = run(
        "import runpy, sys; runpy.run_path(sys.argv[1], run_name='__main__')",
        watched,
        str(EXAMPLES / f"{name}.py"),
    )
    assert lines
    printed = "\n".join(lines)
    parts = [message[:40] for message in messages()]
    assert not [part for part in parts if part in printed]
    for path in files_under(watched):
        content = path.read_text(encoding="utf-8", errors="replace")
        assert not [part for part in parts if part in content], path
