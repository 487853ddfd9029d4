"""Confidential columns as the models see them: bins, classes, and figures class by class.

A confidential column becomes bins 0 to m - 1: the distinct values of a continuous column, the categories
that occur of an ordinal one, both in ascending order; the categories of a nominal one, ordered so that each
node of its hierarchy owns neighbouring leaves. A missing value is a value of its own: equal to other missing
values, and as far from every value as two values can be.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from shoal.data.records import Classes, Records, Variable
from shoal.errors import DataError, plural
from shoal.facts import of_release
from shoal.judges.evidence import Verdict
from shoal.kernels.arrays import Bools, Floats, Ints, Longs, ints, longs
from shoal.kernels.classes import distinct
from shoal.kernels.requirement import emd

Distance = Literal["distinct", "rank", "equal", "hierarchical"]

QUANTILES = {"least": 0.0, "median": 0.5, "90 %": 0.9, "99 %": 0.99, "largest": 1.0}
"""How the distribution of a figure over the classes is told."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Bins:
    """One confidential column in bins.

    Parameters
    ----------
    bins
        Shape (n,); -1 for a value missing in an ordered column.
    counts
        Shape (m,).
    nodes
        Shape (height, m), height 0 for ordered bins: the tree over nominal ones.
    spread
        Whether ordered bins are read as one place a record.
    """

    name: str
    bins: Ints
    counts: Longs
    nodes: Ints
    spread: bool = False

    @property
    def m(self) -> int:
        return len(self.counts)

    @property
    def missing(self) -> int:
        return len(self.bins) - int(self.counts.sum())

    def table(self) -> emd.Table:
        """The column's distribution, for distances from it."""
        if len(self.nodes):
            return emd.tree(self.counts, self.nodes)
        return (emd.spread if self.spread else emd.ordered)(self.counts, self.missing)

    def take(self, rows: NDArray[Any]) -> Ints:
        return np.ascontiguousarray(self.bins[rows])


def binned(variable: Variable, distance: Distance = "distinct") -> Bins:
    """A column in bins under one of the distances.

    Under "distinct" and "rank" ordered columns are ordered, and nominal ones follow their hierarchy where
    they have one and equal distances where they have none. "equal" treats all columns as nominal without
    hierarchy. "hierarchical" is as "distinct" and insists that every nominal column has a hierarchy.
    """
    if variable.level == "nominal" or distance == "equal":
        return _nominal(variable, distance)
    if variable.complete:
        held, bins, counts = _distinct(variable.given)
    else:
        bins = np.full(len(variable), -1, dtype=np.int32)
        held, bins[~variable.missing], counts = _distinct(variable.given[~variable.missing])
    return Bins(
        name=variable.name,
        bins=ints(bins),
        counts=counts,
        nodes=np.empty((0, len(held)), dtype=np.int32),
        spread=distance == "rank",
    )


def _distinct(values: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], Longs]:
    """Distinct values in ascending order, where each record's stands among them, how often each occurs."""
    if values.dtype.kind == "f":  # 0 and -0 are one value here, and so are all NaNs
        return np.unique(values, return_inverse=True, return_counts=True)
    return distinct(longs(values))


def _nominal(variable: Variable, distance: Distance) -> Bins:
    if distance == "hierarchical" and variable.hierarchy is None:
        raise DataError(
            f"Column '{variable.name}' has no hierarchy, which distance: hierarchical needs. "
            f"Give it one, or choose distance: equal."
        )
    held, bins, counts = _distinct(variable.given)
    nodes = np.zeros((1, len(held)), dtype=np.int32)
    if variable.hierarchy is not None and distance != "equal":
        categories = [*variable.categories, None]  # code -1 is the last
        order, nodes = _leaf_order(variable, [categories[code] for code in held])
        rank = np.empty(len(held), dtype=np.int32)
        rank[order] = np.arange(len(held), dtype=np.int32)
        bins, counts = ints(rank[bins]), counts[order]
    return Bins(name=variable.name, bins=ints(bins), counts=counts, nodes=nodes)


def _leaf_order(variable: Variable, categories: list[Any]) -> tuple[NDArray[np.intp], Ints]:
    """Leaves in an order in which every node of the hierarchy owns neighbours, and the nodes above them."""
    hierarchy = variable.hierarchy
    if hierarchy is None:
        raise DataError(f"Column '{variable.name}' has no hierarchy.")
    known = [c for c in categories if c is not None]
    rows = dict(zip(known, hierarchy.codes([str(c) for c in known])))
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


