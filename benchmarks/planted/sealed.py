"""Mistakes around errors: a function that is not sealed leaves private text in the frames of its errors."""

from typing import Final

from benchmarks.planted.mistake import Mistake
from benchmarks.planted.paths import DATASETS, DUCKDB, POLARS, PRESIDIO, SKLEARN, SPACY

_TEST: Final = "tests/integrations/test_sealed.py::test_an_error_leads_to_no_text"
_PROMPTS_TEST: Final = "tests/test_prompts.py::test_what_would_be_sent_as_it_is_is_refused"


def _unsealed(function: str, file: str, definition: str, *cases: str) -> Mistake:
    """Return the mistake that a function is not sealed; each of the cases of the test must notice it."""
    tests = tuple(f"{_TEST}[{case}]" for case in cases) or (_PROMPTS_TEST,)
    indent = definition[: len(definition) - len(definition.lstrip())]
    changes = {f"{indent}@sealed\n{definition}": definition}
    return Mistake(f"errors: a text is in the frames of {function}", file, changes, tests)


MISTAKES: Final = (
    _unsealed("wv.datasets.perturb", DATASETS, "def perturb(", "a data set", "a data set with other columns"),
    _unsealed(
        "a private stream",
        DATASETS,
        "    def __call__(self, *columns_and_rows",
        "a stream",
        "a stream that is read twice",
    ),
    _unsealed("the function of DuckDB", DUCKDB, "    def perturb(texts", "DuckDB"),
    _unsealed("wv.polars.perturb", POLARS, "def perturb(", "a Series"),
    _unsealed(
        "the expression of Polars", POLARS, "    def __call__(self, texts", "Polars", "Polars, streaming"
    ),
    _unsealed(
        "wv.presidio.perturb_around",
        PRESIDIO,
        "def perturb_around(",
        "around placeholders",
        "around placeholders of another text",
        "around what is no result",
    ),
    _unsealed("the operator of Presidio", PRESIDIO, "    def operate(", "an operator"),
    _unsealed("fit of scikit-learn", SKLEARN, "    def fit(", "fit"),
    _unsealed("fit_transform of scikit-learn", SKLEARN, "    def fit_transform(", "fit_transform"),
    _unsealed(
        "transform of scikit-learn",
        SKLEARN,
        "    def transform(",
        "transform",
        "transform of clean texts",
    ),
    _unsealed(
        "the component of spaCy",
        SPACY,
        "    def __call__(self, doc",
        "a component",
        "a component, by pipe",
        "a component that gets a text",
    ),
    _unsealed(
        "PromptGuard",
        "src/wordveil/integrations/prompts.py",
        "    def __call__(self, messages: str | Sequence[Message]) -> str |",
    ),
)
