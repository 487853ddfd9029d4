"""Assignment of records to blocks: near ones together, units whole, strata apart."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import polars as pl

from shoal.kernels.arrays import Longs
from shoal.table.parts.cuts import SAMPLE, Coordinates, Cuts
from shoal.table.parts.encoding import encoded
from shoal.table.parts.engine import Dealt
from shoal.table.parts.moments import WholeTable, with_categories
from shoal.table.parts.stage import Stage
from shoal.table.parts.strata import Strata
from shoal.table.records import Records
from shoal.table.schema import Schema, default_unit

BLOCK_CELLS, SMALLEST_BLOCK = 6_000_000, 50_000
"""Cells of a block, about, and records that it has at least: what one process holds at once. A choice of ours, the same
on every machine; smaller blocks have more edges that groups cannot cross."""

HOME = "shoal: block"
"""The block of a household or person, beside it."""

MOST_BLOCKS = 512
"""Files that are written side by side; larger tables have larger blocks."""


def block_size(stage: Stage) -> int:
    """Records of a block of a table."""
    return max(BLOCK_CELLS // max(len(stage.columns), 1), SMALLEST_BLOCK, -(-stage.records // MOST_BLOCKS))


@dataclass(frozen=True, kw_only=True)
class Dealing:
    """The rule by which records are assigned to blocks.

    Parameters
    ----------
    starts
        Shape (s,); the first block of each stratum: small strata share one.
    cuts
        Through each stratum.
    blocks
        How many there are.
    homes
        Each household, or else person, with the block of its first record; None where none is numbered.
    """

    whole: WholeTable
    folder: Path
    strata: Strata
    coordinates: Coordinates
    starts: tuple[int, ...]
    cuts: tuple[Cuts, ...]
    blocks: int
    homes: pl.DataFrame | None = None

    @classmethod
    def of(
        cls,
        stage: Stage,
        whole: WholeTable,
        by: Sequence[str],
        folder: Path,
        rng: np.random.Generator,
        size: int | None = None,
    ) -> "Dealing":
        """Blocks of about `size` records that lie near one another by some columns; by default of `block_size`."""
        names = whole.schema.names("stratum")
        strata = Strata.of(stage, names)
        described = with_categories(stage, whole, by, folder)
        coordinates = Coordinates.of(_seen(pl.DataFrame(schema=stage.schema), by, described, folder), by)
        size = max(size or block_size(stage), -(-stage.records // MOST_BLOCKS))
        wanted = [max(int(count) // size, 1) for count in strata.counts]
        cuts = [Cuts()] * len(wanted)
        if max(wanted) > 1:
            sample = sampled(stage, SAMPLE, rng, tuple(dict.fromkeys((*names, *by))))
            inside = strata.of_records(sample)
            for stratum, leaves in enumerate(wanted):
                if leaves > 1:
                    rows = sample.filter(pl.Series(inside == stratum))
                    points = np.vstack(list(coordinates.slices(_seen(rows, by, described, folder))))
                    cuts[stratum] = Cuts.through(points, leaves)
        starts, blocks = _starts(strata.counts, cuts, size)
        dealing = cls(
            whole=described,
            folder=folder,
            strata=strata,
            coordinates=coordinates,
            starts=tuple(starts),
            cuts=tuple(cuts),
            blocks=blocks,
        )
        return (
            replace(dealing, homes=dealing._homes_in(stage))
            if default_unit(described.schema.names) != "record"
            else dealing
        )

    def dealt(self, chunk: pl.DataFrame, _: int) -> Dealt:
        """The records of a part, each with its block."""
        return chunk, self.block_of(chunk)

    def block_of(self, chunk: pl.DataFrame) -> Longs:
        """Shape (n,); the block of each record of a chunk."""
        alone = self._alone(chunk)
        if self.homes is None:
            return alone
        homes = chunk.select(self._home).join(self.homes, on=self._home, how="left", maintain_order="left")[HOME]
        return homes.fill_null(pl.Series(alone)).to_numpy()

    @property
    def _home(self) -> str:
        name: str = self.whole.schema.names(default_unit(self.whole.schema.names))[0]
        return name

    def _homes_in(self, stage: Stage) -> pl.DataFrame:
        homes = pl.DataFrame(schema={self._home: stage.schema[self._home], HOME: pl.Int64})
        for seen in stage.each(self._first_blocks):
            homes = pl.concat([homes, seen]).unique(self._home, keep="first", maintain_order=True)
        return homes

    def _first_blocks(self, chunk: pl.DataFrame) -> pl.DataFrame:
        """Each household, or else person, of a chunk with the block of its first record."""
        met: pl.DataFrame = chunk.select(self._home).with_columns(pl.Series(HOME, self._alone(chunk)))
        return met.drop_nulls(self._home).unique(self._home, keep="first", maintain_order=True)

    def _alone(self, chunk: pl.DataFrame) -> Longs:
        """Shape (n,); the block that each record would have without its unit."""
        inside = self.strata.of_records(chunk)
        out = np.array(self.starts, dtype=np.int64)[inside]
        if any(cuts.nodes for cuts in self.cuts):
            records = _seen(chunk, self.coordinates.columns, self.whole, self.folder)
            leaves = np.empty(len(chunk), dtype=np.int64)
            start = 0
            for points in self.coordinates.slices(records):
                here = inside[start : start + len(points)]
                for stratum in np.unique(here):
                    rows = np.flatnonzero(here == stratum)
                    leaves[start + rows] = self.cuts[stratum].leaf_of(points[rows])
                start += len(points)
            out += leaves
        return out


def _seen(frame: pl.DataFrame, columns: Sequence[str], whole: WholeTable, folder: Path) -> Records:
    """Some columns of a table in numbers."""
    described = Schema.model_construct(root={name: whole.schema.columns[name] for name in columns})
    return encoded(frame.select(columns), replace(whole, schema=described), folder)[1]


def sampled(stage: Stage, size: int, rng: np.random.Generator, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """A simple random sample of the records of a stage, in their order, with some columns; with all by default."""
    drawn: pl.DataFrame = pl.concat(stage.each(_rows_of, columns, rows_by_part(stage, size, rng)))
    return drawn


def rows_by_part(stage: Stage, size: int, rng: np.random.Generator) -> list[Longs]:
    """The rows of a simple random sample in each part of a stage, counted from the part's first, ascending."""
    rows = np.sort(rng.choice(stage.records, min(size, stage.records), replace=False, shuffle=False))
    starts = np.cumsum((0, *stage.sizes))
    ends = np.searchsorted(rows, starts)
    return [rows[low:high] - start for low, high, start in zip(ends, ends[1:], starts)]


def _rows_of(chunk: pl.DataFrame, rows: Longs) -> pl.DataFrame:
    chosen: pl.DataFrame = chunk[rows.tolist()]
    return chosen


def _starts(counts: Longs, cuts: Sequence[Cuts], size: int) -> tuple[list[int], int]:
    """The first block of each stratum, and how many blocks there are: strata without a cut share blocks."""
    starts, blocks, filled = [], 0, size
    for count, cut in zip(counts.tolist(), cuts):
        if cut.nodes:
            starts.append(blocks)
            blocks, filled = blocks + cut.leaves, size
            continue
        if filled + count > size:
            blocks, filled = blocks + 1, 0
        starts.append(blocks - 1)
        filled += count
    return starts, blocks
