"""Household risk: one member re-identified is the household re-identified."""

import numpy as np

from shoal.judges.prelude import Finding, Floats, Longs, MissingCells, Records
from shoal.kernels.elementary import expm1, log1p
from shoal.risk.class_risk import ClassRisk, in_full
from shoal.risk.individual import individual_risk
from shoal.risk.population import lookalikes
from shoal.vocabulary.prelude import NoFigure, method, of_release


def household_risk(risk: Floats, households: Longs) -> Floats:
    """Shape (n,); 1 - product over the household of (1 - r), given to each of its members.

    Summed as logarithms, so that small risks keep their digits; a member with risk 1 makes it 1.
    """
    safe = np.bincount(households, weights=log1p(-risk))
    return np.asarray(-expm1(safe)[households])


@method(
    "household-risk",
    title="Household risk of re-identification",
    source="Benedetti & Franconi (1998); Hundepool et al. (2012)",
)
class HouseholdRisk(ClassRisk):
    """Expected share of records in a household of which at least one member is re-identified.

    Members' risks are the individual risks, taken as independent: 1 - product of (1 - r).
    """

    question = "singling out"

    def under(self, released: Records, missing: MissingCells) -> Finding:
        households = released.households
        if households is None:
            raise NoFigure("The released table has no column with the role household.")
        alike = lookalikes(released, missing)
        own = individual_risk(alike.sizes, alike.sizes / alike.population)
        risk = household_risk(own, households)
        return self.finding(
            float(risk.mean()),
            f"{in_full(float(risk.sum()))} of {len(risk):,} records are expected to live in a household of which "
            f"someone is re-identified.",
            facts=of_release(
                {
                    "expected re-identifications": float(risk.sum()),
                    "highest": float(risk.max()),
                    "households": int(households.max()) + 1,
                }
            ),
            record_risk=risk,
        )
