"""Where the integrations and their tests are."""

from typing import Final

_FOLDER: Final = "src/wordveil/integrations"
_TESTS: Final = "tests/integrations/test"

DATASETS, DATASETS_TESTS = f"{_FOLDER}/datasets.py", f"{_TESTS}_datasets.py"
DUCKDB, DUCKDB_TESTS = f"{_FOLDER}/duckdb.py", f"{_TESTS}_duckdb.py"
POLARS, POLARS_TESTS = f"{_FOLDER}/polars.py", f"{_TESTS}_polars.py"
PRESIDIO, PRESIDIO_TESTS = f"{_FOLDER}/presidio.py", f"{_TESTS}_presidio.py"
SKLEARN, SKLEARN_TESTS = f"{_FOLDER}/sklearn.py", f"{_TESTS}_sklearn.py"
SKLEARN_CACHE_TESTS = f"{_TESTS}_sklearn_cache.py"
SPACY, SPACY_TESTS = f"{_FOLDER}/spacy.py", f"{_TESTS}_spacy.py"
PROMPTS, PROMPTS_TESTS = f"{_FOLDER}/prompts.py", "tests/test_prompts.py"
LANGCHAIN, LANGCHAIN_TESTS = "examples/prompts_langchain.py", f"{_TESTS}_langchain.py"
LITELLM_PROXY, LITELLM_TESTS = "examples/prompts_litellm.py", f"{_TESTS}_litellm.py"
LITELLM_PROXY_TESTS = f"{_TESTS}_litellm_proxy.py"
LIBRARY, CHECKS = f"{_FOLDER}/library.py", "tests/integrations/checks.py"
