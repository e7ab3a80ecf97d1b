"""Private texts by SQL: python examples/duckdb_sql.py."""

from pathlib import Path

import duckdb

import wordveil as wv

with duckdb.connect() as connection:
    wv.duckdb.register(connection, wv.Perturber.from_profile("balanced"))
    # A table, and not a view, which would draw new noise for every query.
    connection.execute(
        "CREATE TABLE private AS SELECT label, perturb(message) AS message FROM read_csv(?)",
        [str(Path(__file__).parent / "messages.csv")],
    )
    print(connection.execute("SELECT label, count(*) FROM private GROUP BY label ORDER BY label").fetchall())
    print(connection.execute("SELECT message FROM private LIMIT 1").fetchall())