@dataclass(frozen=True, kw_only=True, eq=False)
class Held:
    """How often every value occurs in every class.

    Parameters
    ----------
    classes, values, counts
        Shape (P,); one entry for each class and value that occur together, by class and value.
    totals
        Shape (m,); how often each value occurs in the table.
    """

    classes: Longs
    values: Longs
    counts: Longs
    totals: Longs

    @classmethod
    def of(cls, bins: Bins, classes: Classes) -> "Held":
        m = bins.m + 1  # a missing value is a value, the last
        values = np.where(bins.bins < 0, bins.m, bins.bins).astype(np.int64)
        cells, _, counts = distinct(classes.ids * m + values)
        return cls(classes=cells // m, values=cells % m, counts=counts, totals=np.bincount(values, minlength=m))

    def largest(self, figure: Floats, count: int) -> Floats:
        """Shape (count,); the largest entry of each class."""
        starts = np.searchsorted(self.classes, np.arange(count))
        return np.maximum.reduceat(figure, starts) if len(figure) else np.zeros(count)


def verdict(
    released: Records,
    classes: Classes,
    figures: dict[str, Floats],
    *,
    requirement: str,
    required: float,
    allowed: Bools | None = None,
    best: Literal["low", "high"],
    figure: str,
    noun: str = "class",
) -> Verdict:
    """The verdict on a figure of each class for each confidential column.

    Parameters
    ----------
    figures
        By column: shape (C,), the figure of each class.
    required
        The limit, itself allowed.
    allowed
        Shape (C,); which classes satisfy the requirement, where that is more than the figure says.
    best
        Whether low or high figures satisfy it. The figure of a class is its worst over the columns.
    figure
        What the figure is called.
    """
    if not len(released):
        return Verdict(
            requirement=requirement,
            holds=True,
            required=required,
            achieved=None,
            sentence="The table has no records, so nothing about anyone can be learnt from it.",
            influence=0,
        )
    if not figures:
        return Verdict(
            requirement=requirement,
            holds=False,
            required=required,
            achieved=None,
            sentence="The table has no confidential column, so the requirement cannot be proved. "
            "Give the column that is to be protected the role confidential.",
            influence=0,
        )
    stacked = np.vstack(list(figures.values()))
    worst = stacked.max(axis=0) if best == "low" else stacked.min(axis=0)
    fails = (worst > required) if best == "low" else (worst < required)
    fails = fails if allowed is None else fails | ~allowed
    candidates = np.flatnonzero(fails) if fails.any() else np.arange(len(worst))
    at = int(candidates[(np.argmax if best == "low" else np.argmin)(worst[candidates])])
    value, size = float(worst[at]), int(classes.sizes[at])
    text = "infinite" if np.isinf(value) else f"{value:.4g}"
    if fails.any():
        sentence = (
            f"{plural(int(fails.sum()), noun)} with {plural(int(classes.sizes[fails].sum()), 'record')} in all "
            f"{'breaks' if fails.sum() == 1 else 'break'} the requirement; the worst holds {size:,} "
            f"{'record' if size == 1 else 'records'} at {figure} {text}, where {required:g} is required."
        )
    else:
        sentence = (
            f"All {plural(len(worst), noun)} satisfy the requirement; the worst holds {size:,} "
            f"{'record' if size == 1 else 'records'} at {figure} {text}, where {required:g} is required."
        )
    return Verdict(
        requirement=requirement,
        holds=not fails.any(),
        required=required,
        achieved=value,
        sentence=sentence,
        influence=0,
        facts=of_release(
            {
                "classes": len(worst),
                "worst class": {"size": size, figure: _plain(value), "column": _column_of(figures, at, best)},
                "classes that fail": int(fails.sum()),
                "records in classes that fail": int(classes.sizes[fails].sum()),
                "distribution over classes": {
                    name: {label: _plain(q) for label, q in zip(QUANTILES, quantiles(values))}
                    for name, values in figures.items()
                },
            }
        ),
    )


def quantiles(values: Floats) -> list[float]:
    """The figures that `QUANTILES` names; each is the figure of a class, so that infinities do no harm."""
    ordered = np.sort(values)
    return [float(ordered[int(np.ceil(q * (len(ordered) - 1)))]) for q in QUANTILES.values()]


def _column_of(figures: dict[str, Floats], at: int, best: str) -> str:
    pick = max if best == "low" else min
    return pick(figures, key=lambda name: figures[name][at])


def _plain(value: float) -> float | str:
    return value if np.isfinite(value) else "infinite"
