"""Sizes of equivalence classes: the first question of every reader of a release.

The profile of a released table is a function of that table alone. That of an original is private, but its counts have
public forms if one record cannot move them far: taking a record out of a class of exactly k leaves k - 1 records in a
class that is too small, and adding one to a class of k - 1 removes them from the count, so that replacing one record
moves the count of records in classes under k by at most k.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from shoal.kernels.arrays import Longs
from shoal.table.records import MissingCells, Records
from shoal.vocabulary.facts import ByColumn, Count

SMALLEST = (2, 3, 5)
"""Values of k for which records in classes of fewer than k are counted."""

STARTS = (1, 2, 3, 4, 5, 10, 20, 50, 100, 1000)
"""Lower ends of the bars of a histogram of class sizes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeRange:
    """The records whose classes have `low` to `high` records; the last range is open, `high` None."""

    low: int
    high: int | None
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClassProfile:
    """Distribution of the records of a table over the sizes of their equivalence classes."""

    # What a missing cell is taken to match; under `equal` the figures are those of equivalence classes, otherwise of
    # the records that each record may stand for
    missing: MissingCells
    records: int  # How many there are, at least one
    smallest: int  # Size of the smallest class
    fewer_than: Mapping[int, int]  # For each k of `SMALLEST`, the records whose class has fewer than k
    sizes: tuple[SizeRange, ...]  # Records by size of their class, ranges without records left out

    @classmethod
    def of(cls, records: Records, missing: MissingCells = "equal") -> "ClassProfile | None":
        """The profile of a table; None where it has no records, or no quasi-identifier."""
        names = records.quasi_identifiers
        if not len(records) or not names:
            return None
        sizes, counts = np.unique(records.matching(names, missing), return_counts=True)
        return cls.of_sizes(sizes, counts, missing)

    @classmethod
    def of_sizes(cls, sizes: Longs, counts: Longs, missing: MissingCells = "equal") -> "ClassProfile":
        """The profile of a table with records.

        Parameters
        ----------
        sizes, counts
            Shape (S,), S > 0; sizes of classes, in any order and several times each, and the records of these classes.
        """
        bars = np.zeros(len(STARTS), dtype=np.int64)
        np.add.at(bars, np.searchsorted(STARTS, sizes, "right") - 1, counts)
        ends = [*(start - 1 for start in STARTS[1:]), None]
        return cls(
            missing=missing,
            records=int(counts.sum()),
            smallest=int(sizes.min()),
            fewer_than={k: int(counts[sizes < k].sum()) for k in SMALLEST},
            sizes=tuple(
                SizeRange(low=low, high=high, records=int(count))
                for low, high, count in zip(STARTS, ends, bars)
                if count
            ),
        )

    def violations(self, *, imputed: bool = False) -> ByColumn:
        """The counts below each k of an original; in public as bands, if one record cannot move them far.

        `imputed`: True if cells were filled in from other records, so that one record may move any number of others.
        """
        bounded = self.missing == "equal" and not imputed  # under other readings one record may stand for any number
        return ByColumn(
            {
                str(k): Count(n=count, of=self.records, influence=k if bounded else None)
                for k, count in self.fewer_than.items()
            }
        )
