"""beta-likeness (Cao & Karras 2012)."""

from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Gt

from shoal.data.confidential_bins import confidential_bins
from shoal.data.records import Records
from shoal.judges.class_figures import ClassFigures
from shoal.judges.evidence import Verdict
from shoal.judges.table_pair import TablePair
from shoal.kernels.arrays import Floats
from shoal.kernels.elementary import log
from shoal.kernels.requirement import emd
from shoal.methods import Scales, method
from shoal.parameters import Setting
from shoal.privacy.base import ClassModel, GroupLimits
from shoal.privacy.confidential import Occurrences, class_figures, verdict


@method("beta-likeness", title="beta-likeness", source="Cao & Karras (2012)", example={"beta": 4.0})
class BetaLikeness(ClassModel):
    """No confidential value is much more frequent in a class than in the table, relative to its rarity.

    For every value with table share p and class share q > p, the relative gain (q - p)/p is at most beta;
    the enhanced model asks for min(beta, -ln p), so that frequent values are held tighter.

    Parameters
    ----------
    beta
        Largest relative gain.
    enhanced
        The enhanced model instead of the basic one.

    Notes
    -----
    A class's figure is the smallest beta that it satisfies; infinite where the gain of a value exceeds -ln p,
    so that the enhanced model fails whatever beta. Losses (q < p) are free. With several confidential columns
    the largest figure counts. A missing value is a value of its own.
    """

    scales: ClassVar[Scales] = "classes"

    beta: Annotated[float, Gt(0), Setting()]
    enhanced: bool = True

    def group_limits(self, records: Records) -> GroupLimits:
        columns = tuple(confidential_bins(records, "equal"))
        requirements = tuple(emd.alike(column.counts, self.beta, self.enhanced) for column in columns)
        return GroupLimits(columns=columns, requirements=requirements)

    def look(self, pair: TablePair) -> ClassFigures:
        released = pair.released
        classes = released.classes(released.quasi_identifiers)
        figures = {}
        for column in confidential_bins(released, "equal"):
            occurrences = Occurrences.of(column, classes)
            figures[column.name] = occurrences.largest(
                self._gains(occurrences, classes.sizes.astype(np.float64), column.records), len(classes.sizes)
            )
        return class_figures(released, classes, figures)

    def conclude(self, seen: ClassFigures) -> Verdict:
        name = f"{'enhanced' if self.enhanced else 'basic'} {self.beta:g}-likeness"
        return verdict(seen, requirement=name, required=self.beta, best="low", figure="relative gain")

    def _gains(self, occurrences: Occurrences, sizes: Floats, n: int) -> Floats:
        expected = (
            sizes[occurrences.classes] * occurrences.totals[occurrences.values]
        )  # c N_v, whole numbers below 2^53
        gain = np.maximum(occurrences.counts * float(n) - expected, 0.0) / expected
        if self.enhanced:
            gain[gain > -log(occurrences.totals[occurrences.values] / n)] = np.inf
        return np.asarray(gain)
