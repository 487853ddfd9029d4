"""Confidential columns in bins, as privacy models and partitions compare them.

A confidential column becomes bins 0 to m - 1. The bins of a continuous column are its distinct values and those of an
ordinal one its occurring categories, both ascending. The bins of a nominal column are its categories, ordered so that
the leaves of each node of its hierarchy are adjacent. A missing value is a value of its own: equal to other missing
values, and at the greatest distance from every other value.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.arrays import Ints, Longs, ints, longs
from shoal.kernels.classes import distinct
from shoal.kernels.requirement import emd
from shoal.table.records import Records
from shoal.table.variable import Variable
from shoal.table.whole_column import WholeColumn
from shoal.vocabulary.errors import DataError

Distance = Literal["distinct", "rank", "equal", "hierarchical"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Bins:
    """A confidential column in bins."""

    name: str
    bins: Ints  # Shape (n,); -1 for a value missing in an ordered column
    counts: Longs  # Shape (m,); records in each bin, of the whole table even if the column is a part of it
    nodes: Ints  # Shape (height, m); the tree over nominal bins, with height 0 for ordered ones
    missing: int = 0  # Records without a value in an ordered column
    spread: bool = False  # True if distances of ordered bins take each record as a rank of its own

    @property
    def m(self) -> int:
        return len(self.counts)

    @property
    def records(self) -> int:
        """Number of records of the whole table."""
        return int(self.counts.sum()) + self.missing

    def table(self) -> emd.Distribution:
        """The column's distribution over the whole table, ready for distances from it."""
        if len(self.nodes):
            return emd.Taxonomy(self.counts, self.nodes)
        return (emd.Spread if self.spread else emd.Ordered)(self.counts, self.missing)

    def take(self, rows: NDArray[Any]) -> Ints:
        return np.ascontiguousarray(self.bins[rows])


def binned(variable: Variable, distance: Distance = "distinct") -> Bins:
    """A column in bins under one of the distances.

    Under "distinct" and "rank" continuous and ordinal columns are ordered; a nominal column follows its hierarchy, or
    has equal distances if it has none. "equal" treats every column as nominal without a hierarchy. "hierarchical" is as
    "distinct", and requires a hierarchy of every nominal column.
    """
    if variable.level == "nominal" or distance == "equal":
        return _nominal(variable, distance)
    if variable.complete:
        values, bins, counts = _distinct(variable.given, variable.whole)
    else:
        bins = np.full(len(variable), -1, dtype=np.int32)
        values, bins[~variable.missing], counts = _distinct(variable.given[~variable.missing], variable.whole)
    return Bins(
        name=variable.name,
        bins=ints(bins),
        counts=counts,
        nodes=np.empty((0, len(values)), dtype=np.int32),
        missing=int((bins < 0).sum()) if variable.whole is None else variable.whole.missing,
        spread=distance == "rank",
    )


def _distinct(values: NDArray[Any], whole: WholeColumn | None) -> tuple[NDArray[Any], NDArray[Any], Longs]:
    """Distinct values ascending, the position of each record's value among them, and the count of each."""
    if whole is not None:
        return whole.places(values)
    if values.dtype.kind == "f":  # 0 and -0 are one value here, and so are all NaNs
        return np.unique(values, return_inverse=True, return_counts=True)
    return distinct(longs(values))


def _nominal(variable: Variable, distance: Distance) -> Bins:
    if distance == "hierarchical" and variable.hierarchy is None:
        raise DataError(
            f"Column '{variable.name}' has no hierarchy that holds all of its values, which distance: hierarchical "
            f"needs. Give it one, or choose distance: equal."
        )
    values, bins, counts = _distinct(variable.given, None if variable.whole is None else variable.whole.with_missing)
    nodes = np.zeros((1, len(values)), dtype=np.int32)
    if variable.hierarchy is not None and distance != "equal":
        categories = [*variable.categories, None]  # code -1 is the last
        order, nodes = _leaf_order(variable, [categories[code] for code in values])
        rank = np.empty(len(values), dtype=np.int32)
        rank[order] = np.arange(len(values), dtype=np.int32)
        bins, counts = ints(rank[bins]), counts[order]
    return Bins(name=variable.name, bins=ints(bins), counts=counts, nodes=nodes)


def _leaf_order(variable: Variable, categories: list[Any]) -> tuple[NDArray[np.intp], Ints]:
    """An order of the leaves in which those of every node are adjacent, and the nodes above them."""
    hierarchy = variable.hierarchy
    if hierarchy is None:
        raise DataError(f"Column '{variable.name}' has no hierarchy.")
    present = [c for c in categories if c is not None]
    rows = dict(zip(present, hierarchy.codes([str(c) for c in present])))
    labels = np.empty((hierarchy.height + 1, len(categories)), dtype=np.int64)
    for level in range(hierarchy.height + 1):
        codes, names = hierarchy.level_codes(level)
        labels[level] = [codes[rows[c]] if c is not None else len(names) for c in categories]
    labels[-1] = 0  # the root is above missing values too
    order = np.lexsort(labels)
    changes = np.cumsum(np.diff(labels[:, order], axis=1, prepend=labels[:, order][:, :1]) != 0, axis=1)
    return order, ints(changes[1:])


def confidential_bins(records: Records, distance: Distance = "distinct") -> list[Bins]:
    """All confidential columns in bins."""
    return [binned(records[name], distance) for name in records.confidential]


def without_missing(records: Records) -> list[Bins]:
    """All confidential columns in bins of categories, with -1 for a missing value, which adds no diversity."""
    return [values_without_missing(records[name]) for name in records.confidential]


def values_without_missing(variable: Variable) -> Bins:
    """A column in bins of categories, with -1 for a missing value."""
    column = binned(variable, "equal")
    return replace(column, bins=ints(np.where(variable.missing, -1, column.bins)))
