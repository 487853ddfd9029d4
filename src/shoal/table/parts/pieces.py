"""Files of records that were dealt out by a key, in Arrow's format: they can be written a piece at a time."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.kernels.arrays import Longs


def piece_path(folder: Path, number: int) -> Path:
    """The file of the records with one key."""
    return folder / f"{number:06d}.arrow"


def split(frame: pl.DataFrame, places: Longs) -> Iterator[tuple[int, Any]]:
    """The keys of some records, each with the Arrow table of those that have it, in their order; made one by one."""
    if len(places) and (places == places[0]).all():
        yield int(places[0]), frame.to_arrow(compat_level=pl.CompatLevel.oldest())
        return
    order = np.argsort(places, kind="stable")
    keys, starts = np.unique(places[order], return_index=True)
    ends = [*starts[1:].tolist(), len(frame)]
    for key, low, high in zip(keys.tolist(), starts.tolist(), ends):
        yield key, frame[order[low:high]].to_arrow(compat_level=pl.CompatLevel.oldest())


def scatter(dealt: Iterable[tuple[pl.DataFrame, Longs]], count: int, folder: Path) -> list[Path]:
    """Deal records out to files by a key from 0 to count - 1; inside a file they keep their order.

    Parameters
    ----------
    dealt
        Records, each with its key: shape (n,).
    """
    folder.mkdir(mode=0o700, exist_ok=True)
    paths = [piece_path(folder, number) for number in range(count)]
    writers: list[Any] = [None] * count
    try:
        for frame, places in dealt:
            for number, table in split(frame, places):
                if writers[number] is None:
                    writers[number] = piece_writer(paths[number], table.schema)
                writers[number].write_table(table)
    finally:
        for writer in filter(None, writers):
            writer.close()
    return [path for path, writer in zip(paths, writers) if writer is not None]


def piece_writer(path: Path, schema: Any) -> Any:
    """A new file for its owner only, open for tables of a schema."""
    import pyarrow as pa

    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    return pa.ipc.new_file(str(path), schema, options=pa.ipc.IpcWriteOptions(compression="lz4"))


def gathered(path: Path, *columns: str) -> pl.DataFrame:
    """The records of one file that were dealt out to it; all columns if none are named."""
    import pyarrow as pa

    pool = pa.system_memory_pool()  # gives back what is freed; the default one keeps it
    with path.open("rb") as file:  # read by the library that wrote it: polars 1.35 does not take all of pyarrow 19
        reader = pa.ipc.open_file(file, memory_pool=pool)
        if columns:
            fields = [reader.schema.get_field_index(name) for name in columns]
            reader = pa.ipc.open_file(file, options=pa.ipc.IpcReadOptions(included_fields=fields), memory_pool=pool)
        table = reader.read_all()
    frame = pl.from_arrow(table.select(columns) if columns else table)
    return frame if isinstance(frame, pl.DataFrame) else frame.to_frame()
