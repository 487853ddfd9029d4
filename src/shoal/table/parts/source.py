"""Sources of large tables: a file, a folder, a pattern of names, hive partitions, or a DuckDB relation."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, reduce
from pathlib import Path
from typing import Any, TypeVar

import polars as pl

from shoal.table.files.folders import files_of, kind_of
from shoal.table.files.table import too_many_digits
from shoal.table.frames import plain_types
from shoal.table.parts.csv_columns import (
    LACKING,
    ONE_TYPE,
    TAKE_ABSENT,
    check_names,
    csv_queries,
    drifted,
    literal,
    name_in_sql,
    text_in_sql,
)
from shoal.table.parts.csv_quotes import IN_MEMORY
from shoal.table.parts.engine import Engine
from shoal.table.parts.row_ranges import NUMBER, Chunk, chunks_of, looked_at
from shoal.table.parts.session import lacks_memory, too_little_memory
from shoal.vocabulary.errors import DataError, FileError, ParameterError, plural, quoted

Seen = TypeVar("Seen")

CHUNK = 500_000
"""Records of a chunk. Sums are taken by chunks, so this is a part of what a result is, not a setting."""


ABSENT = ("refuse", "missing")
"""Treatments of columns that some files of a table lack."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file as it was when a run began."""

    path: str
    size: int
    changed: int

    @classmethod
    def of(cls, path: Path) -> "SourceFile":
        state = path.stat()
        return cls(str(path.resolve()), state.st_size, state.st_mtime_ns)


