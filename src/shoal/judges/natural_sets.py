"""Natural supersets of groups: boxes of quasi-identifier values, and how far groups are from those that hold them.

(n, t)-closeness (Li, Li & Venkatasubramanian 2010) compares a class with a natural superset of at least n records.
The supersets here are boxes: the table is cut at the median of the column that is widest relative to its whole range,
and again, as long as both sides keep n records. The cuts see quasi-identifiers only, never confidential values, and
never part a class.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from shoal.data.confidential_bins import Bins, confidential_bins
from shoal.data.records import Classes, Records
from shoal.kernels.arrays import Floats, Longs
from shoal.kernels.requirement import emd


@dataclass(frozen=True, slots=True, kw_only=True)
class NaturalSets:
    """What a class must be like in (n, t)-closeness: at most t away from a box around it of n records or more."""

    n: int
    t: float
    distance: Literal["distinct", "equal", "hierarchical"]

    def columns(self, records: Records) -> list[Bins]:
        """What is compared."""
        return confidential_bins(records, self.distance)


def class_points(records: Records, names: Iterable[str], classes: Classes) -> Floats:
    """Shape (C, d); where each class lies: values of continuous columns, place in the order of others.

    Categories of a nominal column stand in the order of its hierarchy, else in their own; missing values stand
    below all others.
    """
    one = np.empty(len(classes.sizes), dtype=np.int64)
    one[classes.ids] = np.arange(len(records))
    points = []
    for name in names:
        variable = records[name]
        values = variable.values[one].astype(np.float64)
        if variable.hierarchy is not None:
            above = [variable.hierarchy.level_codes(level)[0] for level in range(variable.hierarchy.height + 1)]
            rank = np.argsort(np.lexsort(above))
            known = [category for category in variable.categories if category is not None]
            place = dict(zip(known, rank[variable.hierarchy.codes([str(c) for c in known])]))
            lookup = np.array([*(place.get(c, -1) for c in variable.categories), -1], dtype=np.float64)
            values = lookup[variable.values[one]]
        values[variable.missing[one]] = -np.inf
        finite = values[np.isfinite(values)]
        width = np.ptp(finite) if len(finite) else 0.0
        low = finite.min() if len(finite) else 0.0
        points.append(np.where(np.isfinite(values), (values - low) / width if width > 0 else 0.0, -1.0))
    return np.column_stack(points) if points else np.zeros((len(one), 0))


def nested_boxes(points: Floats, sizes: Longs, n: int, uncut: int = 0) -> list[Longs]:
    """Boxes that hold each class, smallest first; each entry has shape (C,) and numbers the boxes from 0.

    The last entry is the whole table. What lies in a box alone says where it is cut, so that a box can be cut further
    by itself.

    Parameters
    ----------
    uncut
        Boxes of so many records are not cut.
    """
    level = [np.arange(len(points))]
    levels, done = [level], [False]
    while not all(done):
        halves = [None if over else _halves(points, sizes, rows, n, uncut) for rows, over in zip(level, done)]
        done = [over for two in halves for over in ((False, False) if two else (True,))]
        level = [part for rows, two in zip(level, halves) for part in (two or (rows,))]
        if len(level) > len(levels[-1]):
            levels.append(level)
    return [_numbered(boxes, len(points)) for boxes in reversed(levels)]


def nearest_set_distances(columns: Sequence[Bins], groups: Longs, boxes: Sequence[Longs], t: float) -> Floats:
    """Shape (columns, G); the distances of each group from the first box that is at most t away, else the least.

    Parameters
    ----------
    groups
        Shape (n,); group of each record, 0 to G - 1.
    boxes
        As from `nested_boxes`.
    """
    return nearest(distances_in_boxes(columns, groups, boxes), t)


def distances_in_boxes(columns: Sequence[Bins], groups: Longs, boxes: Iterable[Longs]) -> Iterator[Floats]:
    """Shape (columns, G), for each entry of the boxes; the distances of each group from its box."""
    for inside in boxes:
        yield np.vstack([emd.distances_within(c.bins, groups, inside, c.nodes, int(inside.max()) + 1) for c in columns])


def nearest(distances: Iterator[Floats], t: float) -> Floats:
    """Shape (columns, G); the first distances of each group that are at most t, else the least; none is asked for
    that does not matter."""
    best = next(distances)
    while (open_ := best.max(axis=0) > t).any() and (other := next(distances, None)) is not None:
        better = open_ & (other.max(axis=0) < best.max(axis=0))
        best[:, better] = other[:, better]
    return best


def _numbered(boxes: list[NDArray[np.intp]], count: int) -> Longs:
    inside = np.empty(count, dtype=np.int64)
    for box, rows in enumerate(boxes):
        inside[rows] = box
    return inside


def _halves(
    points: Floats, sizes: Longs, rows: NDArray[np.intp], n: int, uncut: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
    """The two sides of the median cut of the widest column that leaves n records on both, if there is one."""
    total = int(sizes[rows].sum())
    if total < 2 * n or total <= uncut:
        return None
    x = points[rows]
    for column in np.argsort(-np.ptp(x, axis=0), kind="stable") if x.size else ():
        order = np.argsort(x[:, column], kind="stable")
        below = np.cumsum(sizes[rows][order])
        ends = np.flatnonzero(np.diff(x[order, column]) > 0)  # a cut may follow these
        ends = ends[(below[ends] >= n) & (total - below[ends] >= n)]
        if len(ends):
            at = ends[np.argmin(np.abs(2 * below[ends] - total))] + 1
            return rows[order[:at]], rows[order[at:]]
    return None
