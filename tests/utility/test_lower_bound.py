import numpy as np
import pytest

import shoal
from by_night import by_night
from naive.refine import best_loss
from shoal.table.partition import Partition


def standardised(x):
    return (x - x.mean(axis=0)) / x.std(axis=0, ddof=1)


def test_by_hand():
    # 0, 1, 3, 10 about 3.5: SST = 12.25 + 6.25 + 0.25 + 42.25 = 61; bound (1 + 1 + 4 + 49) / 4.
    x = np.array([[0.0], [1], [3], [10]])
    finding = shoal.LowerBound(k=2).measure(x, x)
    assert finding.value == pytest.approx(100 * 55 / 4 / 61)
    assert "Groups of 2 or more, however chosen, lose at least 22.5 %" in finding.sentence


def test_order_and_optimum():
    x = np.random.default_rng(1).lognormal(0, 1, (by_night(9, 12), 2))
    z = standardised(x)
    best = 100 * best_loss(z, 3) / (z**2).sum()
    cheap, tight = (shoal.LowerBound(k=3, kind=kind).measure(x, x).value for kind in ("neighbours", "set-partition"))
    assert cheap < tight <= best + 1e-9
    assert tight > 0.8 * best


def test_the_partition_gives_k_and_its_loss():
    x = np.random.default_rng(2).normal(size=(60, 3))
    part = shoal.MDAV(k=4).partition(x)
    finding = shoal.LowerBound().measure(x, x, partition=part)
    assert finding.details["k"] == 4
    assert finding.details["loss of the partition"] == pytest.approx(part.information_loss(standardised(x)))
    assert finding.value == pytest.approx(part.lower_bound)


def test_what_cannot_be_bounded_says_why():
    x = np.random.default_rng(3).normal(size=(20, 2))
    assert "Neither k nor the partition" in shoal.LowerBound().measure(x, x).reason
    assert "the table has 20 records" in shoal.LowerBound(k=21).measure(x, x).reason
    assert "All records are equal" in shoal.LowerBound(k=2).measure(np.ones((5, 1)), np.ones((5, 1))).reason


@pytest.mark.parametrize("method", [shoal.MDAV(k=5), shoal.VMDAV(k=5), shoal.MuApprox(k=5)])
def test_every_partition_tells_its_loss_and_bound(method):
    x = np.random.default_rng(4).normal(size=(100, 3))
    part = method.partition(x, seed=1)
    assert 0 < part.lower_bound <= part.loss
    assert part.loss == pytest.approx(part.information_loss(standardised(x)))


def test_a_partition_of_one_record_a_group_has_no_bound():
    part = shoal.MDAV(k=1).partition(np.arange(9.0))
    assert isinstance(part, Partition)
    assert part.lower_bound is None
