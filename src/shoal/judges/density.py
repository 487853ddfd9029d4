"""Densities of records by kernels on columns of any level of measurement (Aitchison & Aitken 1976; Li & Racine 2003).

The kernel is exp(-d^2 / 2 w^2), with one width w for all columns. d^2 is the sum of squared differences of numbers, in
standard deviations, and of 2 for each category that differs, as much as two random numbers differ on average. So each
record has a normal density of numbers, and one probability for its own categories and another for all others. How
kernels are scaled depends on w and the categories alone, and is left out.
"""

from collections.abc import Iterator
from math import sqrt
from typing import Self

import numpy as np

from shoal.judges.mixed_columns import MixedColumns
from shoal.kernels.arrays import Bools, Floats
from shoal.kernels.elementary import exp, log
from shoal.kernels.risk.predicates import MISSING
from shoal.table.records import Records

BLOCK = 1_000_000
"""Distances in memory at a time (8 MB)."""

APART = 2.0
"""Squared distance of two categories, or of a number and a missing cell."""

BACKGROUND = 0.01
"""Part of a record that is taken to be at every place, so that distances from everybody do not count without bounds."""

WIDTHS = 7

NEAREST = 20
"""Nearest records, at most, whose distances are looked at."""

NO_DISTANCE = 1e-6
"""What counts as no squared distance, for logarithms."""

LOOKED_AT = 400
"""Records whose mean distance decides about the widths."""


class Places:
    """Some columns of several tables side by side, as places between which there are distances.

    Parameters
    ----------
    cells
        By table, shape (d, n); numbers in standard deviations of the first table, categories by number.
    ordered
        Shape (d,); which columns are numbers.
    """

    def __init__(self, cells: tuple[Floats, ...], ordered: Bools) -> None:
        self.cells, self.ordered = cells, ordered

    @classmethod
    def of(cls, names: tuple[str, ...], *tables: Records) -> Self:
        columns = MixedColumns.of(names, *tables)
        cells = [table.copy() for table in columns.tables]
        for j in np.flatnonzero(columns.ordered):
            first = cells[0][j][cells[0][j] != MISSING]
            spread = float(first.std()) if len(first) else 0.0
            for table in cells:
                present = table[j] != MISSING
                table[j, present] = (table[j, present] - (first[0] if len(first) else 0.0)) / (spread or 1.0)
        return cls(tuple(cells), columns.ordered)

    def squares(self, asked: Floats, points: Floats) -> Iterator[tuple[slice, Floats]]:
        """Places that are asked for, (d, m), in blocks, and their squared distances to points (d, n): (block, n)."""
        step = max(BLOCK // points.shape[1], 1)
        for start in range(0, asked.shape[1], step):
            rows = slice(start, start + step)
            square = np.zeros((asked[:, rows].shape[1], points.shape[1]))
            for ordered, y, x in zip(self.ordered, asked[:, rows], points):
                if not ordered:
                    square += APART * (y[:, None] != x)
                    continue
                lacking = y == MISSING, x == MISSING
                away = np.where(lacking[0], 0.0, y)[:, None] - np.where(lacking[1], 0.0, x)
                square += np.where(lacking[0][:, None] != lacking[1], APART, away * away)
            yield rows, square

    def log_densities(self, points: Floats, asked: Floats, widths: Floats) -> Floats:
        """Shape (w, m); logarithms of the density of points (d, n), n >= 1, at places (d, m), by kernels of w widths.

        But for a constant for each width.
        """
        out = np.empty((len(widths), asked.shape[1]))
        least = float(log(BACKGROUND))
        for rows, square in self.squares(asked, points):
            nearest = square.min(axis=1)
            for number, width in enumerate(widths):
                by = -1 / (2 * width * width)
                sums = exp(by * (square - nearest[:, None])).sum(axis=1)
                top = np.maximum(by * nearest, least)
                out[number, rows] = top + log(sums * exp(by * nearest - top) + exp(least - top))
        return out - float(log(float(points.shape[1])))

    def nearness(self, asked: Floats, points: Floats) -> Floats:
        """Shape (5, m); how near points (d, n), n >= 1, lie to places (d, m), as logarithms that are high where near.

        Mean squared distances of the nearest, the 5 and the `NEAREST` nearest points, the ratio of the nearest to the
        next one, and the least number of columns that differ.
        """
        most = min(NEAREST, points.shape[1])
        out = np.empty((5, asked.shape[1]))
        for rows, square in self.squares(asked, points):
            near = np.sort(np.partition(square, most - 1, axis=1)[:, :most], axis=1) + NO_DISTANCE
            differ = np.zeros(square.shape, dtype=np.int64)
            for y, x in zip(asked[:, rows], points):
                differ += y[:, None] != x
            first, means = near[:, 0], (near[:, :5].mean(axis=1), near.mean(axis=1))
            out[:, rows] = first, *means, first / near[:, min(1, most - 1)], differ.min(axis=1) + NO_DISTANCE
        return np.asarray(-log(out))

    def widths(self, points: Floats, rng: np.random.Generator) -> Floats:
        """Shape (`WIDTHS`,); widths from the root mean square of the distances of some points down to 1/64 of it."""
        some = points[:, rng.permutation(points.shape[1])[:LOOKED_AT]]
        total = sum(float(square.sum()) for _, square in self.squares(some, some))
        widest = sqrt(total) / some.shape[1] or 1.0  # where all records are equal any width will do
        return np.asarray(widest * np.cumprod([1.0, *[0.5] * (WIDTHS - 1)]))
