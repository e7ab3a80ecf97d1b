"""Mistakes around the noise, keys, metadata and imports that all integrations share."""

from typing import Final

from benchmarks.planted.mistake import LITELLM, NOTICED, Mistake
from benchmarks.planted.paths import CHECKS as _CHECKS
from benchmarks.planted.paths import LIBRARY as _LIBRARY

_TESTS: Final = "tests/integrations/test_"
_RANDOMNESS: Final = "src/wordveil/randomness.py"

MISTAKES: Final = (
    Mistake(
        "calls: every call repeats the noise of the last",
        _LIBRARY,
        {
            "from wordveil.randomness import thread_stream": "from wordveil.randomness import RunKey",
            "thread_stream())": "RunKey.of_run(bytes(32), True).stream())",
        },
        (
            f"{_TESTS}datasets.py::test_every_call_and_process_draws_anew",
            f"{_TESTS}duckdb.py::test_a_view_draws_anew_and_a_table_does_not",
            f"{_TESTS}polars.py::test_every_row_and_query_draws_anew",
            f"{_TESTS}sklearn.py::test_every_call_draws_anew",
            "tests/test_prompts.py::test_another_conversation_shares_nothing",
        ),
    ),
    Mistake(
        "calls: every call of a perturber repeats the noise of the last",
        "src/wordveil/perturber.py",
        {"            return thread_stream()": "            return RunKey.of_run(bytes(32), True).stream()"},
        (
            f"{_TESTS}presidio.py::test_every_call_draws_anew",
            f"{_TESTS}spacy.py::test_every_call_draws_anew",
            "tests/test_prompts.py::test_a_prompt_without_a_position_is_drawn_anew",
        ),
    ),
    Mistake(
        "calls: every frame has the noise of the last",
        "src/wordveil/perturber.py",
        {"        return RunKey()\n": "        return RunKey.of_run(bytes(32), True)\n"},
        (f"{_TESTS}dask.py::test_partitions_and_computations_draw_different_noise",),
    ),
    Mistake(
        "rows: equal texts of one call share their noise",
        _LIBRARY,
        {
            "    private, _ = perturber.perturb_column(texts, thread_stream())\n    return private": (
                "    distinct = [*dict.fromkeys(texts)]\n"
                "    private, _ = perturber.perturb_column(distinct, thread_stream())\n"
                "    return [private[distinct.index(text)] for text in texts]"
            )
        },
        (
            f"{_TESTS}datasets.py::test_only_named_columns_are_left",
            f"{_TESTS}duckdb.py::test_compressed_columns_are_drawn_by_row",
            f"{_TESTS}polars.py::test_categories_are_drawn_by_row",
            f"{_TESTS}sklearn.py::test_every_call_draws_anew",
            "tests/test_prompts.py::test_equal_messages_at_other_positions_are_drawn_separately",
        ),
    ),
    Mistake(
        "processes: a forked process repeats the noise of its parent",
        _RANDOMNESS,
        {"        return self._home == (os.getpid(), _generation)": "        return True"},
        (
            f"{_TESTS}datasets.py::test_every_call_and_process_draws_anew[2]",
            f"{_TESTS}langchain.py::test_what_is_written",
            f"{_TESTS}sklearn.py::test_processes_draw_different_noise",
            f"{_TESTS}spacy.py::test_processes_draw_different_noise",
            "tests/test_randomness.py::test_a_forked_child_never_repeats_its_parents_noise",
        ),
    ),
    Mistake(
        "processes: a forked process of LiteLLM repeats the noise of its parent",
        _RANDOMNESS,
        {"        return self._home == (os.getpid(), _generation)": "        return True"},
        (f"{_TESTS}litellm.py::test_what_is_written",),
        LITELLM,
    ),
    Mistake(
        "pickles: the key of a run can be pickled",
        _RANDOMNESS,
        {
            "    def __reduce__(self) -> NoReturn:\n": "    def __not_reduce__(self) -> NoReturn:\n",
        },
        ("tests/test_randomness.py::test_nothing_random_is_pickled_or_copied_or_shown[RunKey]",),
    ),
    Mistake(
        "pickles: a perturber takes a key along",
        "src/wordveil/perturber.py",
        {
            '"_pickled_fingerprint": self.fingerprint}': (
                '"_pickled_fingerprint": self.fingerprint, "_key": RunKey().expose()}'
            )
        },
        (
            f"{_TESTS}dask.py::test_what_is_sent_has_no_key",
            f"{_TESTS}datasets.py::test_what_is_sent_to_processes_has_no_key",
            f"{_TESTS}polars.py::test_a_serialized_query_has_no_key_and_no_vectors",
            f"{_TESTS}spacy.py::test_the_component_is_pickled_without_keys_and_vectors",
        ),
    ),
    Mistake(
        "pickles: vectors that have a name are pickled",
        "src/wordveil/embedding/vectors.py",
        {"        if self.pickles_by_name:": "        if False:"},
        (
            f"{_TESTS}polars.py::test_a_serialized_query_has_no_key_and_no_vectors",
            f"{_TESTS}sklearn.py::test_a_pickle_has_no_vectors",
            f"{_TESTS}spacy.py::test_the_component_is_pickled_without_keys_and_vectors",
        ),
    ),
    Mistake(
        "pickles: other vectors of that name are taken",
        "src/wordveil/embedding/catalog.py",
        {"    if embedding.fingerprint != fingerprint:": "    if False:"},
        ("tests/mechanisms/test_pickles.py::test_other_vectors_of_that_name",),
    ),
    Mistake(
        "Arrow: metadata of a table passes",
        "src/wordveil/runs/perturb_frame.py",
        {"return native.cast(bare_schema(native.schema))": "return native"},
        ("tests/tables/test_metadata.py::test_pandas_metadata_that_arrow_wrote",),
    ),
    Mistake(
        "Arrow: metadata of fields passes to frames and files",
        "src/wordveil/tables/arrow.py",
        {"    return pa.field(field.name, _bare_type(field.type), field.nullable)": "    return field"},
        ("tests/tables/test_metadata.py::test_arrow_tables", "tests/tables/test_metadata.py::test_parquet"),
    ),
    Mistake(
        "pandas: attrs and names pass",
        "src/wordveil/runs/perturb_frame.py",
        {"        native.attrs = {}\n        native.columns.names = [None]\n": "        pass\n"},
        ("tests/tables/test_metadata.py::test_pandas",),
    ),
    Mistake(
        "imports: a missing library is not named with its extra",
        _LIBRARY,
        {"        raise MissingExtraError(package, extra, purpose) from None": "        raise"},
        ("tests/test_missing_libraries.py::test_a_missing_library_is_named_with_its_extra",),
    ),
    Mistake(
        "imports: importing wordveil imports a library",
        "src/wordveil/errors.py",
        {"__all__ = [": "import polars  # noqa\n\n__all__ = ["},
        (
            "tests/test_missing_libraries.py::test_a_missing_library_is_named_with_its_extra",
            "tests/test_missing_libraries.py::test_everything_can_be_imported_without_the_libraries",
        ),
        reason=NOTICED + r"|subprocess\.CalledProcessError",
    ),
    Mistake(
        "checks: a secret in a file is not seen",
        _CHECKS,
        {"        assert not has_secret(path.read_bytes(), secret), path": "        pass"},
        (
            f"{_TESTS}checks.py::test_a_planted_secret_is_found",
            f"{_TESTS}checks.py::test_a_secret_is_found_in_every_format",
        ),
    ),
    Mistake(
        "checks: a key in a file is not seen",
        _CHECKS,
        {"assert not any(key in content or key.hex().encode() in content for key in keys), path": "pass"},
        (f"{_TESTS}checks.py::test_a_key_in_a_file_is_found",),
    ),
    Mistake(
        "checks: equal answers are not seen",
        _CHECKS,
        {"    assert len(set(listed)) == len(listed)\n": ""},
        (f"{_TESTS}checks.py::test_equal_and_unchanged_answers_are_found",),
    ),
    Mistake(
        "checks: a pickled source of noise is not seen",
        _CHECKS,
        {' if "wordveil.randomness" in string or "randomgen" in string]': " if False]"},
        (f"{_TESTS}checks.py::test_a_pickled_key_is_found",),
    ),
    Mistake(
        "checks: a script that asks the network is not seen",
        _CHECKS,
        {"    assert asked <= {*may_ask}, asked\n": ""},
        (f"{_TESTS}checks.py::test_a_script_that_asks_the_network_is_found",),
    ),
)
