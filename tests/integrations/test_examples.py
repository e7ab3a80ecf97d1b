"""Every example script runs, offline, and no folder that others can read is left with a message in it."""

from pathlib import Path

import pytest

from .checks import ROOT, run_example

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


def test_every_script_is_run() -> None:
    assert {*SCRIPTS} | TESTED_ELSEWHERE == {path.stem for path in EXAMPLES.glob("*.py")}


@pytest.mark.parametrize("name", SCRIPTS)
def test_examples_run(name: str, watched: Path) -> None:
    assert run_example(name, watched)
