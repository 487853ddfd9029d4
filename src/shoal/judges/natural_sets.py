"""Natural supersets of groups: boxes of quasi-identifier values, and how far groups are from those that hold them.

(n, t)-closeness (Li, Li & Venkatasubramanian 2010) compares a class with a natural superset of at least n records.
The supersets here are boxes: the table is cut at the median of the column that is widest relative to its whole range,
and again, as long as both sides keep n records. The cuts see quasi-identifiers only, never confidential values, and
never part a class.
"""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from shoal.kernels.arrays import Floats, Longs
from shoal.kernels.classes import first_rows
from shoal.kernels.requirement import emd
from shoal.table.confidential_bins import Bins
from shoal.table.records import Classes, Records


def class_points(records: Records, names: Iterable[str], classes: Classes) -> Floats:
    """Shape (C, d); where each class lies: values of continuous columns, place in the order of others.

    Categories of a nominal column stand in the order of its hierarchy, else in their own; missing values stand
    below all others.
    """
    first = first_rows(classes.ids, len(classes.sizes))
    points = []
    for name in names:
        variable = records[name]
        values = variable.values[first].astype(np.float64)
        if variable.hierarchy is not None:
            above = [variable.hierarchy.level_codes(level)[0] for level in range(variable.hierarchy.height + 1)]
            rank = np.argsort(np.lexsort(above))
            present = [category for category in variable.categories if category is not None]
            place = dict(zip(present, rank[variable.hierarchy.codes([str(c) for c in present])]))
            lookup = np.array([*(place.get(c, -1) for c in variable.categories), -1], dtype=np.float64)
            values = lookup[variable.values[first]]
        values[variable.missing[first]] = -np.inf
        finite = values[np.isfinite(values)]
        width = np.ptp(finite) if len(finite) else 0.0
        low = finite.min() if len(finite) else 0.0
        points.append(np.where(np.isfinite(values), (values - low) / width if width > 0 else 0.0, -1.0))
    return np.column_stack(points) if points else np.zeros((len(first), 0))


def nested_boxes(points: Floats, sizes: Longs, n: int) -> list[Longs]:
    """Boxes that hold each class, smallest first; each entry has shape (C,) and numbers the boxes from 0.

    The last entry is the whole table.
    """
    level = [np.arange(len(points))]
    levels, done = [level], [False]
    while not all(done):
        halves = [None if over else _halves(points, sizes, rows, n) for rows, over in zip(level, done)]
        done = [over for two in halves for over in ((False, False) if two else (True,))]
        level = [part for rows, two in zip(level, halves) for part in (two or (rows,))]
        if len(level) > len(levels[-1]):
            levels.append(level)
    return [_numbered(boxes, len(points)) for boxes in reversed(levels)]


def nearest_set_distances(columns: Sequence[tuple[Bins, Classes]], boxes: Iterable[Longs], t: float) -> Floats:
    """Shape (columns, G); the distances of each group from the first box that is at most t away, else the least.

    `columns`: in bins, each with the groups of its entries; `boxes`: as from `nested_boxes`.
    """
    wider = iter(boxes)
    best = _distances_within(columns, next(wider))
    while (open_ := best.max(axis=0) > t).any() and (inside := next(wider, None)) is not None:
        other = _distances_within(columns, inside)
        better = open_ & (other.max(axis=0) < best.max(axis=0))
        best[:, better] = other[:, better]
    return best


def _distances_within(columns: Sequence[tuple[Bins, Classes]], inside: Longs) -> Floats:
    """Shape (columns, G); the distances of each group from its box."""
    sets = int(inside.max()) + 1
    return np.vstack([emd.distances_within(*groups.by_record(c.bins), inside, c.nodes, sets) for c, groups in columns])


def _numbered(boxes: list[NDArray[np.intp]], count: int) -> Longs:
    inside = np.empty(count, dtype=np.int64)
    for box, rows in enumerate(boxes):
        inside[rows] = box
    return inside


def _halves(
    points: Floats, sizes: Longs, rows: NDArray[np.intp], n: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]] | None:
    """The two sides of the median cut of the widest column that leaves n records on both, if there is one."""
    total = int(sizes[rows].sum())
    if total < 2 * n:
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
