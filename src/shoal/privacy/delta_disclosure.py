"""delta-disclosure privacy (Brickell & Shmatikov 2008)."""

from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Gt

from shoal.data.confidential_bins import confidential_bins
from shoal.data.records import Records
from shoal.judges.class_figures import ClassFigures
from shoal.judges.evidence import Verdict
from shoal.judges.table_pair import TablePair
from shoal.kernels.elementary import log
from shoal.kernels.requirement import emd
from shoal.methods import Scales, method
from shoal.parameters import Setting
from shoal.privacy.base import ClassModel, GroupLimits
from shoal.privacy.confidential import Occurrences, class_figures, verdict


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
        return GroupLimits(columns=columns, requirements=tuple(emd.undisclosed(c.counts, self.delta) for c in columns))

    def look(self, pair: TablePair) -> ClassFigures:
        released = pair.released
        classes = released.classes(released.quasi_identifiers)
        figures = {}
        for column in confidential_bins(released, "equal"):
            occurrences = Occurrences.of(column, classes)
            ratio = (
                occurrences.counts
                * float(column.records)
                / (classes.sizes[occurrences.classes].astype(np.float64) * occurrences.totals[occurrences.values])
            )
            figure = occurrences.largest(np.abs(log(ratio)), len(classes.sizes))
            present = np.bincount(occurrences.classes, minlength=len(classes.sizes))
            figures[column.name] = np.where(present < (occurrences.totals > 0).sum(), np.inf, figure)
        return class_figures(released, classes, figures)

    def conclude(self, seen: ClassFigures) -> Verdict:
        figures = seen.figures.values()
        return verdict(
            seen,
            requirement=f"{self.delta:g}-disclosure privacy",
            required=self.delta,
            allowed=np.all([figure < self.delta for figure in figures], axis=0) if figures else None,
            best="low",
            figure="log ratio",
        )
