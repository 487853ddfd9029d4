"""A table on its way through a suppression: its distinct rows, with how many records of each have lost what."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from shoal.kernels.arrays import Bools, Ints, Longs
from shoal.kernels.classes import classes, first_rows
from shoal.mask._suppression.task import Losses, different_places, distinct_rows


@dataclass(frozen=True, kw_only=True, eq=False)
class State:
    """The rows of a table as cells of their records are blanked."""

    before: Ints  # Shape (s, q); the distinct rows of the table that came in, in lexicographic order
    codes: Ints  # Shape (r, q); rows as they are now; several may have come of one, and several may be equal
    counts: Longs  # Shape (r,); how many records have each
    source: Longs  # Shape (r,); the row that it was before, by number
    spent: Longs  # Shape (q,); cells of each column that were blanked

    @classmethod
    def of(cls, rows: Ints, counts: Longs, spent: Longs | None = None) -> "State":
        """A table of which nothing is blanked yet, or so many cells of each column."""
        if spent is None:
            spent = np.zeros(rows.shape[1], dtype=np.int64)
        return cls(before=rows, codes=rows, counts=counts, source=np.arange(len(rows)), spent=spent)

    @property
    def records(self) -> int:
        return int(self.counts.sum())

    def among(self, columns: list[int]) -> tuple[Ints, Longs, Longs]:
        """Distinct rows of some columns, as `distinct_rows` gives them."""
        return distinct_rows(self.codes[:, columns], self.counts)

    def without(self, losses: Losses, columns: list[int], rng: Generator) -> "State":
        """The table after records lost cells of some columns, drawn at random among those that are equal on these.

        `losses`: rows and columns as `among` numbers them.
        """
        _, ids, sizes = self.among(columns)
        drawn = self._drawn(ids, sizes, losses.rows, rng)
        groups, times = classes([drawn, *losses.cells.T.astype(np.int32)], len(drawn))
        first = first_rows(groups, len(times))
        rows = drawn[first]
        blank = np.zeros((len(rows), self.codes.shape[1]), dtype=bool)
        blank[:, columns] = losses.cells[first]
        left = self.counts.copy()
        np.subtract.at(left, rows, times)
        kept = left > 0
        return State(
            before=self.before,
            codes=np.vstack([self.codes[kept], np.where(blank, np.int32(-1), self.codes[rows])]),
            counts=np.concatenate([left[kept], times]),
            source=np.concatenate([self.source[kept], self.source[rows]]),
            spent=self.spent + ((blank & (self.codes[rows] >= 0)) * times[:, None]).sum(axis=0),
        )

    def _drawn(self, ids: Longs, sizes: Longs, wanted: Longs, rng: Generator) -> Longs:
        """Shape (m,); for each class in `wanted` the row of a record of it that no other one has drawn."""
        order = np.argsort(ids, kind="stable")
        ends = np.cumsum(self.counts[order])
        single = np.bincount(ids, minlength=len(sizes)) == 1  # all of its records have one row
        places = different_places(np.where(single, 1, sizes), wanted, rng)
        begins = np.cumsum(sizes) - sizes
        return np.asarray(order[np.searchsorted(ends, begins[wanted] + places, side="right")])

    def patterns(self, rng: Generator) -> "RowPatterns":
        """Assignment of the blanked cells to records of each row of the table before, drawn at random."""
        blank = (self.codes < 0) & (self.before[self.source] >= 0)
        groups, _ = classes([self.source, *blank.T.astype(np.int32)], len(blank))
        first = first_rows(groups, int(groups.max(initial=-1)) + 1)
        times = np.zeros(len(first), dtype=np.int64)
        np.add.at(times, groups, self.counts)
        source, cells = self.source[first], blank[first]
        counts = np.zeros(len(self.before), dtype=np.int64)
        np.add.at(counts, source, times)
        alike = np.bincount(source, minlength=len(self.before)) == 1
        of_all = np.zeros(self.before.shape, dtype=bool)
        of_all[source[alike[source]]] = cells[alike[source]]
        some = ~alike[source] & cells.any(axis=1)
        rows = np.repeat(source[some], times[some])
        return RowPatterns(
            counts=counts,
            of_all=of_all,
            rows=rows,
            places=different_places(counts, rows, rng),
            cells=np.repeat(cells[some], times[some], axis=0),
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class RowPatterns:
    """Cells lost by the records of each distinct row of a table."""

    counts: Longs  # Shape (s,); records of each row
    of_all: Bools  # Shape (s, q); what all records of a row lose; nothing where not all lose the same
    # rows, places, cells: shapes (m,), (m,) and (m, q); of rows whose records do not lose the same, the records that
    # lose something: the row, which of its records that is, counted from 0 in the order of the table, and what it loses
    rows: Longs
    places: Longs
    cells: Bools

    @property
    def touched(self) -> int:
        """Records that lose something."""
        return int(self.counts[self.of_all.any(axis=1)].sum()) + len(self.rows)

    @property
    def by_column(self) -> Longs:
        """Shape (q,); cells that are lost."""
        return np.asarray((self.of_all * self.counts[:, None]).sum(axis=0) + self.cells.sum(axis=0))

    def of_records(self, ids: Longs) -> Bools:
        """Shape (n, q); the cells that each record loses. `ids`, shape (n,): the number of each record's row."""
        blank = self.of_all[ids]
        if len(self.rows):
            order = np.argsort(ids, kind="stable")
            begins = np.cumsum(self.counts) - self.counts
            blank[order[begins[self.rows] + self.places]] = self.cells
        return blank
