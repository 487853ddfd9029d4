"""The journalist: who matches a record with somebody of the population."""

import pytest

from risk.test_attackers import records
from shoal.risk.journalist import Journalist


def test_journalist_by_hand():
    # Population classes 8, 2 and max(2.5, 3) = 3: weights may not make a class smaller than it is.
    finding = Journalist().measure(records(), records())
    assert finding.value == pytest.approx(1 / 2)
    assert finding.details["mean"] == pytest.approx((2 / 8 + 1 / 2 + 3 / 3) / 6)


def test_no_weights_no_journalist_risk():
    unweighted = records(w="other")
    finding = Journalist().measure(unweighted, unweighted)
    assert finding.value is None
    assert "no sampling weight" in finding.reason
