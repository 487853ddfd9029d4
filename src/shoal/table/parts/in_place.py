"""A table that is only looked at: its Parquet files are read where they lie, and not written anew."""

from dataclasses import dataclass
from typing import Any

import polars as pl

from shoal.table.parts.csv_columns import literal, name_in_sql, text_in_sql
from shoal.table.parts.engine import Engine
from shoal.table.parts.row_ranges import Chunk
from shoal.table.parts.source import Source, plain
from shoal.table.parts.stage import Reader, Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class StageInPlace(Stage):
    """All records of some Parquet files.

    Parameters
    ----------
    parts
        Rows of the files, in order.
    types
        Of the columns, those of `plain` cells.
    strange
        Columns of numbers with some that are none, which are missing cells.
    """

    parts: tuple[Chunk, ...]  # type: ignore[assignment] # files of the table itself are never written
    types: dict[str, pl.DataType]
    strange: tuple[str, ...]

    @classmethod
    def of_source(cls, source: Source, engine: Engine) -> "StageInPlace":
        """The records of a source that has ranges."""
        first = source.parts[0].limit(0).to_arrow_table()
        types = dict(plain(pl.DataFrame(first)).schema)
        floats = [name for name, dtype in types.items() if dtype.is_float()]
        asked = ", ".join(f"count_if(isnan({name_in_sql(name)}))" for name in floats)
        counts = source.query.aggregate(asked).fetchall()[0] if floats else ()
        return cls(
            parts=source.ranges,
            sizes=tuple(chunk.size for chunk in source.ranges),
            engine=engine,
            types=types,
            strange=tuple(name for name, count in zip(floats, counts) if count),
        )

    @property
    def schema(self) -> dict[str, pl.DataType]:
        return dict(self.types)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.types)

    def relation(self, connection: Any) -> Any:
        rows = [rows for chunk in self.parts for rows in chunk.rows]
        files = ", ".join(text_in_sql(literal(path)) for path in dict.fromkeys(rows.path for rows in rows))
        table = connection.sql(f"FROM read_parquet([{files}], {rows[0].options}) SELECT {rows[0].cells}")
        cells = {name: name_in_sql(name) for name in self.types}
        projected = cells | {name: f"nullif({cells[name]}, 'nan') AS {cells[name]}" for name in self.strange}
        return table.project(", ".join(projected.values()))

    def _reader(self, part: Chunk) -> Reader:  # type: ignore[override]
        return _Plain(part)


@dataclass(frozen=True, slots=True)
class _Plain:
    chunk: Chunk

    def __call__(self, columns: Any) -> pl.DataFrame:
        return plain(self.chunk.read(columns))
