"""A table on its way: Parquet parts in a folder of the run, each record with its row in the table that came in."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.kernels.arrays import Longs

ROW = "shoal: row"
GROUP = "shoal: group"
"""Columns of a stage beside the table's own: the row of the table that came in, and the group of the last partition."""

OWN = (ROW, GROUP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """All records at one point of a plan.

    Parameters
    ----------
    parts
        Files, in order.
    sizes
        Records of each.
    """

    parts: tuple[Path, ...]
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, parts: Iterable[Path]) -> "Stage":
        """The stage of some files; those without records are left out."""
        counted = [(path, rows_in(path)) for path in parts]
        return cls(parts=tuple(path for path, n in counted if n), sizes=tuple(n for _, n in counted if n))

    @property
    def records(self) -> int:
        return sum(self.sizes)

    @property
    def schema(self) -> dict[str, Any]:
        """The columns with the types that hold the cells of all parts."""
        schemas = {tuple(schema_in(path).items()): path for path in self.parts}
        frames = [pl.DataFrame(schema=dict(items)) for items in schemas]
        return dict(pl.concat(frames, how="vertical_relaxed").schema)

    @property
    def columns(self) -> tuple[str, ...]:
        """The table's own columns."""
        return tuple(name for name in schema_in(self.parts[0]) if name not in OWN)

    def chunks(self, columns: Sequence[str] | None = None) -> Iterator[pl.DataFrame]:
        """The parts one by one, of one schema."""
        schema = self.schema
        chosen = list(schema) if columns is None else list(columns)
        for path in self.parts:
            yield read_part(path, chosen).cast({name: schema[name] for name in chosen})


def rows_in(path: Path) -> int:
    """Records of a Parquet file, from its footer."""
    import pyarrow.parquet as pq

    return int(pq.read_metadata(path).num_rows)


def schema_in(path: Path) -> dict[str, Any]:
    """Columns and types of a Parquet file, from its footer."""
    with path.open("rb") as file:  # of a path the signs * ? [ are a pattern
        return dict(pl.read_parquet_schema(file))


def read_part(path: Path, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """The records of one file, wholly in memory."""
    names = None if columns is None else list(columns)
    return pl.read_parquet(path, columns=names, memory_map=False, glob=False)


def write_part(frame: pl.DataFrame, path: Path) -> None:
    """A file for its owner only that is there whole or not at all, whenever the machine stops."""
    temporary = path.with_name(f".{path.name}")
    temporary.unlink(missing_ok=True)
    temporary.touch(mode=0o600)
    try:
        frame.write_parquet(temporary, compression="lz4", statistics=False)
    except pl.exceptions.PolarsError as error:
        raise OSError(str(error)) from None  # it wraps what the system says
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    temporary.replace(path)


def scatter(
    chunks: Iterable[pl.DataFrame], keys: Callable[[pl.DataFrame], Longs], count: int, folder: Path
) -> list[Path]:
    """Deal records out to files by a key from 0 to count - 1; inside a file they keep their order.

    Parameters
    ----------
    keys
        Shape (n,) for a chunk of n records.
    """
    import pyarrow as pa

    folder.mkdir(mode=0o700, exist_ok=True)
    paths = [folder / f"{number:06d}.arrow" for number in range(count)]
    writers: list[Any] = [None] * count
    try:
        for chunk in chunks:
            places = keys(chunk)
            order = np.argsort(places, kind="stable")
            table = chunk[order].to_arrow(compat_level=pl.CompatLevel.oldest())
            ends = np.searchsorted(places[order], np.arange(count + 1))
            for number in np.flatnonzero(np.diff(ends)).tolist():
                if writers[number] is None:
                    options = pa.ipc.IpcWriteOptions(compression="lz4")
                    paths[number].touch(mode=0o600)
                    writers[number] = pa.ipc.new_file(str(paths[number]), table.schema, options=options)
                writers[number].write_table(table.slice(ends[number], ends[number + 1] - ends[number]))
    finally:
        for writer in filter(None, writers):
            writer.close()
    return [path for path, writer in zip(paths, writers) if writer is not None]


def gathered(path: Path, *columns: str) -> pl.DataFrame:
    """The records of one file that `scatter` wrote; all columns if none are named."""
    import pyarrow as pa

    with path.open("rb") as file:  # read by the library that wrote it: polars 1.35 does not take all of pyarrow 19
        reader = pa.ipc.open_file(file)
        if columns:
            fields = [reader.schema.get_field_index(name) for name in columns]
            reader = pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(included_fields=fields))
        table = reader.read_all()
    frame = pl.from_arrow(table.select(columns) if columns else table)
    return frame if isinstance(frame, pl.DataFrame) else frame.to_frame()