@dataclass(frozen=True, kw_only=True, eq=False)
class Source:
    """A table that is read in chunks, always in the same order.

    Parameters
    ----------
    name
        What it is called in messages.
    connection
        A DuckDB session.
    query
        What gives its records, in any order.
    parts
        What gives those of each file, in the order of the files: DuckDB reads several files side by side.
    files
        Those it lies in; none for a relation.
    types_from_cells
        Whether the types of its columns were found out from their cells, as of text.
    ranges
        Its chunks as rows of Parquet files, so that each can be read elsewhere; none where they cannot.
    reading
        What was said of how its text is to be read.
    """

    name: str
    connection: Any
    query: Any
    parts: tuple[Any, ...]
    files: tuple[SourceFile, ...] = ()
    types_from_cells: bool = False
    ranges: tuple[Chunk, ...] = ()
    reading: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(
        cls, data: Any, connection: Any, reading: Mapping[str, Any] | None = None, *, judged: bool = False
    ) -> "Source":
        """From a path or pattern of files, or a DuckDB relation.

        Parameters
        ----------
        reading
            For text files: `delimiter`, `decimal` and `encoding` as for `shoal.read`; and `absent`: `missing` takes
            columns that some files lack as missing there, where they are refused otherwise.
        judged
            Whether the table is to be judged: cells that a text file writes differently must then stay different.

        Raises
        ------
        FileError
            If nothing is there, files cannot be read, or do not hold one and the same columns.
        """
        if not isinstance(data, (str, Path)):
            return cls(name="the relation", connection=connection, query=data, parts=(data,))
        files = files_of(data)
        state, absent = tuple(SourceFile.of(path) for path in files), (reading or {}).get("absent") or "refuse"
        if absent not in ABSENT:
            raise ParameterError(f"absent must be {' or '.join(ABSENT)}; got {absent!r}.")
        text = kind_of(files[0]) != "parquet"
        ranges: Iterable[Chunk] = ()
        if text:
            query, *parts = csv_queries(connection, files, reading or {}, hive=_hive(data), judged=judged)
        else:
            _check_parquet(files, judged=judged, absent=absent)
            query, parts, ranges = _parquet_queries(connection, files, hive=_hive(data))
        return cls(
            name=str(data),
            connection=connection,
            query=query,
            parts=tuple(parts),
            files=state,
            types_from_cells=text,
            ranges=tuple(ranges),
            reading={name: value for name, value in (reading or {}).items() if value is not None} if text else {},
        )

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self.query.columns)

    @property
    def records(self) -> int:
        return int(self.query.aggregate("count(*)").fetchall()[0][0])

    def each(self, look: Callable[[pl.DataFrame, int], Seen], engine: Engine) -> Iterator[Seen]:
        """The results of a function of each chunk, in order; it is called with the records and the chunk's number.

        Raises
        ------
        FileError
            As of `chunks`.
        """
        if engine.far and self.ranges:
            yield from engine.each(partial(looked_at, look), self.ranges)
            self.check_unchanged()
        else:
            yield from (look(chunk, number) for number, chunk in enumerate(self.chunks()))

    def chunks(self) -> Iterator[pl.DataFrame]:
        """Its records in order, `CHUNK` at a time.

        Raises
        ------
        FileError
            If a file cannot be read, or is changed meanwhile.
        """
        waiting: list[pl.DataFrame] = []
        count = 0
        with self.checked():
            for batch in (batch for part in self.parts for batch in part.to_arrow_reader(CHUNK // 4)):
                frame = pl.from_arrow(batch)
                waiting.append(frame if isinstance(frame, pl.DataFrame) else frame.to_frame())
                count += len(waiting[-1])
                while count >= CHUNK:
                    whole = pl.concat(waiting)
                    yield whole[:CHUNK]
                    waiting, count = [whole[CHUNK:]], count - CHUNK
            if count:
                yield pl.concat(waiting)

    @contextmanager
    def checked(self) -> Iterator[None]:
        """While it is read: what goes wrong is an error of its files, and none of them may be changed meanwhile.

        Raises
        ------
        FileError
            If a file cannot be read, or is changed.
        """
        try:
            yield
        except Exception as error:
            if not type(error).__module__.startswith(("duckdb", "_duckdb", "pyarrow")):
                raise
            self.check_unchanged()
            if lacks_memory(error):
                raise too_little_memory(self.name) from None
            raise FileError(
                f"'{self.name}' cannot be read to its end ({type(error).__name__}). Check that its files are whole."
            ) from None
        self.check_unchanged()

    def check_unchanged(self) -> None:
        """Refuse a table of which a file was changed since the run began."""
        for file in self.files:
            path = Path(file.path)
            if not path.exists() or SourceFile.of(path) != file:
                raise FileError(f"File '{path}' was changed while it was read. Try again when it is complete.")


def _hive(data: str | Path) -> bool:
    """True if folders may be named as in year=2024, which then is a column."""
    return not Path(data).is_file()


def _parquet_queries(connection: Any, files: list[Path], *, hive: bool) -> tuple[Any, list[Any], Iterable[Chunk]]:
    """A relation of all files, one of each, and chunks: names of folders are text until all have the same type."""
    options = f"hive_partitioning = {hive}, hive_types_autocast = FALSE"
    sources = [connection.sql(f"FROM read_parquet({text_in_sql(literal(path))}, {options})") for path in files]
    lacking = len({tuple(source.columns) for source in sources}) > 1
    query = connection.read_parquet([literal(path) for path in files], hive_partitioning=hive, union_by_name=lacking)
    check_names(query.columns)
    types = dict(zip(query.columns, query.types))
    cells = [
        ", ".join(
            f"CAST({name_in_sql(n) if n in source.columns else 'NULL'} AS {t}) AS {name_in_sql(n)}"
            for n, t in types.items()
        )
        for source in sources
    ]
    parts = [source.project(chosen) for source, chosen in zip(sources, cells)]
    if lacking:  # read by name, DuckDB gives groups that differ in the sign of 0 in another order each time
        return reduce(lambda above, below: above.union(below), parts), parts, ()
    return query, parts, () if NUMBER in map(str.lower, types) else chunks_of(files, options, cells, CHUNK)


def _check_parquet(files: list[Path], *, judged: bool, absent: str) -> None:
    """Refuse files that are no whole Parquet files, have other columns or types than the first, or cells unread here.

    Parameters
    ----------
    absent
        `missing` if a column may be lacking in some files.
    judged
        Whether the table is to be judged, so that no cell may be read less finely than it is written.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    schemas: dict[Path, Any] = {}
    for path in files:
        try:
            schema = pq.read_schema(path).remove_metadata()
            stored = pq.read_metadata(path).schema
        except (pa.ArrowException, OSError) as error:
            raise FileError(
                f"File '{path}' is no readable parquet file ({type(error).__name__}). Check that it is whole."
            ) from None
        check_names(schema.names)
        schemas[path] = schema
        if long := [field.name for field in schema if pa.types.is_decimal256(field.type)]:
            raise too_many_digits(path, long)
        columns = [stored.column(place) for place in range(len(stored))]
        if judged and (fine := [column.name for column in columns if column.physical_type == "INT96"]):
            raise FileError(
                f"File '{path}' has times to the nanosecond in {quoted(fine)} (INT96), of which microseconds are read; "
                f"records that differ in the rest would be taken for equal. {IN_MEMORY}"
            )
    _refuse_drift({path: {f.name: str(f.type) for f in schema} for path, schema in schemas.items()}, absent)


def _refuse_drift(types: Mapping[Path, Mapping[str, str]], absent: str) -> None:
    """Refuse files of one table that differ in columns or types; the message names all of these columns.

    Parameters
    ----------
    types
        The types of each file's columns.
    absent
        `missing` if a column may be lacking in some files.
    """
    faults = drifted(types)
    if faults and not (absent == "missing" and all(fault.startswith(LACKING) for fault in faults.values())):
        clauses = "; ".join(f"{quoted([name])} {fault}" for name, fault in faults.items())
        way = TAKE_ABSENT if all(fault.startswith(LACKING) for fault in faults.values()) else ONE_TYPE
        raise FileError(f"The {plural(len(types), 'file')} of the table differ in their columns: {clauses}. {way}")
    if not faults and len({tuple(columns) for columns in types.values()}) > 1 and absent != "missing":
        raise FileError(
            f"The {plural(len(types), 'file')} of the table have their columns in different orders. {TAKE_ABSENT}"
        )


def plain(frame: pl.DataFrame) -> pl.DataFrame:
    """The same cells in types that everything here computes with; a NaN is a missing cell.

    Raises
    ------
    DataError
        If two columns have one name.
    """
    import narwhals.stable.v2 as nw

    if len(set(frame.columns)) < len(frame.columns):
        raise DataError("Column names must differ. Rename them.")
    kept: pl.DataFrame = plain_types(nw.from_native(frame, eager_only=True)).to_native()
    texts = [c.name for c in kept if c.dtype in (pl.Categorical, pl.Enum)]
    floats = [c.name for c in kept if c.dtype.is_float() and c.is_nan().any()]
    return kept.with_columns(pl.col(texts).cast(pl.String), pl.col(floats).fill_nan(None))
