"""Sample uniques."""

from typing import ClassVar

import numpy as np

from shoal.judges.base import Need
from shoal.judges.evidence import Finding
from shoal.judges.table_pair import TablePair
from shoal.methods import method
from shoal.risk.base import RiskMeasure


@method("sample-uniques", title="Records unique in the table", source="Bethlehem, Keller & Pannekoek (1990)")
class SampleUniques(RiskMeasure):
    """Share of records whose combination of quasi-identifiers occurs only once in the released table.

    A missing value equals a missing value and nothing else.
    """

    limits: ClassVar[tuple[float, float]] = (0.0, 1.0)
    of_release_alone: ClassVar[bool] = True
    needs: ClassVar[tuple[Need, ...]] = ("records", "quasi-identifiers")
    cheap: ClassVar[bool] = True

    def judge(self, pair: TablePair, rng: np.random.Generator) -> Finding:
        sizes = pair.classes.of_record
        share = float((sizes == 1).mean())
        return self.finding(
            share,
            f"{100 * share:.3g} % of the records have a combination of quasi-identifiers that nobody else in the "
            f"table has.",
            facts={"records": len(sizes)},
            record_risk=(sizes == 1).astype(np.float64),
        )
