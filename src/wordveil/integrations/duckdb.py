"""DuckDB: an SQL function that makes texts private (extra `duckdb`)."""

import re
from typing import Any, Final

from wordveil.errors import ParameterError, sealed
from wordveil.integrations.library import checked_perturber, library, perturbed_column
from wordveil.perturber import Perturber, warn_if_weak

__all__ = ["register"]

duckdb: Final = library("duckdb", "duckdb", "wv.duckdb")
pa: Final = library("pyarrow", "duckdb", "wv.duckdb")

_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


def register(connection: Any, perturber: Perturber, name: str = "perturb") -> None:
    """Add a function to a connection: `SELECT perturb(message) FROM …` returns private texts.

    It draws new noise for every row of every query, also for a constant. A view is a query, and so is a
    relation, `connection.sql(…)`, each time that it is printed or fetched: to use rows more than once, store
    them with `CREATE TABLE … AS SELECT perturb(…)`.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        Where the function is known. It is not stored in the database.
    perturber : Perturber
        Makes the texts private. Nulls stay null, unless the policy pads.
    name : str
        The name of the function in SQL.

    Examples
    --------
    >>> import duckdb
    >>> import wordveil as wv
    >>> connection = duckdb.connect()
    >>> wv.duckdb.register(connection, wv.Perturber.from_profile("balanced"))
    >>> [(text,)] = connection.execute("SELECT perturb('book a flight')").fetchall()
    >>> len(text.split())
    3
    """
    checked_perturber(perturber, "wv.duckdb.register")
    if not isinstance(connection, duckdb.DuckDBPyConnection):
        raise ParameterError("The 'connection' parameter of wv.duckdb.register must be a DuckDB connection.")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise ParameterError(
            "The 'name' parameter of wv.duckdb.register must consist of letters, digits and _."
        )
    warn_if_weak(perturber, None, stacklevel=3)

    @sealed
    def perturb(texts: Any) -> Any:
        return pa.array(perturbed_column(perturber, texts.to_pylist()), pa.string())

    try:
        connection.create_function(
            name,
            perturb,
            ["VARCHAR"],
            "VARCHAR",
            type="arrow",
            null_handling="special",  # a policy may pad missing texts
            side_effects=True,  # or a constant is perturbed once for all rows, and equal calls are merged
        )
    except (duckdb.NotImplementedException, duckdb.CatalogException):
        raise ParameterError(
            "The 'name' parameter of wv.duckdb.register must be the name of no other function. "
            f"Hint: name=…; or connection.remove_function('{name}'), if it was registered before."
        ) from None
    except duckdb.ConnectionException:
        raise ParameterError(
            "The 'connection' parameter of wv.duckdb.register must be open. Hint: duckdb.connect(…)."
        ) from None
