"""The last pass: identifiers out, units renumbered, records in random order or their own, parts as released."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl

from shoal.constraints.rounding import to_decimals
from shoal.run.order import order_shares, released_order, unit_numbers
from shoal.run.parts.steps import Run
from shoal.table.columns import decode
from shoal.table.frames import only_whole_numbers
from shoal.table.parts.dealing import block_size
from shoal.table.parts.engine import Dealt
from shoal.table.parts.moments import numbers
from shoal.table.parts.pieces import gathered
from shoal.table.parts.stage import OWN, ROW, Stage, write_part
from shoal.table.schema import UNITS, Schema


@dataclass(frozen=True, kw_only=True)
class Rounding:
    """Decimals with which numbers are written.

    Parameters
    ----------
    own
        Decimals that averages get, those that their columns came in with.
    planned
        Decimals that the plan gives.
    types
        Of the columns of numbers that were changed or have decimals of the plan, as they came in.
    """

    own: Mapping[str, int]
    planned: Mapping[str, int]
    types: Mapping[str, pl.DataType]

    def rounded(self, chunk: pl.DataFrame, schema: Schema) -> pl.DataFrame:
        """A chunk with its numbers rounded; whole ones get the type back that they came in with."""
        columns = []
        for name, places in self.own.items():
            if chunk.schema.get(name) == pl.Float64:
                variable = to_decimals(numbers(chunk[name], schema.columns[name]), places)
                columns.append(pl.Series(name, variable.values).fill_nan(None))
        for name in self.planned.keys() & chunk.schema.keys():
            dtype, places = chunk.schema[name], self.planned[name]
            if dtype.is_float() or dtype.is_decimal():
                series = self.as_it_came(chunk[name], schema, places)
                columns.append(series.cast(pl.Float64) if places and dtype == pl.Float64 else series)
        return chunk.with_columns(columns)

    def as_it_came(self, cells: pl.Series, schema: Schema, places: int | None) -> pl.Series:
        """Numbers rounded to some decimals, of the type with which the column came in where this holds them."""
        like = nw.from_native(pl.Series(cells.name, [], dtype=self.types[cells.name]), series_only=True)
        variable = numbers(cells, schema.columns[cells.name])
        series: pl.Series = decode(variable, like, "polars", decimals=places, labels=()).to_native()
        return series


def finished(run: Run, stage: Stage, schema: Schema, rows: int, rounding: Rounding, *, whole_numbers: bool) -> Stage:
    """The stage that is released; its parts still hold the rows of the table that came in.

    Parameters
    ----------
    rows
        Records of the table that came in.
    whole_numbers
        Whether columns of floats that are all whole numbers become integers: where types were found out from the
        cells of an input, they would tell of a record that is not released that it has decimals.
    """
    kept = [name for name in stage.columns if name not in run.plan.taken_out]
    units = [name for name in schema.names(*UNITS) if name in kept]
    parts = -(-stage.records // block_size(stage))
    last = LastLook(
        schema=Schema.model_construct(root={name: schema.columns[name] for name in kept}),
        rounding=rounding,
        numbers={name: _numbers(run, stage, name, schema.columns[name].role) for name in units},
        parts=parts,
        rows=rows,
        entropy=run.entropy if run.plan.output.shuffle else None,
    )
    own = [name for name in OWN if name in stage.schema]
    files = stage.dealt(last.dealt, parts, run.journal.place("shuffled", anew=True), (*own, *kept))
    types = _types(run, files, last, whole_numbers=whole_numbers)
    place = run.journal.place("finished", anew=True)
    ends = [
        End(file=file, out=place / f"part-{n + 1:05d}.parquet", entropy=last.entropy, types=types)
        for n, file in enumerate(files)
    ]
    paths = []
    for end, path in zip(ends, run.engine.each(_in_released_order, ends), strict=True):
        end.file.unlink()
        paths.append(path)
    return Stage.of(paths, run.engine)


@dataclass(frozen=True, kw_only=True, eq=False)
class LastLook:
    """The last pass over a part: its records as released, each with the part of the release that it goes to.

    Parameters
    ----------
    numbers
        By column of persons or households, the number that each gets.
    parts
        Of the release.
    rows
        Records of the table that came in.
    entropy
        Of the random order; None where records stay in their own.
    """

    schema: Schema
    rounding: Rounding
    numbers: Mapping[str, pl.DataFrame]
    parts: int
    rows: int
    entropy: int | None

    def dealt(self, chunk: pl.DataFrame, _: int) -> Dealt:
        """The records of a part, as they are released, each with the part that it goes to."""
        rows = chunk[ROW].to_numpy()
        if self.entropy is None:
            places = rows * self.parts // self.rows
        else:
            places = (order_shares(rows, self.entropy) * self.parts).astype(np.int64)
        rounded = self.rounding.rounded(chunk, self.schema)
        for name, drawn in self.numbers.items():
            rounded = _renumbered(rounded, name, drawn)
        return rounded, places


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """A part of the release.

    Parameters
    ----------
    entropy
        Of the random order; None where records stay in their own.
    types
        Of columns of floats that become others.
    """

    file: Path
    out: Path
    entropy: int | None
    types: Mapping[str, pl.DataType]


def _in_released_order(end: End) -> Path:
    """Write a part with its records in random order or their own."""
    frame = gathered(end.file)
    order = released_order(frame[ROW].to_numpy(), end.entropy)
    frame = no_negative_zeros(frame[order.tolist()])
    write_part(frame.with_columns(pl.col(name).cast(dtype) for name, dtype in end.types.items()), end.out)
    return end.out


def _types(run: Run, files: list[Path], last: LastLook, *, whole_numbers: bool) -> dict[str, pl.DataType]:
    """The types that columns of floats get by all their cells, as those of a table held whole do."""
    integers = [name for name, dtype in last.rounding.types.items() if dtype.is_integer()]
    columns = tuple(last.schema.columns) if whole_numbers else tuple(integers)
    cells: dict[str, list[float | None]] = {}
    for seen in run.engine.each(partial(_telling_cells, columns=columns), files) if columns else ():
        for name, some in seen.items():
            cells.setdefault(name, []).extend(some)
    types: dict[str, pl.DataType] = {}
    for name, some in cells.items():
        column = pl.Series(name, some, dtype=pl.Float64)
        if name in integers:
            types[name] = last.rounding.as_it_came(column, last.schema, None).dtype
        elif whole_numbers and only_whole_numbers(nw.from_native(column, series_only=True)):
            types[name] = pl.Int64()
    return types


def _telling_cells(file: Path, columns: Sequence[str]) -> dict[str, list[float | None]]:
    """Cells of columns of floats that decide on the column's type: the ends, one that is not whole, a missing one."""
    floats = [column for column in gathered(file, *columns) if column.dtype.is_float()]
    telling = {}
    for column in floats:
        known = column.drop_nulls()
        fractional = known.filter(known != known.round(0))
        ends = [known.min(), known.max()] if len(known) else []
        telling[column.name] = [*ends, *fractional.head(1), *[None] * column.has_nulls()]
    return telling


