"""DuckDB: constants, equal calls and compressed columns, which it would otherwise perturb once."""

import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest

import wordveil as wv
from wordveil.integrations.library import perturbed_column

from .checks import SECRET, TEXT, check_distinct, check_no_keys, check_no_secret, run


@pytest.fixture
def connection(perturber: wv.Perturber) -> Iterator[Any]:
    with duckdb.connect(":memory:") as connection:
        wv.duckdb.register(connection, perturber)
        yield connection


def texts(connection: Any, query: str) -> list[str]:
    return [text for row in connection.execute(query).fetchall() for text in row]


def test_a_constant_is_drawn_for_every_row(connection: Any) -> None:
    check_distinct(texts(connection, f"SELECT perturb('{TEXT}') FROM range(6)"))


def test_equal_calls_are_drawn_separately(connection: Any) -> None:
    check_distinct(
        texts(connection, f"SELECT perturb(m), perturb(m) FROM (SELECT '{TEXT}' AS m FROM range(3))")
    )


def test_compressed_columns_are_drawn_by_row(connection: Any, tmp_path: Path) -> None:
    """A dictionary holds each text once, and DuckDB may call functions for its entries only."""
    table = pa.table({"m": pa.array([TEXT] * 3_000).dictionary_encode()})
    connection.register("source", table)
    check_distinct(texts(connection, "SELECT perturb(m) FROM (SELECT m::VARCHAR AS m FROM source)"))
    connection.execute(f"ATTACH '{tmp_path}/compressed.duckdb' AS stored")
    connection.execute("CREATE TABLE stored.t AS SELECT m::VARCHAR AS m FROM source")
    connection.execute("CHECKPOINT stored")
    check_distinct(texts(connection, "SELECT perturb(m) FROM stored.t"))


def test_equal_texts_are_grouped_after_they_are_perturbed(connection: Any) -> None:
    query = f"SELECT count(DISTINCT perturb(m)) FROM (SELECT '{TEXT}' AS m FROM range(100))"
    assert connection.execute(query).fetchall() == [(100,)]


def test_nulls(connection: Any, small: wv.Embedding) -> None:
    assert texts(connection, "SELECT perturb(NULL)") == [None]
    padded = wv.Perturber(wv.Mahalanobis(small, 0.01), wv.Policy(pad_to=4))
    wv.duckdb.register(connection, padded, "padded")
    query = "SELECT padded(m) FROM (VALUES (NULL), (''), ('tea')) t(m)"
    assert [len(text.split()) for text in texts(connection, query)] == [4, 4, 4]


def test_many_rows_on_many_threads(connection: Any) -> None:
    connection.execute("SET threads = 4")
    connection.execute(f"CREATE TABLE t AS SELECT '{TEXT}' AS m FROM range(20_000)")
    assert connection.execute("SELECT count(DISTINCT perturb(m)) FROM t").fetchall() == [(20_000,)]


