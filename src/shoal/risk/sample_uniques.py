"""Sample uniques."""

from typing import ClassVar

import numpy as np

from shoal.data.partition import Partition
from shoal.data.records import Records
from shoal.judges.evidence import Finding
from shoal.methods import method
from shoal.risk.base import RiskMeasure


@method("sample-uniques", title="Records unique in the table", source="Bethlehem, Keller & Pannekoek (1990)")
class SampleUniques(RiskMeasure):
    """Share of records whose combination of quasi-identifiers occurs only once in the released table.

    A missing value equals a missing value and nothing else.
    """

    limits: ClassVar[tuple[float, float]] = (0.0, 1.0)
    cheap: ClassVar[bool] = True

    def judge(
        self, original: Records, released: Records, partition: Partition | None, rng: np.random.Generator
    ) -> Finding:
        if not len(released) or not released.quasi_identifiers:
            return self.cannot("The released table has no records or no quasi-identifier.")
        sizes = released.classes(released.quasi_identifiers).of_record
        share = float((sizes == 1).mean())
        return self.finding(
            share,
            f"{100 * share:.3g} % of the records have a combination of quasi-identifiers that nobody else in the "
            f"table has.",
            details={"records": len(released)},
            private={"rows": released.rows, "unique": sizes == 1},
        )
