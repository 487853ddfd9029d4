"""The values of one column of a table in parts, sorted range by range, and exchanged by rank.

A value's key is its stratum, itself, and its row, by which equal values are in order. Cut points of a sample deal the
keys out to ranges of about a block each; a range sorted by itself then has the ranks of the whole table. Which ranks
change places follows from their number alone, so that range after range gets its partners; a value goes to the range of
its partner's rank, and from there to the part of its row. What comes out does not depend on the ranges.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shoal.kernels.arrays import Longs
from shoal.kernels.swap.rank_swap import RankPairing
from shoal.run.parts.steps import CUTTING, Run
from shoal.table.parts.cuts import SAMPLE
from shoal.table.parts.dealing import block_size, rows_by_part
from shoal.table.parts.encoding import encoded
from shoal.table.parts.engine import Dealt
from shoal.table.parts.moments import WholeTable
from shoal.table.parts.pieces import gathered, piece_path
from shoal.table.parts.stage import ROW, Stage, read_part, write_part
from shoal.table.parts.strata import Strata
from shoal.table.variable import Variable

STRATUM, VALUE, RANK = "shoal: stratum", "shoal: value", "shoal: rank"
"""What stands beside a row, which is counted here through the parts as they lie."""

Cut = tuple[int, float, int]
"""A key: stratum, value and row."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SortingKeys:
    """Sorting keys of the known cells of one column.

    Parameters
    ----------
    whole
        The column and those of the strata.
    starts
        The row of the first record of each part.
    """

    name: str
    whole: WholeTable
    folder: Path
    strata: Strata
    starts: tuple[int, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that must be read."""
        return tuple(dict.fromkeys((self.name, *self.strata.names)))

    def variable(self, chunk: pl.DataFrame) -> Variable:
        """The column in numbers."""
        return encoded(chunk.select(self.columns), self.whole, self.folder)[1][self.name]

    def counts(self, chunk: pl.DataFrame) -> Longs:
        """Shape (s,); known cells of a part in each stratum."""
        present = ~self.variable(chunk).missing
        return np.bincount(self.strata.of_records(chunk)[present], minlength=len(self.strata.counts)).astype(np.int64)

    def some(self, chunk: pl.DataFrame, number: int, rows: Longs) -> pl.DataFrame:
        """The keys of some records of a part, ascending."""
        chosen = chunk[rows.tolist()]
        variable = self.variable(chosen)
        present = np.flatnonzero(~variable.missing)
        keys = {
            STRATUM: self.strata.of_records(chosen)[present],
            VALUE: variable.values[present],
            ROW: rows[present] + self.starts[number],
        }
        order = _order(keys[STRATUM], keys[VALUE])
        return pl.DataFrame({name: cells[order] for name, cells in keys.items()})

    def dealt(self, chunk: pl.DataFrame, number: int, cuts: Sequence[Cut]) -> Dealt:
        """The keys of a part, each with its range: how many cuts are at or below it."""
        keys = self.some(chunk, number, np.arange(len(chunk), dtype=np.int64))
        return keys, np.searchsorted(_below(keys, cuts), np.arange(len(keys)), "right").astype(np.int64)


def _order(stratum: Longs, value: NDArray[np.generic]) -> Longs:
    """The order of keys that come in the order of their rows."""
    if not len(stratum) or stratum[0] == stratum[-1] == stratum.max() == stratum.min():
        return np.argsort(value, kind="stable")
    return np.lexsort((value, stratum))


def _below(keys: pl.DataFrame, cuts: Sequence[Cut]) -> list[int]:
    """Number of ascending keys below each cut."""
    stratum, value, row = (keys[name].to_numpy() for name in (STRATUM, VALUE, ROW))
    counts = []
    for s, v, r in cuts:
        low, high = np.searchsorted(stratum, (s, s + 1))
        first, last = low + np.searchsorted(value[low:high], v), low + np.searchsorted(value[low:high], v, "right")
        counts.append(int(first + np.searchsorted(row[first:last], r)))
    return counts


@dataclass(frozen=True, slots=True, kw_only=True)
class SortedRange:
    """A file of sorted keys, whose ranks are from `low` and below `high`."""

    path: Path
    low: int
    high: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Swap:
    """The exchange of one column's values.

    Parameters
    ----------
    pairings
        Of each stratum.
    starts
        The row of the first record of each part.
    place
        A folder for what lies between sorting and the values by part.
    """

    ranges: tuple[SortedRange, ...]
    pairings: tuple[RankPairing, ...]
    starts: tuple[int, ...]
    place: Path

    @property
    def received(self) -> Path:
        """The folder of the values that the ranks of each range get."""
        return self.place / "received"

    def partners_file(self, number: int) -> Path:
        """File with the partners of a range's ranks."""
        return self.place / f"partners-{number:06d}.parquet"

    def partners(self) -> Iterator[Longs]:
        """The partners of all ranks, in pieces of one range and one stratum at most."""
        ends = [part.high for part in self.ranges]
        low = 0
        for pairing in self.pairings:
            high = low + pairing.n
            stops = [low, *ends[bisect_right(ends, low) : bisect_left(ends, high)], high]
            for partners in pairing.in_turn(np.diff(stops).tolist()):
                yield partners + low
            low = high


def swapped(
    run: Run, stage: Stage, keys: SortingKeys, pairings: Sequence[RankPairing], place: Path, values: Path
) -> int:
    """Leave the values that the records of each part get, by number of the part; how many values keep their rank.

    Parameters
    ----------
    pairings
        Of each stratum.
    place, values
        Folders: for what lies between, and of what comes out.
    """
    ranges = _sorted(run, stage, keys, place)
    swap = Swap(ranges=ranges, pairings=tuple(pairings), starts=keys.starts, place=place)
    (alone,) = run.engine.each(_paired, [swap])
    numbers = range(len(ranges))
    run.engine.dealt(partial(_to_partners, swap=swap), numbers, len(ranges), swap.received)
    run.engine.dealt(partial(_to_rows, swap=swap), numbers, len(stage.parts), values)
    return alone


def _sorted(run: Run, stage: Stage, keys: SortingKeys, place: Path) -> tuple[SortedRange, ...]:
    """The ranges of a column, each sorted; those without keys are left out."""
    cuts = _cuts(run, stage, keys)
    pieces = stage.dealt(partial(keys.dealt, cuts=cuts), len(cuts) + 1, place / "keys", keys.columns)
    counts: dict[Path, int] = {}
    for piece, count in run.engine.as_finished(_sort, pieces, {}):
        counts[piece] = count
        piece.unlink()
    ends = np.cumsum([counts[piece] for piece in pieces], dtype=np.int64).tolist()
    return tuple(
        SortedRange(path=_sorted_path(piece), low=end - counts[piece], high=end) for piece, end in zip(pieces, ends)
    )


def _cuts(run: Run, stage: Stage, keys: SortingKeys) -> list[Cut]:
    """Keys of a sample between which there is about a block of records."""
    wanted = stage.records // block_size(stage)
    if wanted < 2:
        return []
    rows = rows_by_part(stage, SAMPLE, run.generator(CUTTING))
    sample = pl.concat(stage.each(keys.some, keys.columns, range(len(rows)), rows)).sort(ROW)
    ascending = _order(sample[STRATUM].to_numpy(), sample[VALUE].to_numpy())
    at = np.unique(np.arange(1, wanted) * len(sample) // wanted)
    return sample[ascending[at].tolist()].rows() if len(sample) else []


def _sorted_path(piece: Path) -> Path:
    return piece.with_suffix(".parquet")


def _sort(piece: Path) -> int:
    """Sort the keys of a range, which come in the order of their rows where values and strata are equal."""
    keys = gathered(piece)
    order = _order(keys[STRATUM].to_numpy(), keys[VALUE].to_numpy())
    write_part(pl.DataFrame({name: keys[name].to_numpy()[order] for name in (VALUE, ROW)}), _sorted_path(piece))
    return len(keys)


def _paired(swap: Swap) -> int:
    """Leave the partners of each range's ranks; how many are their own."""
    alone = 0
    partners = swap.partners()
    for number, part in enumerate(swap.ranges):
        pieces: list[Longs] = []
        missing = part.high - part.low
        while missing:
            pieces.append(next(partners))
            missing -= len(pieces[-1])
        ranks = np.concatenate(pieces)
        alone += int((ranks == np.arange(part.low, part.high)).sum())
        write_part(pl.DataFrame({RANK: ranks}), swap.partners_file(number))
    return alone


def _to_partners(number: int, swap: Swap) -> Dealt:
    """The values of a range with the ranks that they go to, each with the range of that rank."""
    ranks = read_part(swap.partners_file(number))
    lows = [part.low for part in swap.ranges]
    places = np.searchsorted(lows, ranks[RANK].to_numpy(), "right") - 1
    return ranks.hstack(read_part(swap.ranges[number].path, (VALUE,))), places


def _to_rows(number: int, swap: Swap) -> Dealt:
    """The values that a range received with the rows of their new ranks, each with the part of its row."""
    part = swap.ranges[number]
    received = gathered(piece_path(swap.received, number))
    rows = read_part(part.path, (ROW,))[ROW].to_numpy()[received[RANK].to_numpy() - part.low]
    places = np.searchsorted(swap.starts, rows, "right") - 1
    return received.select(VALUE).with_columns(pl.Series(ROW, rows)), places
