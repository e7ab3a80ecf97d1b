"""Where the integrations and their tests are."""

from typing import Final

_FOLDER: Final = "src/wordveil/integrations"
_TESTS: Final = "tests/integrations/test"

DATASETS, DATASETS_TESTS = f"{_FOLDER}/datasets.py", f"{_TESTS}_datasets.py"
DUCKDB, DUCKDB_TESTS = f"{_FOLDER}/duckdb.py", f"{_TESTS}_duckdb.py"
POLARS, POLARS_TESTS = f"{_FOLDER}/polars.py", f"{_TESTS}_polars.py"
PRESIDIO, PRESIDIO_TESTS = f"{_FOLDER}/presidio.py", f"{_TESTS}_presidio.py"
SKLEARN, SKLEARN_TESTS = f"{_FOLDER}/sklearn.py", f"{_TESTS}_sklearn.py"
SPACY, SPACY_TESTS = f"{_FOLDER}/spacy.py", f"{_TESTS}_spacy.py"
