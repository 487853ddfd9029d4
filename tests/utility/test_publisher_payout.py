import pytest

from utility.test_generalised import AFTER, measured


def test_payout_by_hand():
    """Of log 4 + log 2 (three halves of log 4) the first two records hide log 2 (1/3), and so do the others: 2/3 are
    kept. A class of two pays an attacker 300 / 2 > 4; the publisher loses 150 of 1200 x 2/3."""
    assert measured("publisher-payout").value == pytest.approx((800 - 150) / 1200)
    assert measured("publisher-payout", cost=150.0).value == pytest.approx(2 / 3)  # an attack gains nothing
    assert measured("publisher-payout", cost=150.0, after=AFTER.iloc[:2]).value == pytest.approx(1 / 3)
