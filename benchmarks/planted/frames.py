"""Mistakes in `wv.polars` and `wv.duckdb`, and in the recipes for Dask and Ray Data."""

from typing import Final

from benchmarks.planted.mistake import Mistake
from benchmarks.planted.paths import DUCKDB as _DUCKDB
from benchmarks.planted.paths import DUCKDB_TESTS as _DUCKDB_TESTS
from benchmarks.planted.paths import POLARS as _POLARS
from benchmarks.planted.paths import POLARS_TESTS as _POLARS_TESTS

MISTAKES: Final = (
    Mistake(
        "Polars: nulls become texts",
        _POLARS,
        {
            "perturbed_column(self._perturber, texts.to_list())": 'perturbed_column(self._perturber, texts.fill_null("").to_list())'
        },
        (f"{_POLARS_TESTS}::test_every_row_and_query_draws_anew",),
    ),
    Mistake(
        "Polars: nulls are not padded",
        _POLARS,
        {
            "        return pl.Series(texts.name, private, dtype=pl.String)": (
                "        answers = pl.Series(texts.name, private, dtype=pl.String)\n"
                "        return answers.zip_with(texts.is_not_null(), pl.Series([None], dtype=pl.String))"
            )
        },
        (f"{_POLARS_TESTS}::test_padding_covers_nulls",),
        reason=r"AttributeError: 'NoneType' object has no attribute 'split'",
    ),
    Mistake(
        "Polars: a lazy query is drawn once more to know its type",
        _POLARS,
        {"return_dtype=pl.String, ": ""},
        (f"{_POLARS_TESTS}::test_nothing_is_drawn_to_know_the_type_of_a_lazy_query",),
    ),
    Mistake(
        "Polars: a query is computed when it is written, and repeats its noise",
        _POLARS,
        {
            "    return texts.map_batches(_PerturbSeries(perturber),": (
                "    once, call = {}, _PerturbSeries(perturber)\n"
                "    return texts.map_batches(lambda part: once.setdefault(part.len(), call(part)),"
            )
        },
        (f"{_POLARS_TESTS}::test_every_row_and_query_draws_anew",),
    ),
    Mistake(
        "Polars: a streaming query is in memory at once",
        _POLARS,
        {", is_elementwise=True)": ")"},
        (f"{_POLARS_TESTS}::test_batches_of_a_stream",),
    ),
    Mistake(
        "Polars: columns that are not text are taken",
        _POLARS,
        {"        if texts.dtype not in (": "        if False and texts.dtype not in ("},
        (f"{_POLARS_TESTS}::test_numbers_are_refused",),
    ),
    Mistake(
        "DuckDB: a constant is perturbed once, and equal calls are merged",
        _DUCKDB,
        {"        side_effects=True,": "        side_effects=False,"},
        (
            f"{_DUCKDB_TESTS}::test_a_constant_is_drawn_for_every_row",
            f"{_DUCKDB_TESTS}::test_equal_calls_are_drawn_separately",
        ),
    ),
    Mistake(
        'DuckDB: rows come one at a time, without type="arrow"',
        _DUCKDB,
        {
            "        return pa.array(perturbed_column(perturber, texts.to_pylist()), pa.string())": (
                "        return perturbed_column(perturber, [texts])[0]"
            ),
            '        type="arrow",': '        type="native",',
        },
        (f"{_DUCKDB_TESTS}::test_rows_come_in_batches",),
    ),
    Mistake(
        "DuckDB: missing texts are not padded",
        _DUCKDB,
        {'null_handling="special"': 'null_handling="default"'},
        (f"{_DUCKDB_TESTS}::test_nulls",),
        reason=r"AttributeError: 'NoneType' object has no attribute 'split'",
    ),
    Mistake(
        "DuckDB: nulls become texts",
        _DUCKDB,
        {"texts.to_pylist()": 'texts.fill_null("").to_pylist()'},
        (f"{_DUCKDB_TESTS}::test_nulls",),
    ),
    Mistake(
        "Dask: the recipe does not compute once",
        "examples/dask_partitions.py",
        {'.compute(scheduler="processes")': ""},
        ("tests/integrations/test_dask.py::test_what_is_written_by_processes",),
    ),
    Mistake(
        "Dask: columns that are not named stay",
        "examples/dask_partitions.py",
        {
            'keep="label")\n    return private[["label", "message"]]': (
                'keep=[name for name in part.columns if name != "message"])\n    return private'
            ),
            "    columns = pd.DataFrame({": '    columns = pd.DataFrame({"id": pd.Series(dtype="str"), ',
        },
        ("tests/integrations/test_dask.py::test_what_is_written_by_processes",),
    ),
    Mistake(
        "Ray: columns that are not named stay",
        "examples/ray_batches.py",
        {
            'keep="label")\n        return private[["label", "message"]]': (
                'keep=[name for name in batch.columns if name != "message"])\n        return private'
            ),
        },
        (
            "tests/integrations/test_ray.py::"
            "test_actors_and_consumptions_draw_different_noise_and_nothing_is_written",
        ),
        is_alone=True,
    ),
    Mistake(
        "Ray: the recipe does not materialize",
        "examples/ray_batches.py",
        {".materialize()": ""},
        (
            "tests/integrations/test_ray.py::"
            "test_actors_and_consumptions_draw_different_noise_and_nothing_is_written",
        ),
        is_alone=True,
    ),
)
