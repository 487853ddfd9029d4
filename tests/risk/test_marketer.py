"""The marketer: how many of all the matches are right."""

import pytest

from risk.test_attackers import records
from shoal.risk.marketer import Marketer


def test_marketer_by_hand():
    assert Marketer().measure(records(), records()).value == pytest.approx((2 / 8 + 1 / 2 + 3 / 3) / 6)
    unweighted = records(w="other")
    assert Marketer().measure(unweighted, unweighted).value == pytest.approx(3 / 6)
