"""Prosecutor risk: the target is known to be in the table."""

from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Gt, Le

from shoal.judges.base import Need
from shoal.judges.evidence import Finding
from shoal.judges.table_pair import TablePair
from shoal.methods import method
from shoal.parameters import Setting
from shoal.risk.base import RiskMeasure


@method("prosecutor", title="Prosecutor risk", source="El Emam & Dankar (2008)")
class Prosecutor(RiskMeasure):
    """Highest chance of picking the right record for someone known to be in the table: 1 / smallest class size.

    Classes are the records that share all quasi-identifiers in the released table, compared as written; a
    missing value equals a missing value and nothing else, so suppression is never taken for protection by
    others' values. The mean over records is the number of classes divided by the number of records.

    Parameters
    ----------
    threshold
        Records whose risk exceeds this are counted.
    """

    limits: ClassVar[tuple[float, float]] = (0.0, 1.0)
    of_release_alone: ClassVar[bool] = True
    needs: ClassVar[tuple[Need, ...]] = ("records", "quasi-identifiers")
    cheap: ClassVar[bool] = True

    threshold: Annotated[float, Gt(0), Le(1), Setting()] = 0.2

    def judge(self, pair: TablePair, rng: np.random.Generator) -> Finding:
        sizes = pair.classes.of_record
        risk = 1.0 / sizes
        above = float((risk > self.threshold).mean())
        return self.finding(
            float(risk.max()),
            f"Someone known to be in the table is matched to the right record with probability "
            f"{risk.max():.3g} at worst and {risk.mean():.3g} on average; {100 * above:.1f} % of the records "
            f"exceed {self.threshold:g}.",
            facts={
                "mean": float(risk.mean()),
                "threshold": self.threshold,
                "share above threshold": above,
                "share unique": float((sizes == 1).mean()),
            },
            record_risk=risk,
        )
