"""Which block each record goes to: near ones together, households whole, strata apart."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from shoal.kernels.arrays import Longs
from shoal.scale.cuts import SAMPLE, Coordinates, Cuts
from shoal.scale.moments import WholeTable, with_categories
from shoal.scale.part_work import encoded
from shoal.scale.stage import Stage
from shoal.scale.strata import Strata

BLOCK_CELLS, SMALLEST_BLOCK = 6_000_000, 50_000
"""Cells of a block, about, and records that it has at least: what one process holds at once. A choice of ours, the same
on every machine; smaller blocks have more edges that groups cannot cross."""

MOST_BLOCKS = 512
"""Files that are written side by side; larger tables have larger blocks."""


def block_size(stage: Stage) -> int:
    """Records of a block of a table."""
    return max(BLOCK_CELLS // max(len(stage.columns), 1), SMALLEST_BLOCK, -(-stage.records // MOST_BLOCKS))


@dataclass(frozen=True, kw_only=True)
class Dealing:
    """How records find their block.

    Parameters
    ----------
    starts
        Shape (s,); the first block of each stratum: small strata share one.
    cuts
        Through each stratum.
    blocks
        How many there are.
    homes
        The block of each household that was met; those of a household follow its first record.
    """

    whole: WholeTable
    folder: Path
    strata: Strata
    coordinates: Coordinates
    starts: tuple[int, ...]
    cuts: tuple[Cuts, ...]
    blocks: int
    homes: dict[Any, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls, stage: Stage, whole: WholeTable, by: Sequence[str], folder: Path, rng: np.random.Generator
    ) -> "Dealing":
        """Blocks of about `block_size` records that lie near one another by some columns."""
        names = whole.schema.names("stratum")
        strata = Strata.of(stage, names)
        known = with_categories(stage, whole, by, folder)
        empty = pl.DataFrame(schema=stage.schema)
        coordinates = Coordinates.of(encoded(empty, known, folder)[1], by)
        size = block_size(stage)
        wanted = [max(int(count) // size, 1) for count in strata.counts]
        cuts = [Cuts()] * len(wanted)
        if max(wanted) > 1:
            sample = sampled(stage, SAMPLE, rng)
            inside = strata.of_records(sample)
            for stratum, leaves in enumerate(wanted):
                if leaves > 1:
                    rows = sample.filter(pl.Series(inside == stratum))
                    points = np.vstack(list(coordinates.slices(encoded(rows, known, folder)[1])))
                    cuts[stratum] = Cuts.through(points, leaves)
        starts, blocks = _starts(strata.counts, cuts, size)
        return cls(
            whole=known,
            folder=folder,
            strata=strata,
            coordinates=coordinates,
            starts=tuple(starts),
            cuts=tuple(cuts),
            blocks=blocks,
        )

    def block_of(self, chunk: pl.DataFrame) -> Longs:
        """Shape (n,); the block of each record of a chunk, chunks coming in order."""
        inside = self.strata.of_records(chunk)
        out = np.array(self.starts, dtype=np.int64)[inside]
        if any(cuts.nodes for cuts in self.cuts):
            records = encoded(chunk, self.whole, self.folder)[1]
            leaves = np.empty(len(chunk), dtype=np.int64)
            start = 0
            for points in self.coordinates.slices(records):
                here = inside[start : start + len(points)]
                for stratum in np.unique(here):
                    rows = np.flatnonzero(here == stratum)
                    leaves[start + rows] = self.cuts[stratum].leaf_of(points[rows])
                start += len(points)
            out += leaves
        return self._at_home(chunk, out)

    def _at_home(self, chunk: pl.DataFrame, blocks: Longs) -> Longs:
        """The block of each record's household: that of the first of its records."""
        names = self.whole.schema.names("household")
        if not names:
            return blocks
        out = blocks.copy()
        for place, (home, block) in enumerate(zip(chunk[names[0]].to_list(), blocks.tolist())):
            if home is not None:
                out[place] = self.homes.setdefault(home, block)
        return out


def sampled(stage: Stage, size: int, rng: np.random.Generator) -> pl.DataFrame:
    """A simple random sample of the records of a stage, in their order."""
    rows = np.sort(rng.choice(stage.records, min(size, stage.records), replace=False, shuffle=False))
    frames, start = [], 0
    for chunk in stage.chunks():
        low, high = np.searchsorted(rows, (start, start + len(chunk)))
        frames.append(chunk[(rows[low:high] - start).tolist()])
        start += len(chunk)
    drawn: pl.DataFrame = pl.concat(frames)
    return drawn


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
