"""Tables of databases in the studio, by their address as the command line takes it, with a query or a table's name."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from shoal.table.files.database import DUCKDB, NAME, Database, is_address
from shoal.vocabulary.errors import FileError


def address_of(path: str) -> str | None:
    """The address, if a path is one or that of a DuckDB file."""
    if is_address(path):
        return path
    return f"{DUCKDB}{Path(path).expanduser()}" if path.lower().endswith(".duckdb") else None


def database_of(path: str, how: Mapping[str, Any]) -> Database | None:
    """The table of a database, if a path names one.

    Raises FileError if no table of it is named, or one of what is no database.
    """
    query, address = str(how.get("query", "")), address_of(path)
    if address is None and query:
        raise FileError("A query is for a database, and a file was named. Leave the query out.")
    if address is not None and not query:
        raise FileError("A database holds many tables. Name one, or give a SELECT, below its address.")
    return None if address is None else Database(address=address, query=query)


def named(database: Database) -> str:
    """Name of a table of a database, without address and query."""
    return f"{database.query if NAME.fullmatch(database.query) else 'query'} of a {database.name}"
