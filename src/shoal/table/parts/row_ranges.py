"""Chunks of a table in Parquet files as ranges of their rows, so that each can be read wherever its file can be."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from shoal.table.parts.csv_columns import literal, name_in_sql, text_in_sql
from shoal.table.parts.session import LEAST_FOR_DUCKDB, SHARE, session
from shoal.table.parts.stage import rows_in
from shoal.vocabulary.errors import FileError

Seen = TypeVar("Seen")

NUMBER = "file_row_number"
"""DuckDB's name for the place of a row in its file."""

ALLOWED = 4 * SHARE * LEAST_FOR_DUCKDB
"""Bytes that reading a chunk may take."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RowRange:
    """Some rows of one file, from `low` and below `high`.

    Parameters
    ----------
    options
        Of DuckDB's reader.
    cells
        What is read of each row.
    """

    path: Path
    options: str
    cells: str
    low: int
    high: int

    @property
    def query(self) -> str:
        source = f"read_parquet({text_in_sql(literal(self.path))}, {self.options}, {NUMBER} = TRUE)"
        return f"FROM {source} SELECT {self.cells} WHERE {NUMBER} >= {self.low} AND {NUMBER} < {self.high}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A chunk of a table."""

    number: int
    rows: tuple[RowRange, ...]

    @property
    def size(self) -> int:
        """Number of records."""
        return sum(rows.high - rows.low for rows in self.rows)

    @property
    def records(self) -> pl.DataFrame:
        """All of its records; as `read`."""
        return self.read()

    def read(self, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """Its records, in order; all columns if none are named.

        Raises
        ------
        FileError
            If a file cannot be read.
        """
        tables = []
        shown = "*" if columns is None else ", ".join(map(name_in_sql, columns))
        for rows in self.rows:
            try:
                with _reader(rows.path.parent).cursor() as connection:
                    tables.append(connection.sql(f"FROM ({rows.query}) SELECT {shown}").to_arrow_table())
            except Exception as error:
                if not type(error).__module__.startswith(("duckdb", "_duckdb", "pyarrow")):
                    raise
                raise FileError(
                    f"'{rows.path}' cannot be read to its end ({type(error).__name__}). Check that it is whole, and "
                    f"that every machine that works on it can read it by that name."
                ) from None
        return pl.concat(pl.DataFrame(table) for table in tables)


def chunks_of(files: Sequence[Path], options: str, cells: Sequence[str], size: int) -> tuple[Chunk, ...]:
    """The chunks of some files of one table, each of `size` records but the last; `cells`: columns read of a file."""
    return tuple(
        Chunk(number=number, rows=rows) for number, rows in enumerate(_ranges(files, options, cells, size)) if rows
    )


def _ranges(files: Sequence[Path], options: str, cells: Sequence[str], size: int) -> Iterator[tuple[RowRange, ...]]:
    waiting: list[RowRange] = []
    missing = size
    for path, chosen in zip(files, cells, strict=True):
        low, end = 0, rows_in(path)
        while low < end:
            high = min(low + missing, end)
            waiting.append(RowRange(path=path, options=options, cells=chosen, low=low, high=high))
            missing -= high - low
            low = high
            if not missing:
                yield tuple(waiting)
                waiting, missing = [], size
    yield tuple(waiting)


@lru_cache(maxsize=4)
def _reader(folder: Path) -> Any:
    """A database for the chunks of a folder, which are read one after another."""
    return session(ALLOWED, folder, threads=1)


def looked_at(look: Callable[[pl.DataFrame, int], Seen], chunk: Chunk) -> Seen:
    """The result of a function of a chunk, called with its records and its number."""
    return look(chunk.records, chunk.number)
