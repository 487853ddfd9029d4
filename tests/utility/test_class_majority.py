import pytest

from utility.test_generalised import AFTER, measured


def test_the_majority_misleads_by_hand():
    """South, f: both flu. Bonn: flu and gout, one of which the best guess gets wrong."""
    assert measured("class-majority").value == pytest.approx(1 / 4)
    assert measured("class-majority", after=AFTER.iloc[:2]).value == pytest.approx(2 / 4)
