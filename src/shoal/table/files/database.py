"""Tables and queries of a database, read through SQLAlchemy.

An address that others may see (in a plan of jobs, a process list or a log) never holds a password. The password comes
from the environment, from a file named there, or from the sources that the database's own library reads (PGPASSFILE,
PGSERVICE).
"""

import os
import re
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from shoal.table.text_files import read_text
from shoal.vocabulary.errors import FileError, MissingDependency, printable, quoted

if TYPE_CHECKING:  # the commands know addresses before they load what reads tables
    import polars as pl

    from shoal.table.files.table import Table

PASSWORD, PASSWORD_FILE = "SHOAL_PASSWORD", "SHOAL_PASSWORD_FILE"
"""Environment variables that hold a password, or name a file whose first line is one."""

LARGEST_PASSWORD = 1 << 12
"""Largest size of a password file in bytes."""

DRIVERS = {"postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}
"""Default driver of addresses that name only the database."""

SECRET = re.compile(r"pass(word|wd|phrase)?|pwd|secret|token|odbc_connect", re.IGNORECASE)
"""Names of query settings of an address that are, or hold, a password with any driver."""

DUCKDB = "duckdb:///"
"""Beginning of the address of a DuckDB file, which is followed by its path."""

NO_TABLE = "The query of the {} gives no table. Give a SELECT, or the name of a table."

ADDRESS = re.compile(r"[a-z][a-z0-9]*(\+[a-z0-9_]+)?://", re.IGNORECASE)
LIKE_ADDRESS = re.compile(r"[a-z][a-z0-9+._-]+:/", re.IGNORECASE)  # C:/ is a drive
NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)?")


@dataclass(frozen=True, kw_only=True)
class Database:
    """A table of a database, as named on the command line."""

    address: str  # Address for SQLAlchemy, without a password: `postgresql://user@host/database`
    query: str = ""  # A SELECT, or the name of a table, which may be `schema.table`

    @property
    def name(self) -> str:
        """Name for the record, without user and host."""
        return f"{self.address.partition(':')[0]} database"

    def read(self) -> "Table":
        """The rows, read by one query.

        Raises
        ------
        FileError
            If the address has a password, the database cannot be reached, or the query fails. The message of the
            database itself is not shown, since it may contain cells.
        """
        import polars as pl

        from shoal.table.files.table import Table

        if self.address.startswith(DUCKDB):
            return Table(frame=_plain(self._of_duckdb()), described=self.name)
        sql = _sqlalchemy()
        engine = sql.create_engine(_with_password(sql, self.address), poolclass=sql.pool.NullPool)
        try:
            with engine.connect() as connection:
                sql.event.listen(connection, "after_cursor_execute", self._check_rows)
                frame = pl.read_database(_statement(sql, self.query), connection, infer_schema_length=None)
        except sql.exc.OperationalError:
            raise FileError(
                f"The {self.name} cannot be reached, or has no such table. Check address, user and query, and give the "
                f"password in {PASSWORD} or {PASSWORD_FILE}."
            ) from None
        except (sql.exc.SQLAlchemyError, pl.exceptions.PolarsError) as error:
            raise FileError(
                f"The {self.name} does not answer the query ({type(error).__name__}). Check the names in it, and try "
                f"it in the database's own client."
            ) from None
        return Table(frame=_plain(frame), described=self.name)

    def _of_duckdb(self) -> "pl.DataFrame":
        """The rows of a DuckDB file, which is opened for reading only."""
        try:
            duckdb = import_module("duckdb")
            import_module("pyarrow")  # what comes out of DuckDB is Arrow
        except ImportError:
            raise MissingDependency("Reading a DuckDB file", "duckdb", "duckdb") from None
        path = self.address.removeprefix(DUCKDB)
        if not Path(path).is_file():
            raise FileError(
                f"There is no DuckDB file '{printable(path)}'. An address is like {DUCKDB}folder/name.duckdb."
            )
        try:
            with duckdb.connect(path, read_only=True) as connection:
                rows = connection.sql(_select(self.query))
                if rows is None:
                    raise FileError(NO_TABLE.format(self.name))
                frame: pl.DataFrame = rows.pl()
        except duckdb.Error as error:
            raise FileError(
                f"The {self.name} does not answer the query ({type(error).__name__}). Check the names in it, and that "
                f"no other program has the file open for writing."
            ) from None
        return frame

    def _check_rows(self, connection: Any, cursor: Any, *_: Any) -> None:
        """Refuse a statement that returns no rows; it is not committed, so it has no effect."""
        if cursor.description is None:
            raise FileError(NO_TABLE.format(self.name))


def like_address(text: str) -> bool:
    """True if a text looks like an address; it may hold a password, so it is never shown."""
    return LIKE_ADDRESS.match(text) is not None


def is_address(text: str) -> bool:
    """True if a text is the address of a database rather than a path."""
    return ADDRESS.match(text) is not None


def _sqlalchemy() -> Any:
    try:
        return import_module("sqlalchemy")
    except ImportError:
        raise MissingDependency("Reading a database", "sqlalchemy", "sql") from None


def _with_password(sql: Any, address: str) -> Any:
    """The address with its driver, and with the password from the environment."""
    try:
        url = sql.make_url(address)
    except (sql.exc.ArgumentError, ValueError):
        raise FileError("The address of the database cannot be read. It is like postgresql://user@host/name.") from None
    if url.password is not None or any(SECRET.search(name) and name != "passfile" for name in url.query):
        raise FileError(
            f"The address of the database has a password, which others can see. Put it into the environment "
            f"({PASSWORD}), or into a file that {PASSWORD_FILE} names."
        )
    if password := _password():
        url = url.set(password=password)
    url = url.set(drivername=DRIVERS.get(url.drivername, url.drivername))
    try:
        url.get_dialect().import_dbapi()
    except sql.exc.NoSuchModuleError:
        raise FileError(
            f"There is no kind of database '{printable(url.drivername)}'. An address begins as in SQLAlchemy: "
            f"postgresql://, sqlite://, mysql://, oracle://, mssql+pyodbc://, {DUCKDB}."
        ) from None
    except ImportError as absent:
        if url.drivername == DRIVERS["postgresql"]:
            raise MissingDependency("A PostgreSQL database", "psycopg", "sql") from None
        raise FileError(
            f"A database at {printable(url.drivername)}:// needs its driver, the Python package "
            f"{printable(absent.name or url.drivername)!r}; install that beside shoal."
        ) from None
    return url


def _password() -> str:
    if file := os.environ.get(PASSWORD_FILE):
        return read_text(Path(file), "Password file", largest=LARGEST_PASSWORD).partition("\n")[0]
    return os.environ.get(PASSWORD, "")


def _select(query: str) -> str:
    """The query itself; for the name of a table, a SELECT of all its columns."""
    return f"FROM {query}" if NAME.fullmatch(query) else query


def _statement(sql: Any, query: str) -> Any:
    """The query itself; for the name of a table, a SELECT of all its columns."""
    if not NAME.fullmatch(query):
        return sql.text(query)
    schema, _, table = query.rpartition(".")
    return sql.select(sql.text("*")).select_from(sql.table(table, schema=schema or None))


def _plain(frame: "pl.DataFrame") -> "pl.DataFrame":
    """The frame with decimals as floats. Raises FileError naming the columns of nested or object types."""
    import polars as pl

    if odd := [c.name for c in frame if c.dtype.is_nested() or c.dtype == pl.Object]:
        raise FileError(f"Columns of the query have types that a table cannot hold: {quoted(odd)}. Cast them to text.")
    return frame.with_columns(pl.selectors.decimal().cast(pl.Float64))
