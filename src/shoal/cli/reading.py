"""What commands read: tables, with the options of reading them, and the records of earlier runs."""

import json
from collections.abc import Collection, Mapping
from functools import wraps
from pathlib import Path
from typing import Any

import click

from shoal.cli.terminal import Terminal
from shoal.data.text_files import read_text
from shoal.errors import FileError

LARGEST_RECORD = 1 << 30
"""Bytes of a record of a run: it has a figure for every column, and columns can be many."""

FILE = click.Path(path_type=Path)
DOUBTED = ("quasi-identifier", "confidential", "other", "weight")
"""Roles of columns whose level of measurement matters."""

READING = (
    click.option("--delimiter", help="What separates cells in a text file; found out by default."),
    click.option(
        "--decimal", type=click.Choice([".", ","]), default=".", show_default=True, help="Decimal mark of a text file."
    ),
    click.option("--encoding", help="Encoding of a text file; found out by default."),
    click.option("--sheet", help="Sheet of an Excel file; the first by default."),
)


def reading_options(command: Any) -> Any:
    """Give a command the options of reading, as one mapping."""

    @wraps(command)
    def with_reading(
        *args: Any, delimiter: str | None, decimal: str, encoding: str | None, sheet: str | None, **others: Any
    ) -> Any:
        how = {"delimiter": delimiter, "decimal": decimal, "encoding": encoding, "sheet": sheet}
        return command(*args, reading=how, **others)

    for option in reversed(READING):
        with_reading = option(with_reading)
    return with_reading


def read(terminal: Terminal, path: Path, reading: Mapping[str, Any], plan: Any = None) -> Any:
    """A table from a file, with a note for each column that may have been meant otherwise than the plan knows."""
    from shoal.files.tables import read_table

    table = read_table(path, **reading)
    columns = plan.schema.columns if plan is not None else {}
    for name, note in table.notes.items():
        if name not in columns or (columns[name].level is None and columns[name].role in DOUBTED):
            terminal.note(note)
    return table


def json_of(path: Path, what: str, keys: Collection[str]) -> dict[str, Any]:
    """A mapping with some keys from a JSON file."""
    try:
        content = json.loads(read_text(path, "File", largest=LARGEST_RECORD))
        if not isinstance(content, dict) or not set(keys) <= content.keys():
            raise ValueError
        return content
    except (OSError, ValueError, RecursionError):
        raise FileError(f"'{path}' cannot be read as the record of an {what}. Check the directory.") from None
