"""(n, t)-closeness (Li, Li & Venkatasubramanian 2010)."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, ClassVar, Literal

import numpy as np

from shoal.judges.class_figures import ClassFigures
from shoal.judges.class_table import ClassTable
from shoal.judges.natural_sets import class_points, nearest_set_distances, nested_boxes
from shoal.judges.prelude import Verdict
from shoal.privacy.base import ClassModel
from shoal.privacy.confidential import verdict
from shoal.table.confidential_bins import binned
from shoal.vocabulary.prelude import Ge, Le, Scales, Setting, method


@method(
    "nt-closeness", title="(n, t)-closeness", source="Li, Li & Venkatasubramanian (2010)", example={"n": 20, "t": 0.2}
)
class NTCloseness(ClassModel):
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

    scales: ClassVar[Scales] = "classes"
    emptily: ClassVar[Mapping[str, float]] = {"t": 1}

    n: Annotated[int, Ge(1)]
    t: Annotated[float, Ge(0), Le(1), Setting()]
    distance: Literal["distinct", "equal", "hierarchical"] = "distinct"

    @property
    def by_class(self) -> bool:
        return False  # a class lies in a set with others

    def look(self, table: ClassTable) -> ClassFigures:
        columns = list(table.confidential(partial(binned, distance=self.distance)))
        keys = table.keys
        if not columns or not len(keys):
            return ClassFigures(sizes=table.sizes)
        classes = keys.classes(keys.names())
        points = class_points(keys, keys.names(), classes)[classes.ids]
        boxes = nested_boxes(points, table.sizes, self.n)
        entries = [(bins, classes) for _, bins, classes in columns]
        return table.seen(columns, nearest_set_distances(entries, boxes, self.t))

    def conclude(self, class_figures: ClassFigures) -> Verdict:
        return verdict(
            class_figures,
            requirement=f"({self.n}, {self.t:g})-closeness ({self.distance})",
            required=self.t,
            allowed=None if class_figures.records >= self.n else np.zeros(len(class_figures.sizes), dtype=bool),
            best="low",
            figure="distance",
        )
