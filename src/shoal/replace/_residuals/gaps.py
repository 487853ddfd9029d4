"""Missing cells: the records of a group divided by which cells they have.

Columns are drawn from their moments, and a cell that is not there has none. So the records of a group that have the
same cells are drawn on their own, in these columns, with the moments that they had.

A *pattern* of cells that few records of the group share (fewer than the smallest group of the partition holds, or
`ENOUGH` where groups are large) has no moments that may be kept by themselves. Its records are joined with a *base*:
the commonest records of the group that have all the cells which these have. They are drawn first, from the normal
regression of the base, and the base then gets what lacks to the moments of all of them together. Filled in with what
the group's likeliest normal distribution lets expect of a missing cell (`_residuals.expectation`), base and joined
records have the means, the covariances and the covariances with Y that they had. So this distribution, whose mean and
covariance are those of the EM algorithm, is that of the original.

More than that is not kept. The sum of a column over the records that have another one too, beside its sum over all,
would give the cells of the few away that lack the other.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shoal.kernels import linear
from shoal.kernels.draws import standard_normal
from shoal.kernels.tall import singular
from shoal.replace._residuals.rotation import (
    NEGLIGIBLE,
    dimensions,
    least_dimensions,
    power_of_two,
    random_frame,
    split,
)
from shoal.table.prelude import Bools, Floats, Generator, Longs, Partition

ENOUGH = 50
"""So many records may have moments of their own, however large the groups are."""

NONE = -1


@dataclass(frozen=True, kw_only=True, eq=False)
class GapDivision:
    """Division of the records of a partition into those that are drawn together."""

    partition: Partition
    patterns: Bools  # Shape (P, L); which cells the records of each pattern have
    pattern: Longs  # Shape (n,); each record's
    base: Longs  # Shape (n,); the pattern of its group to which a record is joined, or `NONE`
    # Shape (n,); the records of a base that would be too few to stand alone, or whose group lacks no cell: whether they
    # can be drawn from must be asked (`dimensions`)
    fewer: Bools
    least: int  # So many records must a base and those joined to it be

    @classmethod
    def of(cls, partition: Partition, known: Bools, least: int, kept: int) -> "GapDivision":
        """Divide groups by the cells (n, L) that are there.

        `least`: so many records of a group with the same cells stand alone, or `ENOUGH`; 0 if any number does; `kept`:
        number of columns that are kept.
        """
        complete = known.all(axis=1)
        patterns, pattern = np.ones((1, known.shape[1]), dtype=bool), np.zeros(len(known), dtype=np.int64)
        if not complete.all():
            patterns, pattern = np.unique(known, axis=0, return_inverse=True)
            pattern = pattern.reshape(-1).astype(np.int64)
        least = min(least, ENOUGH)
        needed = np.array([least_dimensions(int(columns)) for columns in patterns.sum(axis=1)])
        alone = np.maximum(needed + kept + 1, least) if least else np.zeros(len(patterns))
        base, fewer = np.full(len(known), NONE), np.zeros(len(known), dtype=bool)
        incomplete = np.bincount(partition.labels, weights=~complete) > 0
        fewer[~incomplete[partition.labels]] = True
        for g, rows in enumerate(partition.members() if incomplete.any() else ()):
            if incomplete[g]:
                bases, short = _bases(patterns, np.bincount(pattern[rows], minlength=len(patterns)), alone)
                base[rows], fewer[rows] = bases[pattern[rows]], short[pattern[rows]]
        return cls(partition=partition, patterns=patterns, pattern=pattern, base=base, fewer=fewer, least=least)

    @property
    def joined(self) -> Bools:
        """Shape (n,); which records are joined to a base."""
        return np.asarray(self.base != NONE)

    def dimensions(self, y: Floats) -> Longs:
        """Shape (G,); the fewest that [1, Y] leaves of a base, and as many more as it needs less than all columns do; 0
        where a base and its joined records are too few."""
        out = np.full(self.partition.n_groups, np.iinfo(np.int64).max)
        rows = np.flatnonzero(self.fewer)
        if not rows.size:
            return out
        count = len(self.patterns)
        whole = self.partition.labels.astype(np.int64) * count + np.where(self.joined, self.base, self.pattern)
        sizes = np.bincount(whole, minlength=count * self.partition.n_groups)
        blocks, labels = np.unique(whole[rows], return_inverse=True)
        needed = np.array([least_dimensions(int(columns)) for columns in self.patterns.sum(axis=1)])
        spared = least_dimensions(self.patterns.shape[1]) - needed[blocks % count]
        left = dimensions(Partition(labels=labels.astype(np.int32)), y[rows]) + spared
        np.minimum.at(out, blocks // count, np.where(sizes[blocks] < self.least, 0, left))
        return out

    def unions(self) -> Iterator[tuple[int, Longs, Longs, Longs]]:
        """Yield, of every base with joined records, its group, its rows, the joined rows and its columns."""
        if not self.joined.any():
            return
        for g, rows in enumerate(self.partition.members()):
            for number in np.unique(self.base[rows][self.joined[rows]]):
                own = rows[(self.pattern[rows] == number) & ~self.joined[rows]]
                yield g, own, rows[self.base[rows] == number], np.flatnonzero(self.patterns[number])

    def blocks(self) -> Iterator[tuple[Longs, Longs, Partition]]:
        """Yield, of every pattern with cells, its columns, its rows that are not joined, and their groups."""
        for number, has in enumerate(self.patterns):
            rows = np.flatnonzero((self.pattern == number) & ~self.joined)
            if rows.size and has.any():
                labels = np.unique(self.partition.labels[rows], return_inverse=True)[1]
                yield np.flatnonzero(has), rows, Partition(labels=labels.astype(np.int32))


def _bases(patterns: Bools, counts: Longs, alone: Floats) -> tuple[Longs, Bools]:
    """Shape (P,) each; the base of each pattern of a group, or `NONE`, and which are bases that cannot stand alone."""
    bases, short = np.full(len(patterns), NONE), np.zeros(len(patterns), dtype=bool)
    able = (counts >= alone) & (counts > 0)
    few = np.flatnonzero((counts > 0) & ~able)
    for number in sorted(few, key=lambda p: (-int(patterns[p].sum()), -int(counts[p]))):
        above = np.flatnonzero(able & (patterns | ~patterns[number]).all(axis=1))
        if above.size:
            bases[number] = above[counts[above].argmax()]
        else:
            able[number] = short[number] = True
    return bases, short


@dataclass(frozen=True, kw_only=True, eq=False)
class Union:
    """A base and the records joined to it."""

    # x, y: shape (s, J) and (s, M); the base's columns
    x: Floats
    y: Floats
    # other, other_y: shape (r, J), NaN where cells are missing, and (r, M); those of the joined records
    other: Floats
    other_y: Floats

    def drawn(self, rng: Generator) -> tuple[Floats, Floats]:
        """Shape (r, J) each; predictions of the joined records by regressions on Y, and normal noise about them.

        A column is regressed where it is known, in the base and beside it; the noise is like the base's residuals.
        """
        here, there = self._designs()
        predicted = np.empty(self.other.shape)
        for j, first in enumerate(self.x[0]):
            known = ~np.isnan(self.other[:, j])
            design = np.vstack([here, there[known]])
            own = np.concatenate([self.x[:, j], self.other[known, j]])[:, None] - first
            turn = _turn(design)
            sums = linear.cross_product(linear.product(design, turn), own)
            predicted[:, j] = first + linear.product(linear.product(there, turn), sums)[:, 0]
        parts = split(self.x[None], self.y[None])
        freedom = max(int(parts.dimension[0]), 1)
        values, axes = linear.eigen(linear.cross_product(parts.residual[0], parts.residual[0]) / freedom)
        root = np.sqrt(np.maximum(values, 0.0))[:, None] * axes.T
        return predicted, linear.product(standard_normal(rng, self.other.shape), root) * parts.unit[0]

    def remaining(self, middle: Floats, old: Floats, new: Floats, rng: Generator, *, last: bool) -> Floats | None:
        """Shape (s, J); a base that, beside new joined records, has the moments that all had.

        None if there is none; with `last` the nearest that there is. `old` and `new`, shape (r, J): the joined records
        as they were and are, filled in; `middle`, shape (J,): what moments are taken about.
        """
        own, old, now = self.x - middle, old - middle, new - middle
        unit = power_of_two(np.vstack([own, old])[None])[0]
        own, old, now = own / unit, old / unit, now / unit
        here, there = self._designs()
        turn = _turn(here)
        sums = linear.cross_product(here, own) + linear.cross_product(there, old - now)
        sums = linear.cross_product(turn, sums)
        products = linear.cross_product(own, own) + linear.cross_product(old, old) - linear.cross_product(now, now)
        values, axes = linear.eigen(products - linear.cross_product(sums, sums))
        if values.min() < 0.0 and not last:
            return None
        root = np.sqrt(np.maximum(values, 0.0))[:, None] * axes.T
        fitted = linear.product(linear.product(here, turn), sums)
        frame = random_frame(split(self.x[None], self.y[None]), rng)[0]
        return np.asarray(middle + (fitted + linear.product(frame, root)) * unit)

    def _designs(self) -> list[Floats]:
        """Shape (s, 1 + M) and (r, 1 + M); 1 and Y about a member of the base, columns near 1."""
        first = self.y[:1]
        unit = power_of_two((self.y - first)[None])[0] if self.y.shape[1] else first
        return [np.hstack([np.ones((len(y), 1)), (y - first) / unit]) for y in (self.y, self.other_y)]


def _turn(design: Floats) -> Floats:
    """Shape (1 + M, rank); what makes the columns of a design (s, 1 + M) orthonormal."""
    values, right = (part[0] for part in singular(design[None]))
    real = values > NEGLIGIBLE * values[0]
    return np.asarray(right[real].T / values[real])
