"""delta-disclosure privacy (Brickell & Shmatikov 2008)."""

from functools import partial
from typing import Annotated, ClassVar

import numpy as np

from shoal.judges.class_figures import ClassFigures
from shoal.judges.class_table import ClassTable
from shoal.judges.prelude import Records, Verdict
from shoal.kernels.arrays import Floats
from shoal.kernels.elementary import log
from shoal.kernels.requirement import emd
from shoal.privacy.base import ClassModel, GroupLimits
from shoal.privacy.confidential import Occurrences, verdict
from shoal.table.confidential_bins import Bins, binned, confidential_bins
from shoal.table.records import Classes
from shoal.vocabulary.prelude import Gt, Scales, Setting, method


@method(
    "delta-disclosure", title="delta-disclosure privacy", source="Brickell & Shmatikov (2008)", example={"delta": 3.0}
)
class DeltaDisclosure(ClassModel):
    """Every confidential value is about as frequent in every class as in the table.

    |ln(q/p)| < delta for every value, q its share of the class and p its share of the table. A value that
    occurs in the table but not in a class makes the figure of that class infinite: it tells an intruder what
    someone is not.

    Parameters
    ----------
    delta
        The limit, not itself allowed; natural logarithm.

    Notes
    -----
    With several confidential columns the largest figure counts. A missing value is a value of its own.
    """

    scales: ClassVar[Scales] = "classes"

    delta: Annotated[float, Gt(0), Setting()]

    def group_limits(self, records: Records) -> GroupLimits:
        columns = tuple(confidential_bins(records, "equal"))
        return GroupLimits(columns=columns, requirements=tuple(emd.Undisclosed(c.counts, self.delta) for c in columns))

    def look(self, table: ClassTable) -> ClassFigures:
        return table.figures(partial(binned, distance="equal"), _log_ratios)

    def conclude(self, class_figures: ClassFigures) -> Verdict:
        figures = class_figures.figures.values()
        return verdict(
            class_figures,
            requirement=f"{self.delta:g}-disclosure privacy",
            required=self.delta,
            allowed=np.all([figure < self.delta for figure in figures], axis=0) if figures else None,
            best="low",
            figure="log ratio",
        )


def _log_ratios(column: Bins, classes: Classes) -> Floats:
    """Shape (C,); the largest |ln(q/p)| of each class, infinite where it lacks a value of the table."""
    occurrences = Occurrences.of(column, classes)
    ratio = (
        occurrences.counts
        * float(column.records)
        / (classes.sizes[occurrences.classes].astype(np.float64) * occurrences.totals[occurrences.values])
    )
    figure = occurrences.largest(np.abs(log(ratio)), len(classes.sizes))
    present = np.bincount(occurrences.classes, minlength=len(classes.sizes))
    return np.where(present < (occurrences.totals > 0).sum(), np.inf, figure)
