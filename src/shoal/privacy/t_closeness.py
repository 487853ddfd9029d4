"""t-closeness (Li, Li & Venkatasubramanian 2007)."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, ClassVar

from shoal.judges.class_figures import ClassFigures
from shoal.judges.class_table import ClassTable
from shoal.judges.known import PersonsInMemory
from shoal.judges.prelude import Records, Verdict
from shoal.kernels.arrays import Floats
from shoal.kernels.requirement import emd
from shoal.privacy.base import GroupLimits
from shoal.privacy.confidential import verdict
from shoal.privacy.of_units import UnitModel
from shoal.table.confidential_bins import Bins, Distance, binned, confidential_bins
from shoal.table.records import Classes
from shoal.vocabulary.prelude import Ge, Le, Scales, Setting, method


@method("t-closeness", title="t-closeness", source="Li, Li & Venkatasubramanian (2007)", example={"t": 0.2})
class TCloseness(UnitModel):
    """In every class the confidential values are distributed as in the whole table, to within t.

    Classes are the records that agree on all quasi-identifiers. The distance is the earth mover's: for an
    ordered column with m distinct values, 1/(m - 1) sum_i |sum_(j <= i) (p_j - q_j)|, p the class's and q the
    table's shares; for a nominal one 1/2 sum |p_j - q_j|, or along its hierarchy, where two leaves are level of
    nearest common ancestor / height apart. With several confidential columns the largest distance counts.

    Parameters
    ----------
    t
        Largest distance allowed, itself included.
    distance
        Ground distance. For ordered columns "distinct" has one bin for each distinct value (a release is checked with
        it), "rank" one bin for each record, a tied value's mass spread over its block. Under both, nominal columns use
        their hierarchy, or equal distances without one. "equal" treats every column as nominal; "hierarchical" refuses
        nominal columns without a hierarchy. A released column has the hierarchy of the plan as long as all of its
        values are leaves.

    Notes
    -----
    Where persons are counted, each has a mass of one, divided equally among the person's records of the class, and in
    the table among all of them. Their distances are rounded to 12 decimals; under "rank" they are integrals.

    Distances are computed in whole numbers and rounded once ("rank": in extended precision), so a class at
    exactly t passes. A missing value is a value of its own at distance 1 from every other; for ordered columns
    the missing and the known part are then compared separately, which never understates the distance. A column
    with one value is 0-close.
    """

    scales: ClassVar[Scales] = "classes"
    emptily: ClassVar[Mapping[str, float]] = {"t": 1}
    reported = True
    question = "inference"
    better = "lower"

    t: Annotated[float, Ge(0), Le(1), Setting()]
    distance: Distance = "distinct"

    @property
    def limit(self) -> float:
        return self.t

    def group_limits(self, records: Records) -> GroupLimits | None:
        if self.counts_units:
            return None
        columns = tuple(confidential_bins(records, self.distance))
        return GroupLimits(columns=columns, requirements=tuple(emd.Close(c.table(), self.t) for c in columns))

    def look(self, table: ClassTable) -> ClassFigures:
        binning = partial(binned, distance=self.distance)
        return table.closeness(binning) if isinstance(table, PersonsInMemory) else table.figures(binning, _distances)

    def conclude(self, class_figures: ClassFigures) -> Verdict:
        return verdict(
            class_figures,
            requirement=f"{self.t:g}-closeness ({self.distance})",
            required=self.t,
            best="low",
            figure="distance",
        )


def _distances(column: Bins, classes: Classes) -> Floats:
    return emd.distances(column.table(), *classes.by_record(column.bins), column.m, len(classes.sizes))
