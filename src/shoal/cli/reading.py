"""Tables that commands read, with the options for reading them, and records of earlier runs."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.terminal import Terminal
from shoal.table.files.database import DUCKDB, Database, is_address, like_address
from shoal.vocabulary.errors import FileError

if TYPE_CHECKING:
    from shoal.table.files.table import Table


class _File(click.Path):
    """A path to read. An address of a database is refused without being shown, since it may hold a password."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        if isinstance(value, str) and like_address(value) and not Path(value).exists():
            raise FileError(self.refusal(value))
        return super().convert(value, parameter, context)

    def refusal(self, value: str) -> str:
        """Message for an address where a file is needed."""
        return "A file is needed here, and the address of a database was given. Write the table to a file first."


class _Data(_File):
    """A table to read: a path, or the address of a database."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        if isinstance(value, str) and is_address(value):
            return Database(address=value)
        if isinstance(value, str) and value.lower().endswith(".duckdb"):
            return Database(address=f"{DUCKDB}{value}")
        return super().convert(value, parameter, context)

    def refusal(self, value: str) -> str:
        return "The address of the database cannot be read. It is like postgresql://user@host/name."


FILE = _File(path_type=Path)


DATA = _Data(path_type=Path)


class _Output(click.Path):
    """A path to write to, which must not be a pipe."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        if str(value) == "-":
            self.fail("output is put in its place as a whole or not at all, so it cannot be a pipe: name a place.")
        return super().convert(value, parameter, context)


OUTPUT = _Output(path_type=Path)
DOUBTED = ("quasi-identifier", "confidential", "other", "weight")
"""Roles of columns whose level of measurement matters."""

READING = (
    click.option("--delimiter", help="Separator of cells in a text file; detected by default."),
    click.option(
        "--decimal", type=click.Choice([".", ","]), default=".", show_default=True, help="Decimal mark of a text file."
    ),
    click.option("--encoding", help="Encoding of a text file; detected by default."),
    click.option("--sheet", help="Sheet of an Excel file; the first by default."),
    click.option(
        "--absent",
        type=click.Choice(["refuse", "missing"]),
        help="Columns that some files of a folder lack: refuse (default) them, or take them as missing there.",
    ),
)


Options = dict[str, Any]
"""Options of a command, by the names of function parameters."""


def reading_options(command: Any) -> Any:
    """Give a command the options for reading files, as one mapping."""

    @wraps(command)
    def with_reading(
        *args: Any,
        delimiter: str | None,
        decimal: str,
        encoding: str | None,
        sheet: str | None,
        absent: str | None,
        **others: Any,
    ) -> Any:
        reading = {"delimiter": delimiter, "decimal": decimal, "encoding": encoding, "sheet": sheet, "absent": absent}
        return command(*args, reading=reading, **others)

    for option in reversed(READING):
        with_reading = option(with_reading)
    return with_reading


def query_option(argument: str) -> Callable[[Any], Any]:
    """Give a command an option for the query of a database that one of its arguments names."""

    def give(command: Any) -> Any:
        @wraps(command)
        def with_query(*args: Any, query: str | None, **others: Any) -> Any:
            return command(*args, **{**others, argument: _asked(others[argument], query)})

        return click.option("--query", help="For a database: a SELECT, or the name of a table.")(with_query)

    return give


def _asked(data: Any, query: str | None) -> Path | Database | tuple[Path, ...]:
    """The file, the database with its query, several files, or none."""
    if isinstance(data, tuple) and not data:
        if query is not None:
            raise FileError("--query is for a database, and none was named. Name its address.")
        return data
    if isinstance(data, tuple) and len(data) > 1:
        if query is not None or any(isinstance(one, Database) for one in data):
            raise FileError("Several linked tables are files. Write the tables of a database to files first.")
        return data
    data = data[0] if isinstance(data, tuple) else data
    if not isinstance(data, Database):
        if query is not None:
            raise FileError("--query is for a database, and a file was named. Leave it out.")
        return Path(data)
    if query is None:
        raise FileError("A database holds many tables. Name one, or give a SELECT, with --query.")
    return replace(data, query=query)


def read(terminal: Terminal, data: Path | Database, reading: Mapping[str, Any], plan: Any = None) -> Any:
    """A table, with a note for each column whose type is in doubt and that the plan does not settle."""
    from shoal.table.files.tables import read_table

    table = data.read() if isinstance(data, Database) else read_table(data, **reading)
    note_doubts(terminal, table, plan)
    return table


def note_doubts(terminal: Terminal, table: "Table", plan: Any = None) -> None:
    """Print a note for each column whose type is in doubt and that the plan does not settle."""
    columns = plan.schema.columns if plan is not None else {}
    for name, note in table.notes.items():
        if name not in columns or (columns[name].level is None and columns[name].role in DOUBTED):
            terminal.note(note)
