"""The risk of a household: of any of its members."""

import numpy as np
import pytest

from risk.test_individual import FRAME, ROLES
from shoal.risk.household import HouseholdRisk, household_risk
from shoal.table.microdata import Microdata


def test_household_by_hand():
    np.testing.assert_allclose(
        household_risk(np.array([0.5, 0.5, 0.1, 1.0]), np.array([0, 0, 1, 2])), [0.75, 0.75, 0.1, 1.0]
    )
    tiny = household_risk(np.array([1e-18, 1e-18]), np.array([0, 0]))
    np.testing.assert_allclose(tiny, 2e-18)


def test_household_measure():
    table = Microdata.of(FRAME, ROLES).records
    finding = HouseholdRisk().measure(table, table)
    assert finding.record_risk[[0, 1, 3]].tolist() == [1, 1, 1]  # the sure member takes the others along
    assert finding.record_risk[2] == pytest.approx(0.2 * np.log(5) / 0.8)
    assert finding.details["households"] == 2
    no_homes = table.without(["home"])
    assert "household" in HouseholdRisk().measure(no_homes, no_homes).reason
