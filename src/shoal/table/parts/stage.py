"""A table on its way: Parquet parts in a folder of the run, each record with its row in the table that came in."""

import os
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from shoal.table.parts.csv_columns import literal
from shoal.table.parts.engine import HERE, Dealt, Engine

Seen = TypeVar("Seen")

ROW = "shoal: row"
GROUP = "shoal: group"
"""Columns of a stage beside the table's own: the row of the table that came in, and the group of the last partition."""

OWN = (ROW, GROUP)

Reader = Callable[[Sequence[str]], pl.DataFrame]
"""Reads some columns of a part."""


@dataclass(frozen=True, kw_only=True)
class Stage:
    """All records at one point of a plan.

    Parameters
    ----------
    parts
        Files, in order.
    sizes
        Records of each.
    engine
        Who looks at them.
    """

    parts: tuple[Path, ...]
    sizes: tuple[int, ...]
    engine: Engine = HERE

    @classmethod
    def of(cls, parts: Iterable[Path], engine: Engine = HERE) -> "Stage":
        """The stage of some files; those without records are left out."""
        counted = [(path, rows_in(path)) for path in parts]
        kept = [(path, n) for path, n in counted if n]
        return cls(parts=tuple(path for path, _ in kept), sizes=tuple(n for _, n in kept), engine=engine)

    @property
    def records(self) -> int:
        return sum(self.sizes)

    @cached_property
    def schema(self) -> dict[str, pl.DataType]:
        """The columns with the types that hold the cells of all parts."""
        schemas = dict.fromkeys(tuple(schema_in(path).items()) for path in self.parts)
        frames = [pl.DataFrame(schema=dict(items)) for items in schemas]
        return dict(pl.concat(frames, how="vertical_relaxed").schema)

    @property
    def columns(self) -> tuple[str, ...]:
        """The table's own columns."""
        return tuple(name for name in schema_in(self.parts[0]) if name not in OWN)

    def chunks(self, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """The parts one by one, of one schema."""
        for part in self._parts(columns):
            yield part.records

    def each(
        self, look: Callable[..., Seen], columns: Sequence[str] | None = None, *by_part: Sequence[Any]
    ) -> Iterable[Seen]:
        """The results of a function of each part, in their order.

        Parameters
        ----------
        look
            A function of a module, or a partial one, which is called with the records.
        columns
            That it looks at; all by default.
        by_part
            What else it is called with, each by part.
        """
        return self.engine.each(partial(_looked, look), self._parts(columns, *by_part))

    def dealt(
        self, deal: Callable[..., Dealt], count: int, folder: Path, columns: Sequence[str] | None = None
    ) -> list[Path]:
        """All records dealt out to files: `deal` is called with the records and the number of each part."""
        numbered = self._parts(columns, range(len(self.parts)))
        return self.engine.dealt(partial(_looked, deal), numbered, count, folder)

    def relation(self, connection: Any) -> Any:
        """All records, for DuckDB."""
        return connection.read_parquet([literal(path) for path in self.parts], union_by_name=True)

    def _parts(self, columns: Sequence[str] | None, *by_part: Sequence[Any]) -> "list[PartCall]":
        schema = self.schema
        types = schema if columns is None else {name: schema[name] for name in columns}
        together = zip(self.parts, *by_part, strict=True)
        return [PartCall(self._reader(part), types, tuple(given)) for part, *given in together]

    def _reader(self, part: Path) -> Reader:
        return partial(read_part, part)


@dataclass(frozen=True, slots=True)
class PartCall:
    """One part, and what a function is to be called with beside its records.

    Parameters
    ----------
    read
        Gives its cells of some columns.
    types
        Of its columns, as they are in all parts.
    """

    read: Reader
    types: dict[str, pl.DataType]
    given: tuple[Any, ...] = ()

    @property
    def records(self) -> pl.DataFrame:
        return self.read(list(self.types)).cast(pl.Schema(self.types))


def _looked(look: Callable[..., Seen], part: PartCall) -> Seen:
    return look(part.records, *part.given)


def rows_in(path: Path) -> int:
    """Records of a Parquet file, from its footer."""
    import pyarrow.parquet as pq

    return int(pq.read_metadata(path).num_rows)


def schema_in(path: Path) -> dict[str, pl.DataType]:
    """Columns and types of a Parquet file, from its footer."""
    with path.open("rb") as file:  # of a path the signs * ? [ are a pattern
        return dict(pl.read_parquet_schema(file))


def read_part(path: Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """The records of one file, wholly in memory."""
    names = None if columns is None else list(columns)
    return pl.read_parquet(path, columns=names, memory_map=False, glob=False)


def write_part(frame: pl.DataFrame, path: Path) -> None:
    """A file for its owner only that is there whole or not at all, whenever the machine stops."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")  # the same part may be written twice at once
    temporary.touch(mode=0o600)
    try:
        frame.write_parquet(temporary, compression="lz4", statistics=False)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except pl.exceptions.PolarsError as error:
        raise OSError(str(error)) from None  # it wraps what the system says
    finally:
        temporary.unlink(missing_ok=True)
