"""Every example script runs, offline, and no folder that others can read is left with a message in it."""

import re
from pathlib import Path

import pytest

import wordveil as wv

from .checks import ROOT, run_example

EXAMPLES = ROOT / "examples"
INCLUDED = re.compile(r"^```\{literalinclude\} ../../examples/(\w+)\.py$", re.MULTILINE)
SCRIPTS = [
    "sklearn_search",
    "huggingface_datasets",
    "prompts_guard",
    "prompts_langchain",
    "polars_frames",
    "duckdb_sql",
    "presidio_placeholders",
    "spacy_pipeline",
    "dask_partitions",
]
TESTED_ELSEWHERE = {"csv_to_classifier", "softened", "side_by_side", "prompts_litellm", "ray_batches"}


def test_every_integration_has_a_script_on_its_page() -> None:
    pages = [path for path in (ROOT / "docs" / "integrations").glob("*.md") if path.stem != "index"]
    included = [name for page in pages for name in INCLUDED.findall(page.read_text(encoding="utf-8"))]
    assert {page.stem for page in pages} >= {*wv._INTEGRATIONS, "prompts", "clusters"}
    assert all(INCLUDED.search(page.read_text(encoding="utf-8")) for page in pages)
    assert {*SCRIPTS} | TESTED_ELSEWHERE >= {*included}


def test_the_walk_ends_with_a_classifier_that_has_learned_something(watched: Path) -> None:
    """From a CSV file to a classifier that was trained on private text."""
    lines = run_example("csv_to_classifier", watched)
    scores = {line.partition(": accuracy ")[0]: float(line[-4:]) for line in lines if ": accuracy " in line}
    assert scores["by guessing"] < scores["trained on private text"]
    assert {*scores} == {"by guessing", "trained on private text", "trained on clean text"}


def test_every_script_is_run() -> None:
    assert {*SCRIPTS} | TESTED_ELSEWHERE == {path.stem for path in EXAMPLES.glob("*.py")}


@pytest.mark.parametrize("name", SCRIPTS)
def test_examples_run(name: str, watched: Path) -> None:
    assert run_example(name, watched)


def test_the_search_has_something_to_choose_from(watched: Path) -> None:
    """With the larger ε spam is told apart: in 6 runs the AUC was 0.69 to 0.80; 0.55 is five standard deviations off."""
    lines = run_example("sklearn_search", watched)
    scores = [float(line.split()[0]) for line in lines if "'epsilon': 7.0" in line]
    assert len(scores) == 2
    assert min(scores) > 0.55


@pytest.mark.parametrize(
    ("name", "variable", "library"),
    [
        ("prompts_litellm", "LITELLM_LOCAL_MODEL_COST_MAP", "litellm"),
        ("ray_batches", "RAY_USAGE_STATS_ENABLED", "ray"),
    ],
)
def test_no_example_uses_the_network_as_soon_as_it_imports(name: str, variable: str, library: str) -> None:
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    assert 0 < text.find(f'os.environ.setdefault("{variable}"') < text.index(f"\nimport {library}\n")


def test_the_page_of_all_integrations_says_what_registers_the_namespace_of_polars() -> None:
    text = (ROOT / "docs" / "integrations" / "index.md").read_text(encoding="utf-8")
    (row,) = (line for line in text.splitlines() if line.startswith("| [Polars]"))
    assert 0 < row.find("`wv.polars`") < row.find(".wordveil.perturb")
