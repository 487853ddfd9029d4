"""MDAV, the maximum distance to average vector heuristic."""

from collections.abc import Sequence
from typing import Annotated

from shoal.kernels.partition import mdav
from shoal.partition.base import Partitioner
from shoal.partition.blocks import in_blocks
from shoal.table.packed import Packed
from shoal.table.prelude import Generator, Ints, Partition, Progress, Records
from shoal.vocabulary.prelude import Ge, method

SMALLEST_BLOCK = 50_000
"""Half as large, and there are twice as many edges that groups cannot cross; see `bench/mdav.py --blocks`."""


@method("mdav", title="MDAV", source="Domingo-Ferrer & Torra (2005), MDAV-generic", example={"k": 3})
class MDAV(Partitioner):
    """Groups of k to 2k - 1 records around the records farthest from the average.

    While 3k or more records remain: the record farthest from their average and its k - 1 nearest make a
    group, then the record farthest from that one and its k - 1 nearest. Of 2k to 3k - 1 remaining records
    one more group is taken, and the rest is the last group. Ties go to the lowest row. The result is exact
    and does not depend on seeds, threads or instruction sets. Records with missing cells are grouped with those that
    lack the same columns, by the others.

    Parameters
    ----------
    k
        Smallest group size.
    block_size
        None: exact. A number: tables of twice that many records or more are first halved, again and again, at
        medians of first principal components, down to blocks of that size or more, and MDAV runs in each block,
        on all processors. No longer exact: groups cannot reach across the edge of a block, which costs 4 % of
        squared error on normal data and 10 % on heavily skewed independent columns (250 000 x 30, 5 times
        faster). Worth a thought for ten columns or more from 250 000 records on, or for many millions.
    """

    by_known_columns = True

    k: Annotated[int, Ge(1)]
    block_size: Annotated[int, Ge(SMALLEST_BLOCK)] | None = None

    def assign(self, records: Records, columns: Sequence[str], rng: Generator, progress: Progress) -> Partition:
        points = Packed.of(records, columns)
        size = max(self.block_size or 0, self.k)
        if self.block_size is None or len(records) < 2 * size:
            return Partition(labels=self._groups(points, progress))
        return in_blocks(points.places(), size, lambda rows, report: self._groups(points.take(rows), report), progress)

    def _groups(self, points: Packed, progress: Progress) -> Ints:
        """The partition of the points, whichever way they stand."""
        return mdav(points.x, self.k, coding=points.coding, progress=progress)
