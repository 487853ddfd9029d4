"""A part of a table in numbers, which knows what there is to know of the whole."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl

from shoal.table.microdata import Microdata
from shoal.table.parts.moments import WholeTable
from shoal.table.parts.pieces import gathered
from shoal.table.parts.stage import OWN, ROW, read_part
from shoal.table.records import Records


def frame_of(paths: Iterable[Path]) -> pl.DataFrame:
    """The records of some files, in their order."""
    frames = [gathered(path) if path.suffix == ".arrow" else read_part(path) for path in paths]
    return frames[0] if len(frames) == 1 else pl.concat(frames)


def encoded(frame: pl.DataFrame, whole: WholeTable, folder: Path) -> tuple[Microdata, Records]:
    """A part of a table with its records, which know their rows and what there is to know of the whole."""
    table = Microdata.of(frame.drop(OWN, strict=False), whole.schema, folder)
    records = with_whole(table.records, whole)
    return table, replace(records, rows=frame[ROW].to_numpy()[records.rows]) if ROW in frame.columns else records


def rebuilt(frame: pl.DataFrame, table: Microdata, records: Records) -> pl.DataFrame:
    """A part of a table as these of its records are now, with what is the run's own."""
    own, places = frame.select(name for name in OWN if name in frame.columns), np.arange(len(frame))
    if len(records) < len(frame):
        rows = frame[ROW].to_numpy()
        order = np.argsort(rows, kind="stable")
        places = order[np.searchsorted(rows[order], records.rows)]
        own = own[places.tolist()]
    out: pl.DataFrame = table.rebuild(replace(records, rows=places)).frame.to_native()
    return out.hstack(own)


def with_whole(records: Records, whole: WholeTable) -> Records:
    """Records that know the whole of their columns."""
    return records.with_variables(
        *(replace(v, whole=whole.columns[v.name]) for v in records.variables if v.name in whole.columns)
    )


def released_records(frame: pl.DataFrame, whole: WholeTable) -> Records:
    """Some records of a released table in numbers, which know the whole."""
    return with_whole(Microdata.of(frame.drop(OWN, strict=False), whole.schema).encoded, whole)
