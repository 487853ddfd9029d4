"""Sequential synthesis by trees: each column drawn from the donors that share a leaf with the record.

Columns are drawn one after the other. A tree is grown for each on the original columns before it; the synthetic
record, with the values it has by then, walks down that tree, and its value comes from a donor, an original record of
the leaf it ends in (Reiter 2005). So no distribution is assumed: heaps, zeros and bounded ranges come out as they
are, and interactions are found where they matter.

A donor's value is copied for categories. A number is drawn between the donor and its neighbours in the leaf unless it
is one that many records have (a heap: zero, a round number), and written as finely as the column is; so a rare value
is hardly ever released as it is. The `FEW` values at either end are drawn anew among those next to them, so that no
extreme value is given away.

What is missing is synthesised, too: as a category of its own, and for numbers by a tree that tells missing from known
before another one draws the known ones.

Two categories that never occur together, though chance would bring them together in `FEW` records or more, are taken
for a rule (no pregnant men) and are kept apart: draws that break it are drawn again.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from shoal.data.partition import Partition, Progress
from shoal.data.records import Records
from shoal.data.variable import Variable
from shoal.errors import ParameterError, quoted
from shoal.facts import Count
from shoal.kernels.arrays import Bools, Floats, Ints, Longs, ints, longs, seed_of
from shoal.kernels.trees.grow import Features, Tree, grow
from shoal.methods import family
from shoal.parameters import Columns
from shoal.replace.base import Replacement
from shoal.replace.decimals import Decimals
from shoal.step_result import StepResult

FEW = 5
"""Records that must have a number for it to be a heap; so many from either end are extremes."""

AGAIN = 20
"""Times that a draw which breaks a rule is drawn again from its leaf, before one from the whole column is taken."""


@dataclass(frozen=True, kw_only=True)
class Growing:
    """How trees are grown: fewest records of a leaf, least gain of a split, number of trees.

    Parameters
    ----------
    trees
        1 grows one tree on all records; more grow as many on random draws of the records, each looking at a random
        part of the features at every node, and every value comes from one of them at random.
    """

    min_leaf: int
    complexity: float
    trees: int = 1


@dataclass(frozen=True, kw_only=True, eq=False)
class Column:
    """A column as trees see it.

    Parameters
    ----------
    feature
        Shape (n,); numbers with NaN for missing, or codes from 0 with the number of categories for missing.
    levels
        Number of categories, the missing one included; 0 for numbers and ranks.
    """

    variable: Variable
    feature: Floats
    levels: int

    @classmethod
    def of(cls, variable: Variable) -> "Column":
        values, missing = variable.values, variable.missing
        if variable.level == "nominal":
            count = len(variable.categories)
            return cls(variable=variable, feature=np.where(missing, count, values).astype(np.float64), levels=count + 1)
        return cls(variable=variable, feature=np.where(missing, np.nan, values).astype(np.float64), levels=0)

    def written(self, feature: Floats) -> Variable:
        """The column that has these features."""
        if self.variable.continuous:
            return self.variable.with_values(feature)
        gone = np.isnan(feature) | (feature == len(self.variable.categories))
        return self.variable.with_values(ints(np.where(gone, -1, np.nan_to_num(feature))))


@dataclass(frozen=True, kw_only=True, eq=False)
class Donors:
    """Trees that find a donor for a new record.

    Parameters
    ----------
    trees
        Each with the original records, shape (n,), that it was grown on; none where nothing predicts.
    count
        Number of original records.
    """

    trees: tuple[tuple[Tree, Longs], ...]
    count: int

    @classmethod
    def of(
        cls, y: Floats | Ints, classes: int, features: Features | None, growing: Growing, rng: np.random.Generator
    ) -> "Donors":
        """Trees for the response y (n,): numbers, or so many classes."""
        n = len(y)
        if features is None:
            return cls(trees=(), count=n)
        limits: dict[str, Any] = {"classes": classes, "min_leaf": growing.min_leaf, "complexity": growing.complexity}
        if growing.trees == 1:
            return cls(trees=((grow(features, y, **limits), np.arange(n)),), count=n)
        d = len(features.x)
        looked_at = max(1, round(d**0.5 if classes else d / 3))  # as Breiman (2001) and his program have it
        grown = []
        for _ in range(growing.trees):
            rows = np.sort(rng.integers(0, n, n))
            tree = grow(features.take(rows), y[rows], looked_at=looked_at, seed=seed_of(rng), **limits)
            grown.append((tree, rows))
        return cls(trees=tuple(grown), count=n)

    def draw(self, x: Floats, rng: np.random.Generator) -> Longs:
        """Shape (m,); for each new record (d, m) the place of a donor among the original ones."""
        m = x.shape[1]
        if not self.trees:
            return longs(rng.integers(0, self.count, m))
        which = rng.integers(0, len(self.trees), m)
        donors = np.empty(m, dtype=np.int64)
        for number, (tree, rows) in enumerate(self.trees):
            mine = np.flatnonzero(which == number)
            donors[mine] = _from_leaves(tree, rows, tree.leaves(x[:, mine]), rng)
        return donors


def _from_leaves(tree: Tree, rows: Longs, leaves: Ints, rng: np.random.Generator) -> Longs:
    """For each leaf asked for one of the records in it, drawn at random."""
    order = np.argsort(tree.leaf_of, kind="stable")
    sizes = np.bincount(tree.leaf_of)
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    place = (rng.random(len(leaves)) * sizes[leaves]).astype(np.int64)
    return np.asarray(rows[order[starts[leaves] + np.minimum(place, sizes[leaves] - 1)]])


@dataclass(frozen=True, kw_only=True, eq=False)
class Model:
    """What new values of a column are drawn from.

    Parameters
    ----------
    values
        Shape (n,); the known ones.
    gaps, donors
        Trees that tell missing from known, None where nothing is missing, and trees for the known ones.
    missing
        Shape (n,) for the former: what they tell.
    """

    column: Column
    values: Floats
    donors: Donors
    gaps: Donors | None
    missing: Ints

    @classmethod
    def of(
        cls, column: Column, at: Longs, features: Features | None, growing: Growing, rng: np.random.Generator
    ) -> "Model":
        own = column.feature[at]
        missing = ints(np.isnan(own))
        gaps, some = None, features
        if missing.any():
            gaps = Donors.of(missing, 2, features, growing, rng)
            some = None if features is None else features.take(np.flatnonzero(missing == 0))
        values = own[missing == 0]
        y = ints(values) if column.levels else values
        donors = Donors.of(y, column.levels, some if len(values) else None, growing, rng)
        return cls(column=column, values=values, donors=donors, gaps=gaps, missing=missing)

    def draw(self, x: Floats, rng: np.random.Generator) -> Floats:
        """Shape (m,); features for new records (d, m)."""
        new = np.full(x.shape[1], np.nan)
        known = np.arange(len(new))
        if self.gaps is not None:
            known = np.flatnonzero(self.missing[self.gaps.draw(x, rng)] == 0)
        if len(self.values):
            new[known] = self.values[self.donors.draw(x[:, known], rng)]
            if self.column.variable.continuous:
                new[known] = between(self.values, new[known], rng)
        return new


def between(values: Floats, drawn: Floats, rng: np.random.Generator) -> Floats:
    """Numbers near their donors' that few records have, written as finely as the column is.

    Parameters
    ----------
    values
        Shape (n,); the column's known numbers.
    drawn
        Shape (m,); the donors' numbers.

    Returns
    -------
    Shape (m,); heaps as they are, other numbers drawn evenly between the middles of the gaps to the next different
    numbers of the column, extremes among the values next to them.
    """
    distinct, counts = np.unique(values, return_counts=True)
    place = np.searchsorted(distinct, drawn)
    heap = counts[place] >= FEW
    middles = (distinct[1:] + distinct[:-1]) / 2
    edges = np.concatenate([distinct[:1], middles, distinct[-1:]])
    low, high = edges[place], edges[place + 1]
    ordered = np.sort(values)
    if len(ordered) > 4 * FEW:  # extremes are drawn anew among the values next to them
        first, last = ordered[FEW - 1], ordered[-FEW]
        low = np.where(high > last, ordered[-2 * FEW], np.maximum(low, first))
        high = np.where(low < first, ordered[2 * FEW - 1], np.minimum(high, last))
    moved = low + rng.random(len(drawn)) * (high - low)
    ends = np.full(len(drawn), ordered[0]), np.full(len(drawn), ordered[-1])
    written = Decimals.of(values).write(moved, *ends, keep_sign=True)
    return np.asarray(np.where(heap, drawn, written))


@dataclass(frozen=True, kw_only=True, eq=False)
class Apart:
    """Pairs of categories of two columns that never occur together though chance would have it.

    Parameters
    ----------
    barred
        Shape (categories of the first, categories of the second), for every earlier column by its place.
    """

    barred: dict[int, Bools]

    @classmethod
    def of(cls, column: Column, before: list[Column], at: Longs) -> "Apart":
        """What categories of a column are never seen with those of the nominal columns before it."""
        barred = {}
        if column.levels:
            for number, other in enumerate(before):
                if not other.levels:
                    continue
                counts = np.zeros((other.levels, column.levels))
                np.add.at(counts, (other.feature[at].astype(np.int64), column.feature[at].astype(np.int64)), 1)
                chance = counts.sum(axis=1)[:, None] * counts.sum(axis=0)[None, :] / max(len(at), 1)
                if (pairs := (counts == 0) & (chance >= FEW)).any():
                    barred[number] = pairs
        return cls(barred=barred)

    def broken(self, new: list[Floats], drawn: Floats) -> Bools:
        """Shape (m,); the new records that have such a pair."""
        found = np.zeros(len(drawn), dtype=bool)
        for number, pairs in self.barred.items():
            found |= pairs[new[number].astype(np.int64), drawn.astype(np.int64)]
        return found

    def allowed(self, new: list[Floats], rows: Longs, levels: int) -> Bools:
        """Shape (rows, levels); the categories that break nothing."""
        free = np.ones((len(rows), levels), dtype=bool)
        for number, pairs in self.barred.items():
            free &= ~pairs[new[number][rows].astype(np.int64)]
        return free


def synthesised(
    columns: list[Column], given: list[Column], at: Longs, growing: Growing, rng: np.random.Generator
) -> tuple[list[Floats], int]:
    """New features of the records `at` for each column in turn, and how many draws had to break a rule.

    Parameters
    ----------
    columns, given
        What is drawn, in this order, and what is kept and predicts.
    """
    before, new, broken = list(given), [column.feature[at] for column in given], 0
    for column in columns:
        features = Features.of([c.feature[at] for c in before], [c.levels for c in before]) if before else None
        x = np.vstack(new) if new else np.empty((0, len(at)))
        model = Model.of(column, at, features, growing, rng)
        drawn = model.draw(x, rng)
        apart = Apart.of(column, before, at)
        for _ in range(AGAIN if apart.barred else 0):
            wrong = np.flatnonzero(apart.broken(new, drawn))
            drawn[wrong] = model.draw(x[:, wrong], rng)
        broken += _from_the_whole(column, drawn, apart, new, at, rng)
        before.append(column)
        new.append(drawn)
    return new[len(given) :], broken


def _from_the_whole(
    column: Column, drawn: Floats, apart: Apart, new: list[Floats], at: Longs, rng: np.random.Generator
) -> int:
    """Draw what still breaks a rule from all categories that break none; how many have none to draw."""
    wrong = np.flatnonzero(apart.broken(new, drawn))
    if not len(wrong):
        return 0
    counts = np.bincount(column.feature[at].astype(np.int64), minlength=column.levels)
    reach = np.cumsum(counts * apart.allowed(new, wrong, column.levels), axis=1)
    can = reach[:, -1] > 0
    pick = rng.random(int(can.sum())) * reach[can, -1]
    drawn[wrong[can]] = (pick[:, None] >= reach[can]).sum(axis=1)
    return int((~can).sum())


@family
class TreeSynthesiser(Replacement):
    """A replacement whose values come from the leaves of trees.

    Parameters
    ----------
    given
        Kept columns that predict all others.
    order
        The columns in the order in which they are drawn; by default those of fewest different values first, so that
        columns of many values are predicted by those of few.
    """

    given: Annotated[tuple[str, ...], Columns()] = ()
    order: Annotated[tuple[str, ...] | None, Columns()] = None

    @property
    @abstractmethod
    def growing(self) -> Growing:
        """How trees are grown."""

    def apply(
        self,
        records: Records,
        columns: Sequence[str],
        partition: Partition,
        rng: np.random.Generator,
        progress: Progress = None,
    ) -> StepResult:
        names = self._in_order(records, tuple(columns))
        drawn = [Column.of(records[name]) for name in names]
        given = [Column.of(records[name]) for name in self.given]
        new = [column.feature.copy() for column in drawn]
        broken = done = 0
        for at in partition.members():
            features, count = synthesised(drawn, given, at, self.growing, rng)
            broken, done = broken + count, done + len(at)
            for values, part in zip(new, features):
                values[at] = part
            if progress is not None:
                progress(done / len(records))
        written = [column.written(values) for column, values in zip(drawn, new)]
        same = np.logical_and.reduce([a.identity() == records[a.name].identity() for a in written])
        return StepResult(
            records=records.with_variables(*written),
            facts={
                "groups with trees of their own": partition.n_groups,
                "records unchanged": Count(n=int(same.sum()), of=len(records)),
                "pairs of categories that do not occur in the original": Count(n=broken, unit="cells"),
            },
        )

    def _in_order(self, records: Records, columns: tuple[str, ...]) -> tuple[str, ...]:
        if both := [name for name in self.given if name in columns]:
            raise ParameterError(f"{self.method_name}: given names {quoted(both)}, which the step replaces.")
        if self.order is None:
            return tuple(sorted(columns, key=lambda name: len(np.unique(records[name].values))))
        if sorted(self.order) != sorted(columns):
            raise ParameterError(
                f"{self.method_name}: order must name each of the step's columns once and no other; it names "
                f"{quoted(self.order)}, the step has {quoted(columns)}."
            )
        return self.order
