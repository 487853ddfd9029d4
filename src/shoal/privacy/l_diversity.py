"""l-diversity (Machanavajjhala, Kifer, Gehrke & Venkitasubramaniam 2007)."""

import math
from collections.abc import Mapping
from typing import Annotated, ClassVar

import numpy as np

from shoal.judges.class_figures import ClassFigures
from shoal.judges.class_table import ClassTable
from shoal.judges.known import PersonsInMemory
from shoal.judges.prelude import Floats, Records, Verdict
from shoal.kernels.arrays import Kind
from shoal.kernels.elementary import exp, log
from shoal.kernels.requirement import emd
from shoal.privacy.base import GroupLimits
from shoal.privacy.confidential import Occurrences, verdict
from shoal.privacy.of_units import UnitModel
from shoal.table.confidential_bins import Bins, values_without_missing, without_missing
from shoal.table.records import Classes
from shoal.vocabulary.prelude import Ge, Gt, Scales, Setting, method

SLACK = 1e-12
"""Relative rounding error of exp(entropy) that is forgiven: m equal shares are to count as m."""


@method("l-diversity", title="l-diversity", source="Machanavajjhala et al. (2007)", example={"l": 2})
class LDiversity(UnitModel):
    """Every class holds well-represented confidential values.

    - distinct: at least l different values;
    - entropy: exp(-sum p ln p) >= l;
    - recursive: r_1 < c (r_l + r_(l+1) + ... + r_m), r the class's counts in descending order.

    Where persons are counted, p is the mean of the shares that each value has among a person's records of the class; a
    class is distinct by as many values as different persons of it can stand for, one each.

    With several confidential columns each must be diverse, and the least figure counts. A missing value adds no
    diversity, or suppressing confidential cells would make a class diverse: it counts as the most frequent value
    that its class has, which is the least diverse of all ways to fill it in.

    Parameters
    ----------
    l
        Diversity required; for the recursive kind it is rounded up to a whole number.
    kind
        One of the three.
    c
        Constant c of the recursive kind.

    Notes
    -----
    The figure of a class under the recursive kind is the largest l for which it is (c, l)-diverse, 0 if
    there is none.
    """

    scales: ClassVar[Scales] = "classes"
    emptily: ClassVar[Mapping[str, float]] = {"l": 1}
    reported = True
    question = "inference"

    l: Annotated[float, Ge(1), Setting()]  # noqa: E741 - the name the model has
    kind: Kind = "distinct"
    c: Annotated[float, Gt(0), Setting()] = 2.0

    @property
    def protects(self) -> bool:
        return super().protects or (self.kind == "recursive" and self.c <= 1)  # then no class may have one value alone

    @property
    def limit(self) -> float:
        return self.l

    def group_limits(self, records: Records) -> GroupLimits | None:
        if self.counts_units:
            return None
        level = math.ceil(self.l) if self.kind == "recursive" else self.l
        columns = tuple(without_missing(records))
        return GroupLimits(columns=columns, requirements=tuple(emd.Diverse(self.kind, level, self.c) for _ in columns))

    def look(self, table: ClassTable) -> ClassFigures:
        if isinstance(table, PersonsInMemory) and self.kind == "distinct":
            return table.represented(values_without_missing)
        return table.figures(values_without_missing, self._diversity)

    def _diversity(self, column: Bins, classes: Classes) -> Floats:
        return diversity(least_diverse(Occurrences.of(column, classes)), len(classes.sizes), self.kind, self.c)

    def conclude(self, class_figures: ClassFigures) -> Verdict:
        required = math.ceil(self.l) if self.kind == "recursive" else self.l
        of_kind = f"recursive ({self.c:g}, {required:g})" if self.kind == "recursive" else f"{self.kind} {required:g}"
        return verdict(
            class_figures, requirement=f"{of_kind}-diversity", required=required, best="high", figure="diversity"
        )


def least_diverse(occurrences: Occurrences) -> Occurrences:
    """The occurrences with the missing values of every class filled in by its most frequent value."""
    lacking = occurrences.values == occurrences.missing
    if not lacking.any():
        return occurrences
    complete = np.flatnonzero(~lacking)
    order = complete[np.argsort(occurrences.counts[complete], kind="stable")]
    most = np.full(int(occurrences.classes.max()) + 1, -1)
    most[occurrences.classes[order]] = order  # the last to be put in is the most frequent
    filled = most[occurrences.classes]
    counts = occurrences.counts.copy()
    moved = lacking & (filled >= 0)
    counts[filled[moved]] += counts[moved]
    return occurrences.take(~moved, counts)


def diversity(occurrences: Occurrences, count: int, kind: Kind, c: float = 2.0) -> Floats:
    """Shape (count,); the diversity of each class."""
    if kind == "distinct":
        return np.bincount(occurrences.classes, minlength=count).astype(np.float64)
    sizes = np.bincount(occurrences.classes, weights=occurrences.counts, minlength=count)
    if kind == "entropy":
        share = occurrences.counts / sizes[occurrences.classes]
        entropy = np.bincount(occurrences.classes, weights=-share * log(share), minlength=count)
        figure = exp(entropy)
        whole = np.round(figure)
        return np.asarray(np.where(np.abs(figure - whole) <= SLACK * whole, whole, figure))
    order = np.lexsort((-occurrences.counts, occurrences.classes))
    counts, of = occurrences.counts[order], occurrences.classes[order]
    before = np.cumsum(counts) - counts
    starts = np.searchsorted(of, np.arange(count))
    tail = sizes[of] - (before - before[starts][of])
    enough = counts[starts][of] < c * tail
    return np.bincount(of[enough], minlength=count).astype(np.float64)  # the tail falls, so these come first
