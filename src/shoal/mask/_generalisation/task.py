"""A table for generalisation: leaves, hierarchies as arrays, and what the labels of a cell lose.

What a cell loses at a level is one of three measures:

- `ncp`: its label stands for u of the column's v leaves and loses (u - 1) / (v - 1) (Xu et al. 2006);
- `precision`: at level l of h it loses l / h (Sweeney 2002);
- `entropy`: its label, borne by N of the n records, hides which of them bear its own value, borne by f, and loses
  log(N / f) / log n (non-uniform entropy, Gionis & Tassa 2009, over the information of a record's own name).

The losses of the columns are added, each times its weight over the mean weight; every cell of a suppressed record loses
1. For the search the entropy is taken without its - log f, which no recoding changes, so that it belongs to the label.

With a target, a column counts by the share of the target's variance that it explains as well, and a cell loses half by
the measure and half by the share of that which its label hides (`shoal.mask._generalisation.target`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, Self

import numpy as np

from shoal.judges.recoded import as_labels
from shoal.kernels.arrays import floats
from shoal.kernels.classes import classes
from shoal.kernels.elementary import log
from shoal.kernels.generalisation import Ladder, RecodingTable, ancestor_levels
from shoal.mask._generalisation.target import hidden
from shoal.mask._suppression.task import distinct_rows
from shoal.privacy.base import PeopleLimits
from shoal.table.prelude import Floats, Ints, Longs, Records, Variable, ints
from shoal.vocabulary.prelude import DataError, Facts, ParameterError, plural, quoted

Loss = Literal["ncp", "precision", "entropy"]
Range = tuple[int, int]
"""Least and greatest level of a column."""

People = tuple[Floats, float, float, float]
"""People of each combination, shape (m,), and the limits on those of a class, as of `PeopleLimits`."""


@dataclass(frozen=True, kw_only=True, eq=False)
class KeyColumn:
    """One column to be generalised."""

    variable: Variable
    leaves: Ints  # Shape (n,); leaf of each record's cell: rows of the hierarchy, then one for missing cells
    # For every leaf its labels from level 0 to the root, None for a missing cell itself
    paths: tuple[tuple[str | None, ...], ...]
    levels: Range  # Least and greatest level allowed
    weight: float  # What its loss is multiplied by
    times: Longs | None = None  # As of the `Task`
    # Shape (height + 1, leaves); share of what the column explains of the target that each leaf's label hides at each
    # level; None without a target
    hidden: Floats | None = None

    @classmethod
    def of(cls, variable: Variable, levels: Range | None, weight: float, times: Longs | None = None) -> Self:
        hierarchy = variable.hierarchy
        if hierarchy is None:
            raise DataError(
                f"Column '{variable.name}' needs a hierarchy that holds all of its values; generalise cannot "
                f"do without. Name one in the plan, or leave the column out."
            )
        known = [c for c in variable.categories if c is not None]
        if stray := len(hierarchy.missing(str(c) for c in known)):
            raise DataError(
                f"Column '{variable.name}' has {plural(stray, 'value')} that an earlier step left and that "
                f"{'is no leaf' if stray == 1 else 'are no leaves'} of its hierarchy; generalise needs leaves. Let "
                f"generalise come first, or leave one of the two out."
            )
        leaf_of = dict(zip(known, hierarchy.codes([str(c) for c in known]).tolist()))
        lookup = ints([*(leaf_of.get(c, len(hierarchy.paths)) for c in variable.categories), len(hierarchy.paths)])
        leaves = lookup[variable.values]
        paths: tuple[tuple[str | None, ...], ...] = hierarchy.paths
        if (
            leaves == len(hierarchy.paths)
        ).any():  # a missing cell is a value of its own, beside all others up to the root
            paths = (*paths, (*[None] * hierarchy.height, hierarchy.paths[0][-1]))
        least, greatest = levels or (0, hierarchy.height)
        if not 0 <= least <= greatest <= hierarchy.height:
            raise ParameterError(
                f"generalise: the levels of '{variable.name}' must be two whole numbers from 0 to {hierarchy.height}, "
                f"the lower first; got [{least}, {greatest}]."
            )
        allowed = (least, greatest)
        return cls(variable=variable, leaves=leaves, paths=paths, levels=allowed, weight=weight, times=times)

    def leaves_of(self, other: Variable) -> Ints:
        """Shape (N,); leaf of each cell of the same column in another table, -1 for a value that is none."""
        leaf_of = {path[0]: leaf for leaf, path in enumerate(self.paths)}
        plain = as_labels(other)
        lookup = np.array([*(leaf_of.get(str(c), -1) for c in plain.categories), -1])
        return ints(lookup[plain.values])

    @property
    def height(self) -> int:
        return len(self.paths[0]) - 1

    def aimed_at(self, target: Variable) -> Self:
        """The column weighted by the share of a target's variance that it explains."""
        variance = hidden(target, self.labels, self.leaves)
        explained = float(variance[-1, 0])
        shares = variance / explained if explained > 0 else np.zeros_like(variance)
        return replace(self, weight=self.weight * explained, hidden=shares)

    @cached_property
    def labels(self) -> Ints:
        """Shape (height + 1, leaves); number of each leaf's label at each level."""
        return ints([_numbered(level, {}) for level in zip(*self.paths)])

    @cached_property
    def texts(self) -> Ints:
        """Shape (height + 1, leaves); number of each leaf's label at each level, the same wherever the text is."""
        numbers: dict[str | None, int] = {}
        return ints([_numbered(level, numbers) for level in zip(*self.paths)])

    def cell_loss(self, loss: Loss) -> Floats:
        """Shape (height + 1, leaves); what a cell of each leaf loses at each level, in [0, 1]."""
        measured = self._measured(loss)
        return measured if self.hidden is None else (measured + self.hidden) / 2

    def _measured(self, loss: Loss) -> Floats:
        v = len(self.paths)
        if loss == "precision":
            return np.repeat(np.arange(self.height + 1)[:, None] / self.height, v, axis=1)
        if loss == "ncp":
            return (np.array([np.bincount(row)[row] for row in self.labels]) - 1) / max(v - 1, 1)
        return np.array([self.entropy(level) - self.entropy(0) for level in range(self.height + 1)])

    def entropy(self, level: int) -> Floats:
        """Shape (leaves,); log N / log n, N the records that bear each leaf's label at a level, at least 1."""
        counts = np.bincount(self.leaves, weights=self.times, minlength=len(self.paths))
        borne = np.bincount(self.labels[level], weights=counts)[self.labels[level]]
        return np.asarray(log(np.maximum(borne, 1.0)) / log(max(int(counts.sum()), 2)))

    def ladder(self, loss: Loss) -> Ladder:
        """The levels that are allowed, for the search."""
        cost = self.cell_loss(loss)
        if loss == "entropy":
            cost = np.array([self.entropy(level) for level in range(self.height + 1)])
        least, greatest = self.levels
        allowed = slice(least, greatest + 1)
        return Ladder(labels=self.labels[allowed], loss=cost[allowed] * self.weight)


