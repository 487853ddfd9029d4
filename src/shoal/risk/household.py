"""Household risk: one member re-identified is the household re-identified."""

from typing import ClassVar

import numpy as np

from shoal.errors import NoFigure
from shoal.judges.base import Need
from shoal.judges.evidence import Finding
from shoal.judges.table_pair import TablePair
from shoal.kernels.arrays import Floats, Longs
from shoal.methods import method
from shoal.risk.base import RiskMeasure
from shoal.risk.individual import individual_risk
from shoal.risk.population import population_classes


def household_risk(risk: Floats, households: Longs) -> Floats:
    """Shape (n,); 1 - product over the household of (1 - r), given to each of its members.

    Summed as logarithms, so that small risks keep their digits; a member with risk 1 makes it 1.
    """
    with np.errstate(divide="ignore"):
        safe = np.bincount(households, weights=np.log1p(-risk))
    return np.asarray(-np.expm1(safe)[households])


@method(
    "household-risk",
    title="Household risk of re-identification",
    source="Benedetti & Franconi (1998); Hundepool et al. (2012)",
)
class HouseholdRisk(RiskMeasure):
    """Expected share of records in a household of which at least one member is re-identified.

    Members' risks are the individual risks, taken as independent: 1 - product of (1 - r).
    """

    limits: ClassVar[tuple[float, float]] = (0.0, 1.0)
    of_release_alone: ClassVar[bool] = True
    needs: ClassVar[tuple[Need, ...]] = ("records", "quasi-identifiers")
    cheap: ClassVar[bool] = True

    def judge(self, pair: TablePair, rng: np.random.Generator) -> Finding:
        released = pair.closure.records
        households = released.households
        if households is None:
            raise NoFigure("The released table has no column with the role household.")
        classes = population_classes(released, weights_needed=False)
        own = individual_risk(classes.sizes, classes.sizes / classes.population)[classes.ids]
        risk = household_risk(own, households)
        return self.finding(
            float(risk.mean()),
            f"{risk.sum():.3g} of {len(risk):,} records are expected to live in a household of which someone is "
            f"re-identified.",
            facts={
                "expected re-identifications": float(risk.sum()),
                "highest": float(risk.max()),
                "households": int(households.max()) + 1,
            },
            record_risk=risk,
        )
