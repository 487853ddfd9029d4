"""beta-likeness (Cao & Karras 2012)."""

from collections.abc import Mapping
from functools import partial
from math import inf
from typing import Annotated, ClassVar

import numpy as np

from shoal.judges.class_figures import ClassFigures
from shoal.judges.class_table import ClassTable
from shoal.judges.prelude import Floats, Records, Verdict
from shoal.kernels.elementary import log
from shoal.kernels.requirement import emd
from shoal.privacy.base import ClassModel, GroupLimits
from shoal.privacy.confidential import Occurrences, verdict
from shoal.table.confidential_bins import Bins, binned, confidential_bins
from shoal.table.records import Classes
from shoal.vocabulary.prelude import Gt, Scales, Setting, method


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
    emptily: ClassVar[Mapping[str, float]] = {"beta": inf}

    beta: Annotated[float, Gt(0), Setting()]
    enhanced: bool = True

    def group_limits(self, records: Records) -> GroupLimits:
        columns = tuple(confidential_bins(records, "equal"))
        requirements = tuple(emd.Alike(column.counts, self.beta, self.enhanced) for column in columns)
        return GroupLimits(columns=columns, requirements=requirements)

    def look(self, table: ClassTable) -> ClassFigures:
        return table.figures(partial(binned, distance="equal"), self._largest_gains)

    def conclude(self, class_figures: ClassFigures) -> Verdict:
        name = f"{'enhanced' if self.enhanced else 'basic'} {self.beta:g}-likeness"
        return verdict(class_figures, requirement=name, required=self.beta, best="low", figure="relative gain")

    def _largest_gains(self, column: Bins, classes: Classes) -> Floats:
        occurrences = Occurrences.of(column, classes)
        gains = self._gains(occurrences, classes.sizes.astype(np.float64), column.records)
        return occurrences.largest(gains, len(classes.sizes))

    def _gains(self, occurrences: Occurrences, sizes: Floats, n: int) -> Floats:
        expected = (
            sizes[occurrences.classes] * occurrences.totals[occurrences.values]
        )  # c N_v, whole numbers below 2^53
        gain = np.maximum(occurrences.counts * float(n) - expected, 0.0) / expected
        if self.enhanced:
            gain[gain > -log(occurrences.totals[occurrences.values] / n)] = np.inf
        return np.asarray(gain)
