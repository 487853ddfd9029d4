"""The last pass: identifiers out, households renumbered, records in random order or their own, parts as released."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import narwhals.stable.v2 as nw
import numpy as np
import polars as pl

from shoal.constraints.rounding import to_decimals
from shoal.data.columns import decode
from shoal.data.frames import only_whole_numbers
from shoal.data.schema import Schema
from shoal.kernels.arrays import Longs
from shoal.scale.dealing import block_size
from shoal.scale.moments import numbers
from shoal.scale.stage import OWN, ROW, Stage, gathered, scatter, write_part
from shoal.scale.steps import Run

ORDER, HOUSEHOLDS = 1 << 21, 1 << 22
"""Keys of the random numbers of the records' order and the households' numbers, beyond the number of any step."""


@dataclass(frozen=True, kw_only=True)
class Rounding:
    """How numbers that were changed are written.

    Parameters
    ----------
    own
        Decimals that averages get, those that their columns came in with.
    said
        Decimals that the plan gives.
    types
        Of the columns with these, as they came in.
    """

    own: Mapping[str, int]
    said: Mapping[str, int]
    types: Mapping[str, pl.DataType]

    def rounded(self, chunk: pl.DataFrame, schema: Schema) -> pl.DataFrame:
        """A chunk with its numbers rounded; whole ones get the type back that they came in with."""
        columns = []
        for name, places in self.own.items():
            if chunk.schema.get(name) == pl.Float64:
                variable = to_decimals(numbers(chunk[name], schema.columns[name]), places)
                columns.append(pl.Series(name, variable.values).fill_nan(None))
        for name, places in self.said.items():
            if chunk.schema.get(name) == pl.Float64:
                like = nw.from_native(pl.Series(name, [], dtype=self.types[name]), series_only=True)
                variable = numbers(chunk[name], schema.columns[name])
                series = decode(variable, like, "polars", decimals=places, known=()).to_native()
                columns.append(series if places == 0 else series.cast(pl.Float64))
        return chunk.with_columns(columns)


@dataclass(slots=True)
class WholeNumbers:
    """Which columns of floats hold whole numbers only, found out chunk by chunk."""

    known: set[str] = field(default_factory=set)
    fractional: set[str] = field(default_factory=set)

    def see(self, chunk: pl.DataFrame) -> None:
        for cells in (column.drop_nulls() for column in chunk if column.dtype.is_float()):
            if len(cells):
                self.known.add(cells.name)
                if not only_whole_numbers(nw.from_native(cells, series_only=True)):
                    self.fractional.add(cells.name)

    @property
    def whole(self) -> list[str]:
        return sorted(self.known - self.fractional)


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
    out = set(schema.names("identifier")) - run.plan.pseudonyms
    kept = [name for name in stage.columns if name not in out]
    households = schema.names("household")
    homes = _numbers(run, stage, households[0]) if households else None
    parts = -(-stage.records // block_size(stage))
    shuffled = run.plan.output.shuffle

    seen = WholeNumbers()

    def chunks() -> Iterator[pl.DataFrame]:
        own = [name for name in OWN if name in stage.schema]
        for chunk in stage.chunks((*own, *kept)):
            rounded = rounding.rounded(chunk, schema)
            seen.see(rounded.select(kept))
            yield rounded if homes is None else _renumbered(rounded, households[0], homes)

    rng = run.generator(ORDER)

    def keys(chunk: pl.DataFrame) -> Longs:
        if shuffled:
            return rng.integers(0, parts, len(chunk))
        return chunk[ROW].to_numpy() * parts // rows

    files = scatter(chunks(), keys, parts, run.journal.place("shuffled", anew=True))
    whole = seen.whole if whole_numbers else []
    place = run.journal.place("finished", anew=True)
    paths = []
    for number, file in enumerate(files):
        frame = gathered(file)
        order = run.generator(ORDER, number).permutation(len(frame)) if shuffled else np.argsort(frame[ROW].to_numpy())
        paths.append(place / f"part-{number + 1:05d}.parquet")
        frame = no_negative_zeros(frame[order.tolist()])
        write_part(frame.cast(dict.fromkeys(whole, pl.Int64)), paths[-1])
        file.unlink()
    return Stage.of(paths)


def no_negative_zeros(frame: pl.DataFrame) -> pl.DataFrame:
    """Zeros of one sign: they are equal, but would be written differently."""
    floats = [column.name for column in frame if column.dtype.is_float()]
    return frame.with_columns(
        pl.when(pl.col(name) == 0).then(pl.col(name).abs()).otherwise(pl.col(name)).alias(name) for name in floats
    )


def _numbers(run: Run, stage: Stage, name: str) -> pl.DataFrame:
    """A random number from 1 for each household."""
    homes = pl.DataFrame(schema={name: stage.schema[name]})
    for chunk in stage.chunks((name,)):
        homes = pl.concat([homes, chunk]).drop_nulls().unique()
    homes = homes.sort(name)
    return homes.with_columns(pl.Series(ROW, run.generator(HOUSEHOLDS).permutation(len(homes)) + 1))


def _renumbered(chunk: pl.DataFrame, name: str, numbers: pl.DataFrame) -> pl.DataFrame:
    rows_of = chunk.select(name).join(numbers, on=name, how="left", maintain_order="left")[ROW]
    return chunk.with_columns(rows_of.alias(name))


def released_files(stage: Stage, folder: Path) -> Iterator[Path]:
    """The parts without what is the run's own, each written into a folder as it will be released."""
    schema = {name: dtype for name, dtype in stage.schema.items() if name not in OWN}
    for number, chunk in enumerate(stage.chunks(tuple(schema)), 1):
        path = folder / f"part-{number:05d}.parquet"
        write_part(chunk, path)
        path.chmod(0o644)
        yield path
