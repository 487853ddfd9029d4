"""(n, t)-closeness (Li, Li & Venkatasubramanian 2010)."""

from typing import Annotated, ClassVar, Literal

import numpy as np
from annotated_types import Ge, Le
from numpy.typing import NDArray

from shoal.data.confidential_bins import Bins, confidential_bins
from shoal.data.records import Classes, Records
from shoal.judges.evidence import Verdict
from shoal.judges.table_pair import TablePair
from shoal.kernels.arrays import Floats, Longs
from shoal.kernels.requirement import emd
from shoal.methods import Scales, method
from shoal.parameters import Setting
from shoal.privacy.base import PrivacyModel
from shoal.privacy.confidential import class_figures, verdict


@method(
    "nt-closeness", title="(n, t)-closeness", source="Li, Li & Venkatasubramanian (2010)", example={"n": 20, "t": 0.2}
)
class NTCloseness(PrivacyModel):
    """In every class the confidential values are distributed as in some natural large set around it.

    A class satisfies the requirement if it lies in a natural superset of at least n records from whose
    distribution it is at most t away. That lets a class say what is true of a large population (people of this
    age have this income), which t-closeness forbids.

    Parameters
    ----------
    n
        Smallest number of records of a superset; the table's size makes it t-closeness.
    t
        Largest distance allowed, itself included.
    distance
        As for t-closeness, without "rank".

    Notes
    -----
    The natural supersets are boxes of quasi-identifier values: the table is cut at the median of the column
    that is widest relative to its whole range, and again, as long as both sides keep n records. The cuts see
    quasi-identifiers only, never confidential values, and never part a class. A class may appeal to any box
    that holds it, the smallest first; another choice of supersets could accept more classes, never fewer
    wrongly. The figure of a class is its distance from the first box that is near enough, else the least.
    """

    scales: ClassVar[Scales] = "memory"

    n: Annotated[int, Ge(1)]
    t: Annotated[float, Ge(0), Le(1), Setting()]
    distance: Literal["distinct", "equal", "hierarchical"] = "distinct"

    def judge(self, pair: TablePair) -> Verdict:
        released = pair.released
        classes = released.classes(released.quasi_identifiers)
        columns = confidential_bins(released, self.distance)
        figures: dict[str, Floats] = {}
        if len(released) and columns:
            boxes = nested_boxes(class_points(released, classes), classes.sizes, self.n)
            figures = self._least(columns, classes, boxes)
        allowed = None if len(released) >= self.n else np.zeros(len(classes.sizes), dtype=bool)
        return verdict(
            class_figures(released, classes, figures),
            requirement=f"({self.n}, {self.t:g})-closeness ({self.distance})",
            required=self.t,
            allowed=allowed,
            best="low",
            figure="distance",
        )

    def _least(self, columns: list[Bins], classes: Classes, boxes: list[Longs]) -> dict[str, Floats]:
        """By column: the distances of each class from the box, of those that hold it, that suits it best."""
        best = np.full((len(columns), len(classes.sizes)), np.inf)
        for inside in boxes:
            if not (open_ := best.max(axis=0) > self.t).any():
                break
            distances = np.vstack(
                [emd.distances_within(c.bins, classes.ids, inside, c.nodes, int(inside.max()) + 1) for c in columns]
            )
            better = open_ & (distances.max(axis=0) < best.max(axis=0))
            best[:, better] = distances[:, better]
        return {column.name: figure for column, figure in zip(columns, best)}


def class_points(records: Records, classes: Classes) -> Floats:
    """Shape (C, d); where each class lies: values of continuous columns, place in the order of others.

    Categories of a nominal column stand in the order of its hierarchy, else in their own; missing values stand
    below all others.
    """
    one = np.empty(len(classes.sizes), dtype=np.int64)
    one[classes.ids] = np.arange(len(records))
    points = []
    for name in records.quasi_identifiers:
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
