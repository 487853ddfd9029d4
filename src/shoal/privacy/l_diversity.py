"""l-diversity (Machanavajjhala, Kifer, Gehrke & Venkitasubramaniam 2007)."""

import math
from dataclasses import replace
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Gt

from shoal.data.confidential_bins import Bins, confidential_bins, without_missing
from shoal.data.records import Classes, Records
from shoal.judges.class_figures import ClassFigures
from shoal.judges.evidence import Verdict
from shoal.judges.table_pair import TablePair
from shoal.kernels.arrays import Floats, ints
from shoal.kernels.elementary import exp, log
from shoal.kernels.requirement import emd
from shoal.kernels.requirement.emd import Kind
from shoal.methods import Scales, method
from shoal.parameters import Setting
from shoal.privacy.base import ClassModel, GroupLimits
from shoal.privacy.confidential import Occurrences, class_figures, verdict

SLACK = 1e-12
"""Relative rounding error of exp(entropy) that is forgiven: m equal shares are to count as m."""


@method("l-diversity", title="l-diversity", source="Machanavajjhala et al. (2007)", example={"l": 2})
class LDiversity(ClassModel):
    """Every class holds well-represented confidential values.

    - distinct: at least l different values;
    - entropy: exp(-sum p ln p) >= l;
    - recursive: r_1 < c (r_l + r_(l+1) + ... + r_m), r the class's counts in descending order.

    With several confidential columns each must be diverse, and the least figure counts. A missing value adds no
    diversity, or suppressing confidential cells would make a class diverse: it counts as the most frequent value
    that its class has, which is the least diverse of all ways to fill it in.

    Parameters
    ----------
    l
        Diversity required; for the recursive kind it is rounded up to a whole number.
    kind
        Which of the three.
    c
        For the recursive kind only.

    Notes
    -----
    The figure of a class under the recursive kind is the largest l for which it is (c, l)-diverse, 0 if
    there is none.
    """

    scales: ClassVar[Scales] = "classes"

    l: Annotated[float, Ge(1), Setting()]  # noqa: E741 - the name the model has
    kind: Kind = "distinct"
    c: Annotated[float, Gt(0), Setting()] = 2.0

    def group_limits(self, records: Records) -> GroupLimits:
        level = math.ceil(self.l) if self.kind == "recursive" else self.l
        columns = tuple(without_missing(records))
        return GroupLimits(columns=columns, requirements=tuple(emd.diverse(self.kind, level, self.c) for _ in columns))

    def look(self, pair: TablePair) -> ClassFigures:
        released = pair.released
        classes = released.classes(released.quasi_identifiers)
        figures = {
            column.name: diversity(least_diverse(released, column, classes), len(classes.sizes), self.kind, self.c)
            for column in confidential_bins(released, "equal")
        }
        return class_figures(released, classes, figures)

    def conclude(self, seen: ClassFigures) -> Verdict:
        required = math.ceil(self.l) if self.kind == "recursive" else self.l
        of_kind = f"recursive ({self.c:g}, {required:g})" if self.kind == "recursive" else f"{self.kind} {required:g}"
        return verdict(seen, requirement=f"{of_kind}-diversity", required=required, best="high", figure="diversity")


def least_diverse(released: Records, column: Bins, classes: Classes) -> Occurrences:
    """How often every value occurs in every class, missing ones filled in with the most frequent one of the class.

    The column is in bins of categories, of which a missing value is one.
    """
    blank = released[column.name].missing
    occurrences = Occurrences.of(column, classes)
    if not blank.any():
        return occurrences
    missing = int(column.bins[blank][0])
    most = np.full(len(classes.sizes), missing)
    known = occurrences.values != missing
    order = np.argsort(occurrences.counts[known], kind="stable")
    most[occurrences.classes[known][order]] = occurrences.values[known][
        order
    ]  # the last to be put in is the most frequent
    filled = np.where(blank, most[classes.ids], column.bins)
    return Occurrences.of(replace(column, bins=ints(filled)), classes)


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