def no_negative_zeros(frame: pl.DataFrame) -> pl.DataFrame:
    """Zeros of one sign: they are equal, but would be written differently."""
    floats = [column.name for column in frame if column.dtype.is_float()]
    return frame.with_columns(
        pl.when(pl.col(name) == 0).then(pl.col(name).abs()).otherwise(pl.col(name)).alias(name) for name in floats
    )


def _numbers(run: Run, stage: Stage, name: str, role: str) -> pl.DataFrame:
    """A random number from 1 for each person or household."""
    units = pl.DataFrame(schema={name: stage.schema[name]})
    for seen in stage.each(_distinct, (name,)):
        units = pl.concat([units, seen]).unique()
    units = units.sort(name)
    return units.with_columns(pl.Series(ROW, unit_numbers(len(units), run.entropy, role)))


def _distinct(chunk: pl.DataFrame) -> pl.DataFrame:
    return chunk.drop_nulls().unique()


def _renumbered(chunk: pl.DataFrame, name: str, numbers: pl.DataFrame) -> pl.DataFrame:
    rows_of = chunk.select(name).join(numbers, on=name, how="left", maintain_order="left")[ROW]
    return chunk.with_columns(rows_of.alias(name))


def released_files(stage: Stage, folder: Path) -> Iterator[Path]:
    """The parts without what is the run's own, each written into a folder as it will be released."""
    schema = {name: dtype for name, dtype in stage.schema.items() if name not in OWN}
    paths = [folder / f"part-{number + 1:05d}.parquet" for number in range(len(stage.parts))]
    for path, _ in zip(paths, stage.each(write_part, tuple(schema), paths), strict=True):
        path.chmod(0o644)
        yield path
    for left in set(folder.iterdir()) - set(paths):  # by a machine of a cluster that stopped while it wrote
        left.unlink()