def test_rows_come_in_batches(connection: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search is many times as fast for many words at once."""
    sizes: list[int] = []

    def counted(perturber: wv.Perturber, texts: Any) -> Any:
        sizes.append(len(texts))
        return perturbed_column(perturber, texts)

    monkeypatch.setattr("wordveil.integrations.duckdb.perturbed_column", counted)
    check_distinct(texts(connection, f"SELECT perturb(m) FROM (SELECT '{TEXT}' AS m FROM range(3_000))"))
    assert sum(sizes) == 3_000
    assert max(sizes) > 1_000


def test_a_view_draws_anew_and_a_table_does_not(connection: Any) -> None:
    connection.execute(f"CREATE VIEW v AS SELECT perturb('{TEXT}') AS m")
    connection.execute("CREATE TABLE t AS SELECT m FROM v")
    check_distinct([*texts(connection, "FROM v"), *texts(connection, "FROM v"), *texts(connection, "FROM t")])
    assert texts(connection, "FROM t") == texts(connection, "FROM t")


def test_generated_columns_and_joins_with_itself_draw_anew(connection: Any) -> None:
    """docs/integrations/duckdb.md says so."""
    connection.execute("CREATE TABLE written (m VARCHAR, p VARCHAR GENERATED ALWAYS AS (perturb(m)))")
    connection.execute("INSERT INTO written (m) VALUES (?)", [TEXT])
    check_distinct(connection.execute("SELECT p FROM written").fetchone()[0] for _ in range(2))
    connection.execute("CREATE VIEW private AS SELECT perturb(m) AS p FROM written")
    check_distinct(connection.execute("SELECT a.p, b.p FROM private a, private b").fetchone())
    query = "WITH x AS NOT MATERIALIZED (SELECT perturb(m) AS p FROM written) SELECT a.p, b.p FROM x a, x b"
    check_distinct(connection.execute(query).fetchone())


def test_a_relation_draws_anew_each_time_and_an_execution_once(connection: Any) -> None:
    """What docs/integrations/duckdb.md warns of. If this fails, DuckDB has changed."""
    relation = connection.sql(f"SELECT perturb('{TEXT}') AS m")
    check_distinct([relation.fetchall()[0][0], relation.df()["m"][0], str(relation).split("\n")[3]])
    result = connection.execute(f"SELECT perturb('{TEXT}') FROM range(3)")
    check_distinct(text for rows in (result.fetchmany(1), result.fetchall()) for (text,) in rows)
    assert not result.fetchall()


def test_metadata_of_arrow_is_left_behind(connection: Any) -> None:
    field = pa.field("m", pa.string(), metadata={"note": SECRET})
    table = pa.table({"m": [TEXT]}, schema=pa.schema([field], metadata={"note": SECRET}))
    connection.register("source", table)
    result = connection.sql("SELECT perturb(m) AS m FROM source").to_arrow_table()
    assert not result.schema.metadata
    assert not result.schema.field("m").metadata


def test_what_is_written(watched: Path) -> None:
    lines = run(
        """
        import duckdb
        with duckdb.connect("private.duckdb") as connection:
            wv.duckdb.register(connection, small_perturber())
            connection.execute("SET temp_directory = 'spilled'; SET enable_progress_bar = false")
            connection.execute("CREATE TABLE t AS SELECT perturb(?) AS m FROM range(5)", [TEXT])
            connection.execute("COPY t TO 't.parquet'")
            connection.execute("CHECKPOINT")
            for row in connection.execute("FROM t").fetchall():
                print(*row)
        """,
        watched,
    )
    assert len(lines) == 5
    check_distinct(lines)
    assert {"private.duckdb", "t.parquet"} <= {path.name for path in check_no_secret(watched)}
    check_no_keys(watched)


def test_a_database_of_texts_can_be_read_by_others(tmp_path: Path) -> None:
    """What docs/integrations/duckdb.md warns of."""
    with duckdb.connect(tmp_path / "raw.duckdb") as connection:
        connection.execute(f"CREATE TABLE t AS SELECT '{TEXT}' AS m")
    assert stat.S_IMODE((tmp_path / "raw.duckdb").stat().st_mode) & 0o044


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "drop table"}, "'name'"),
        ({"name": 7}, "'name'"),
        ({"perturber": None}, "must be a Perturber"),
    ],
)
def test_bad_arguments(
    options: dict[str, Any], message: str, connection: Any, perturber: wv.Perturber
) -> None:
    with pytest.raises(wv.ParameterError, match=message):
        wv.duckdb.register(connection, **({"perturber": perturber} | options))
    with pytest.raises(wv.ParameterError, match="'connection'"):
        wv.duckdb.register(None, perturber)


@pytest.mark.parametrize("name", ["perturb", "PERTURB", "lower", "sum", "macro"])
def test_a_name_that_is_taken_is_refused(name: str, connection: Any, perturber: wv.Perturber) -> None:
    connection.execute("CREATE MACRO macro(m) AS m")
    with pytest.raises(wv.ParameterError, match=r"'name' .* Hint: name=…; or connection\.remove_function"):
        wv.duckdb.register(connection, perturber, name)
    connection.remove_function("perturb")
    wv.duckdb.register(connection, perturber)
    check_distinct(texts(connection, f"SELECT perturb('{TEXT}') FROM range(2)"))


def test_a_closed_connection_is_refused(perturber: wv.Perturber) -> None:
    connection = duckdb.connect()
    connection.close()
    with pytest.raises(wv.ParameterError, match=r"'connection' .* must be open"):
        wv.duckdb.register(connection, perturber)


def test_errors_have_no_text(connection: Any) -> None:
    with pytest.raises(duckdb.Error) as caught:
        connection.execute("SELECT perturb(repeat(?, 70000))", [TEXT]).fetchall()
    assert "over 16 MiB" in str(caught.value)
    assert SECRET not in str(caught.value)
