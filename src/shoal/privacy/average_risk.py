"""Limits on the risk of re-identification over the whole table."""

from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Gt, Le

from shoal.facts import of_release
from shoal.judges.class_figures import ClassFigures
from shoal.judges.evidence import Verdict
from shoal.judges.table_pair import TablePair
from shoal.kernels.arrays import Bools, Longs
from shoal.methods import Scales, method
from shoal.parameters import Setting
from shoal.privacy.base import ClassModel


@method(
    "average-risk",
    title="Average risk of re-identification",
    source="El Emam & Arbuckle (2013)",
    example={"average": 0.5},
)
class AverageRisk(ClassModel):
    """Someone who knows that a person is in the table finds the right record rarely enough on average.

    A record of a class of c has the risk 1 / c, so the average over the records is the number of classes over the
    number of records. Besides, no record, or no more than a share of them, may have a risk above a threshold.

    Parameters
    ----------
    average
        Largest average risk.
    highest
        Threshold of a record's risk.
    above
        Largest share of records whose risk lies above the threshold.
    """

    scales: ClassVar[Scales] = "classes"
    monotone: ClassVar[bool] = True

    average: Annotated[float, Gt(0), Le(1), Setting()]
    highest: Annotated[float, Gt(0), Le(1), Setting()] = 1.0
    above: Annotated[float, Ge(0), Le(1), Setting()] = 0.0

    def look(self, pair: TablePair) -> ClassFigures:
        return ClassFigures(sizes=pair.released.class_sizes(pair.released.quasi_identifiers))

    def conclude(self, seen: ClassFigures) -> Verdict:
        sizes = seen.sizes
        records = int(sizes.sum())
        average = len(sizes) / records if records else 0.0
        alone = self.highest * sizes * (1 + 1e-12) < 1
        risky = int(sizes[alone].sum())
        few_risky = risky <= self.above * records * (1 + 1e-12)
        holds = average <= self.average * (1 + 1e-12) and few_risky
        return Verdict(
            requirement=f"average risk {self.average:g}"
            + (f", at most {100 * self.above:g} % above {self.highest:g}" if self.highest < 1 else ""),
            holds=holds,
            required=self.average,
            achieved=average,
            sentence=f"The average risk of a record is {average:.4g}, where {self.average:g} is allowed; "
            f"{risky:,} of {records:,} records have a risk above {self.highest:g}.",
            facts=of_release({"highest risk": float(1 / np.min(sizes)) if records else 0.0, "records above": risky}),
            influence=0,
            failing=None if holds else self._smallest(sizes) | (alone & (not few_risky)),
        )

    def _smallest(self, sizes: Longs) -> Bools:
        """Shape (C,); the smallest classes, without which the average is kept; equal ones together."""
        ascending = np.sort(sizes)
        classes = np.arange(len(sizes), -1, -1)  # that are left without the smallest one, two, ...
        records = sizes.sum() - np.concatenate([[0], np.cumsum(ascending)])
        without = int(np.argmax(classes <= self.average * records * (1 + 1e-12)))
        return np.asarray(sizes <= (ascending[without - 1] if without else 0))