def _numbered(labels: Iterable[str | None], numbers: dict[str | None, int]) -> list[int]:
    """The number of each label; new labels are numbered on."""
    return [numbers.setdefault(label, len(numbers)) for label in labels]


@dataclass(frozen=True, kw_only=True, eq=False)
class Recoding:
    """Levels for every cell."""

    labels: Ints | Longs  # Shape (n,); class of each record, -1 for suppressed records
    levels: Ints  # Shape (n, q)
    facts: Facts = field(default_factory=dict)  # How it was found
    loss: float | None = None  # By the objective of the search, where that is not the mean loss of a cell


@dataclass(frozen=True, kw_only=True, eq=False)
class GeneralisationTask:
    """The columns to be generalised, and what the search is to lose least of."""

    columns: tuple[KeyColumn, ...]
    loss: Loss
    # Shape (n,); stratum of each record, which no class may reach across; None without strata
    apart: Ints | None = None
    # Shape (n,); how many records of the table each stands for, where they are its distinct combinations
    times: Longs | None = None

    @classmethod
    def of(
        cls,
        records: Records,
        variables: Sequence[Variable],
        levels: Mapping[str, Range],
        loss: Loss,
        times: Longs | None = None,
        target: Variable | None = None,
    ) -> Self:
        names = [v.name for v in variables]
        if unknown := [name for name in levels if name not in names]:
            raise ParameterError(
                f"generalise: levels are given for {quoted(unknown)}, which the step does not work on."
            )
        columns = [KeyColumn.of(v, levels.get(v.name), v.weight, times) for v in variables]
        if target is not None:
            aimed = [column.aimed_at(target) for column in columns]
            columns = aimed if any(column.weight > 0 for column in aimed) else columns
        mean = sum(column.weight for column in columns) / len(columns)
        columns = [replace(column, weight=column.weight / mean) for column in columns]
        strata = [records[name].codes() for name in records.names("stratum") if name not in names]
        apart = ints(np.unique(np.column_stack(strata), axis=0, return_inverse=True)[1].ravel()) if strata else None
        return cls(columns=tuple(columns), loss=loss, apart=apart, times=times)

    def __len__(self) -> int:
        return len(self.columns[0].leaves)

    @cached_property
    def table(self) -> RecodingTable:
        """The columns on the levels allowed; strata as a column that cannot rise and loses nothing."""
        codes = [column.leaves for column in self.columns]
        ladders = [column.ladder(self.loss) for column in self.columns]
        if self.apart is not None:
            one = np.arange(int(self.apart.max(initial=0)) + 1, dtype=np.int32)[None, :]
            codes.append(self.apart)
            ladders.append(Ladder(labels=one, loss=np.zeros(one.shape)))
        leaves, rows, _ = distinct_rows(np.column_stack(codes))
        return RecodingTable(ladders=ladders, leaves=leaves, rows=ints(rows), times=self.times)

    @property
    def records(self) -> int:
        """Number of records of the table."""
        return len(self) if self.times is None else int(self.times.sum())

    def mean(self, figure: Floats) -> float:
        """The mean over the records of the table."""
        return float(np.average(figure, weights=self.times))

    @property
    def whole(self) -> float:
        """Loss of a record of which nothing is left."""
        return float(sum(column.weight for column in self.columns))

    @cached_property
    def suppressed(self) -> Floats:
        """Shape (m,); loss of a suppressed record of each combination in the search."""
        constant = np.zeros(len(self.table.leaves))
        constant[self.table.rows] = self.constant
        return constant + self.whole

    def with_ladders(self, ladders: Sequence[Ladder]) -> RecodingTable:
        """The table with other losses of the columns."""
        own = self.table
        ladders = [*ladders, *own.ladders[len(ladders) :]]
        return RecodingTable(ladders=ladders, leaves=own.leaves, rows=own.rows, times=own.times)

    def with_people(
        self, table: RecodingTable, populations: Sequence[PeopleLimits]
    ) -> tuple[RecodingTable, list[People]]:
        """A table of the records with the combinations of populations among its own, and the limits on their people.

        People with a value that is no leaf of its hierarchy are of no class. Without strata only.
        """
        sides = [np.column_stack([column.leaves for column in self.columns])]
        for limits in populations:
            cells = [column.leaves_of(limits.population[column.variable.name]) for column in self.columns]
            sides.append(np.column_stack(cells))
        leaves, rows, _ = distinct_rows(np.vstack(sides))
        own, *others = np.split(rows, np.cumsum([len(side) for side in sides])[:-1])
        within = (leaves >= 0).all(axis=1)
        place = np.cumsum(within) - 1
        people: list[People] = []
        for limits, row in zip(populations, others):
            counts = np.bincount(row, weights=limits.counts, minlength=len(leaves))[within]
            people.append((floats(counts), limits.fewest, limits.least, limits.largest))
        return RecodingTable(ladders=table.ladders, leaves=ints(leaves[within]), rows=ints(place[own])), people

    @cached_property
    def constant(self) -> Floats:
        """Shape (n,); by how much the search sees a record lose more than it does, whatever its labels."""
        total = np.zeros(len(self))
        for column in self.columns:
            if self.loss == "entropy":
                total += column.weight * column.entropy(0)[column.leaves]
        return total

    def levels_of(self, labels: Ints | Longs) -> Ints:
        """Shape (n, q); level of each cell's nearest common ancestor in its class, 0 for suppressed records."""
        kept = labels >= 0
        out = np.zeros((len(labels), len(self.columns)), dtype=np.int32)
        for j, column in enumerate(self.columns):
            out[kept, j] = ancestor_levels(column.labels, column.leaves[kept], labels[kept], column.levels[0])
        return out

    def released_classes(self, recoding: Recoding) -> Longs:
        """Shape (n,); number of the labels that each record is released with, -1 for suppressed ones."""
        columns = enumerate(self.columns)
        ids, _ = classes([c.texts[recoding.levels[:, j], c.leaves] for j, c in columns], len(self))
        return np.where(recoding.labels < 0, -1, ids)

    def mean_loss(self, recoding: Recoding) -> float:
        """Mean loss of a cell under a recoding, that of a suppressed record 1."""
        return self.mean(np.where(recoding.labels >= 0, self.losses(recoding.levels), 1.0))

    def losses(self, levels: Ints) -> Floats:
        """Shape (n,); what each record loses, the mean over its cells, in [0, 1]."""
        total = np.zeros(len(levels))
        for j, column in enumerate(self.columns):
            total += column.weight * column.cell_loss(self.loss)[levels[:, j], column.leaves]
        return total / self.whole
