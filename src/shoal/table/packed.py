"""Compact records for distances: a code, instead of one coordinate for each category, where categories are many."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.kernels.arrays import Floats, Ints, Longs, longs
from shoal.table.partition import Partition
from shoal.table.records import Records
from shoal.table.variable import Variable
from shoal.vocabulary.errors import WidthError, plural

Coding = tuple[Longs, Floats]
"""Number of categories of each column, 0 for one of coordinates, and the sides of their points."""

FEW, EACH, MANY = 8, 4, 32
"""Codes are faster for more categories, over all nominal columns without a hierarchy, than FEW and EACH times as many
as there are other coordinates, and in any case for more than MANY.

Measured with `bench/mdav.py --categories`.
"""

MOST_STEPS = 2**37
"""Most records times coordinates; every two groups need the mean, with a coordinate for each category.

This bounds the time to some minutes.
"""


@dataclass(frozen=True, kw_only=True, eq=False)
class Packed:
    """The points of some records, with nominal columns as codes if that is faster."""

    x: Floats  # Shape (n, d); coordinates, and codes from 0
    categories: Longs  # Shape (d,); number of categories of a column of codes, 0 for a column of coordinates
    sides: Floats  # Shape (d,); the one coordinate of a category's point that is not 0

    @classmethod
    def of(cls, records: Records, names: Iterable[str]) -> "Packed":
        """Pack some columns: coordinates alone, as in `Records.matrix`, if there are few categories.

        Raises WidthError if the mean of the records would take too long.
        """
        columns = [records[name] for name in names]
        others = sum(v.width for v in columns if not _plain(v))
        if sum(v.width for v in columns if _plain(v)) <= min(FEW + EACH * others, MANY):
            x = records.matrix(v.name for v in columns)
            return cls(x=x, categories=np.zeros(x.shape[1], dtype=np.int64), sides=np.zeros(x.shape[1]))
        _check_time(columns, len(records))
        parts = [v.values[:, None].astype(np.float64) if _plain(v) else v.embedded() for v in columns]
        widths = [part.shape[1] for part in parts]
        return cls(
            x=np.ascontiguousarray(np.hstack(parts)),
            categories=np.repeat(longs([v.width if _plain(v) else 0 for v in columns]), widths),
            sides=np.repeat([np.sqrt(v.weight) * (1 / np.sqrt(2)) if _plain(v) else 0.0 for v in columns], widths),
        )

    @property
    def coded(self) -> bool:
        """True if any column holds codes."""
        return bool(self.categories.any())

    @property
    def coding(self) -> Coding | None:
        """What kernels are told of columns of codes; None if all hold coordinates."""
        return (self.categories, self.sides) if self.coded else None

    def take(self, rows: Longs) -> "Packed":
        """Some of the records."""
        return Packed(x=self.x[rows], categories=self.categories, sides=self.sides)

    def places(self) -> Floats:
        """Shape (n, d); coordinates, and codes as positions in the order of the categories.

        The first and last positions are as far apart as two categories.
        """
        span = np.where(self.categories > 1, np.sqrt(2) * self.sides / np.maximum(self.categories - 1, 1), 1.0)
        return np.asarray(self.x * span)

    def sse(self, part: Partition) -> float:
        """Sum of the squared distances to the groups' means."""
        codes = self.categories > 0
        total = part.sse(self.x[:, ~codes]) if not codes.all() else 0.0
        for values, categories, side in zip(self.x[:, codes].T, self.categories[codes], self.sides[codes]):
            kinds = int(categories) + 1  # a missing cell, of code -1, is of a kind of its own
            cells = part.labels.astype(np.int64) * kinds + values.astype(np.int64) + 1
            labels, counts = np.unique(cells, return_counts=True)
            alike = np.bincount(labels // kinds, counts.astype(np.float64) ** 2, minlength=part.n_groups)
            total += float(side**2 * (part.sizes - alike / part.sizes).sum())
        return total

    def squares_to_centres(self, rows: Longs, labels: Ints, groups: int) -> Floats:
        """Shape (len(rows), groups); squared distances of some records from the centres of groups of the others.

        `labels`: shape (n,); the group of each other record, below 0 for those that belong to none.
        """
        inside = np.flatnonzero(labels >= 0)
        own = labels[inside]
        sizes = np.maximum(np.bincount(own, minlength=groups), 1).astype(np.float64)
        squares = np.zeros((len(rows), groups))
        for values, categories, side in zip(self.x.T, self.categories.tolist(), self.sides):
            if not categories:
                sums = np.bincount(own, weights=values[inside], minlength=groups)
                squares += (values[rows][:, None] - sums / sizes) ** 2
                continue
            cells = own.astype(np.int64) * categories + values[inside].astype(np.int64)
            shares = np.bincount(cells, minlength=groups * categories).reshape(groups, categories) / sizes[:, None]
            apart = 1.0 + (shares**2).sum(axis=1) - 2.0 * shares.T[values[rows].astype(np.int64)]
            squares += side**2 * np.maximum(apart, 0.0)
        return squares

    def information_loss(self, part: Partition) -> float:
        """As `Partition.information_loss` of the points."""
        if not self.coded:
            return part.information_loss(self.x)
        total = self.sse(Partition(labels=np.zeros(len(self.x), dtype=np.int32)))
        return 100.0 * self.sse(part) / total if total > 0 else 0.0


def _check_time(columns: Sequence[Variable], n: int) -> None:
    steps = n * sum(v.width for v in columns)
    if steps > MOST_STEPS:
        widest = max(columns, key=lambda v: v.width)
        raise WidthError(
            f"Column '{widest.name}' has {plural(len(widest.categories), 'category')}, and each counts in the mean of "
            f"{plural(n, 'record')}: {steps:,} steps, where at most {MOST_STEPS:,} are allowed. Recode the column to "
            f"fewer categories, form groups without it (by: ...), or give it another role."
        )


def _plain(variable: Variable) -> bool:
    """True if all categories of a column are equally far apart."""
    return variable.level == "nominal" and variable.hierarchy is None
